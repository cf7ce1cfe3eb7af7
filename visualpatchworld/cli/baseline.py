"""`vpw baseline`: a rival's search for a program with a language model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from visualpatchworld.cli._options import MOST, AsJson, DomainName, Seed, finite
from visualpatchworld.cli._show import fields_table, show, working
from visualpatchworld.domain import load_domain
from visualpatchworld.errors import VpwError
from visualpatchworld.strict_json import to_json


def baseline(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="Name of a baseline; a wrong name lists them.")],
    domain: DomainName,
    model: Annotated[str, typer.Option(metavar="NAME", help="The model to ask for.")],
    endpoint: Annotated[str | None, typer.Option(metavar="URL", help="OpenAI-compatible endpoint, up to /v1.")] = None,
    calls: Annotated[int, typer.Option(min=1, max=MOST, metavar="N", help="Calls that may be made.")] = 50,
    tokens: Annotated[int | None, typer.Option(min=1, metavar="N", help="Tokens that may be used, both ways together.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for world_model.py, search.json and calls.jsonl.")] = None,
    traces: Annotated[Path | None, typer.Option(metavar="FILE.h5", help="Episodes to learn from; collected when not given.")] = None,
    episodes: Annotated[int, typer.Option(min=2, max=MOST, metavar="N", help="How many episodes to collect without --traces.")] = 50,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE.jsonl", help="Recording to write or continue; DIR/calls.jsonl if not given.")
    ] = None,
    replay: Annotated[Path | None, typer.Option(metavar="FILE.jsonl", help="Recording that answers every call, offline.")] = None,
    temperature: Annotated[float, typer.Option(min=0.0, callback=finite, help="Of the model's sampling.")] = 0.7,
    max_tokens: Annotated[int, typer.Option(min=16, max=MOST, metavar="N", help="Longest answer.")] = 1500,
    prompt_tokens: Annotated[int, typer.Option(min=200, max=MOST, metavar="N", help="About how long a prompt may be.")] = 6000,
    timeout: Annotated[float, typer.Option(min=1.0, callback=finite, metavar="SECONDS", help="How long to wait for one answer.")] = 300.0,
    concurrency: Annotated[int, typer.Option(min=1, max=MOST, metavar="N", help="Calls side by side, where a method can.")] = 1,
    price: Annotated[
        tuple[float, float] | None, typer.Option(callback=finite, metavar="IN OUT", help="Cost of a million tokens, asked and answered.")
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Let a language model write the program, in the way of a published baseline.

    Example: vpw baseline METHOD DOMAIN --endpoint http://127.0.0.1:8080/v1 --model NAME --out runs/METHOD
    """
    from visualpatchworld.induction.windows import trajectories_of
    from visualpatchworld.llm.client import Budget, Client, Price, Sampling, Tape
    from visualpatchworld.llm.endpoint import Endpoint
    from visualpatchworld.output import make_folder, write_text
    from visualpatchworld.paper.baselines.record import PROGRAM, RECORD
    from visualpatchworld.paper.baselines.run import find_method, run, summary
    from visualpatchworld.trace.episode import collect, for_fitting
    from visualpatchworld.trace.read import read_traces

    rival, world = find_method(method), load_domain(domain)
    if (endpoint is None) == (replay is None):
        raise VpwError("Say who answers: --endpoint URL for a model, or --replay FILE.jsonl for a recording, and not both.")
    folder = make_folder(out or Path("runs") / f"{rival.name}-{world.name}")
    client = Client(
        model=model,
        endpoint=None if endpoint is None else Endpoint(endpoint, timeout_s=timeout),
        tape=Tape(replay, "replay") if replay else Tape(record or folder / "calls.jsonl", "record"),
        budget=Budget(calls, tokens),
        sampling=Sampling(temperature, max_tokens),
        seed=seed,
        concurrency=concurrency,
    )
    with working(f"{rival.name} on {world.name}") as progress:
        if traces is None:
            progress(f"collecting {episodes} episodes")
            constants, seen = world.constants, list(collect(world, world.constants, episodes=episodes, seed=seed, pixels=False))
        else:
            recorded = read_traces(traces, world)
            constants, seen = recorded.constants, for_fitting(recorded.episodes)
        graph = world.scene.oracle(seen[0].observations[0], constants)
        progress("searching")
        search = run(rival, world, graph, trajectories_of(seen), client, seed=seed, prompt_tokens=prompt_tokens)
    result = summary(search, None if price is None else Price(*price))
    write_text(folder / RECORD, to_json(result, indent=2) + "\n")
    program = folder / PROGRAM
    if search.chosen is not None:
        write_text(program, search.chosen.text)
    else:
        program.unlink(missing_ok=True)
    told = {key: value for key, value in result.items() if key != "candidates"}
    told |= {"retries": client.usage.retries, "program": str(program) if search.chosen else None}
    tried = [{key: value for key, value in row.items() if key != "program"} for row in result["candidates"]]  # the record has the texts
    show({**told, "candidates": tried}, as_json, _tree(tried, result["chosen"]), fields_table(told))


def _tree(candidates: Sequence[Mapping[str, Any]], chosen: int | None) -> Table:
    """Every candidate: what it was made from, how, and how much of the held-out transitions it has right."""
    table = Table(title="What was tried")
    for name in ("#", "from", "how", "right", "why not"):
        table.add_column(name)
    for row in candidates:
        parent = "" if row["parent"] is None else str(row["parent"])
        right = f"{100 * row['score']:.1f} %" if row["loads"] else "-"
        said = "chosen" if row["index"] == chosen else "" if row["loads"] else row["obstacle"] or "it does not load"
        table.add_row(str(row["index"]), parent, row["how"], right, said, style="bold green" if row["index"] == chosen else "")
    return table
