"""`vpw bench` and `vpw baseline`: suites of cells that resume, and programs that a language model writes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from visualpatchworld.cli._options import Needs, Without
from visualpatchworld.cli._verb import MOST, AsJson, DomainName, Seed, fields_table, finite, progress, show, working
from visualpatchworld.domain import find_domains, load_domain
from visualpatchworld.errors import UnknownName, VpwError, WorkerFailed
from visualpatchworld.files import to_json
from visualpatchworld.paper.suite import SUITES

if TYPE_CHECKING:
    from visualpatchworld.paper.jobs import Source, Writer

# A fifth of these holds the tasks, and 50 of them the training episodes that are fitted to.
EPISODES, SEED = 62, 1
NO_WRITER = "no language model to write the program; give --endpoint URL and --model NAME"


def bench(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help=f"One of {', '.join(SUITES)}.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for traces, programs and results.")] = Path(
        "runs/bench"
    ),
    workers: Annotated[
        int,
        typer.Option(min=1, max=MOST, metavar="N", help="Cells side by side; one plan alone can use all cores."),
        Without("--dask"),
    ] = 1,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Cells on a Dask cluster, as many side by side as it has; its machines share DIR."
        ),
    ] = None,
    domain: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this domain (repeatable).")] = None,
    method: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Of the baselines, only this one (repeatable).")
    ] = None,
    traces: Annotated[
        list[str] | None, typer.Option(metavar="DOMAIN=FILE.h5", help="Also tasks from this file (repeatable).")
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option(metavar="URL", help="OpenAI-compatible endpoint that writes for the baselines.")
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="The model to ask for there.")] = None,
    calls: Annotated[
        int,
        typer.Option(min=1, max=MOST, metavar="N", help="Calls that each baseline may make."),
        Needs("--endpoint"),
    ] = 8,
    max_tokens: Annotated[
        int, typer.Option(min=16, max=MOST, metavar="N", help="A model's longest answer."), Needs("--endpoint")
    ] = 1500,
    prompt_tokens: Annotated[
        int, typer.Option(min=200, max=MOST, metavar="N", help="About how long a prompt may be."), Needs("--endpoint")
    ] = 6000,
    as_json: AsJson = False,
) -> None:
    """Collect, make programs, measure and plan for all of a suite; run it again to go on where it stopped.

    A program is code: those that are induced here run in this process, those that a model wrote in the sandbox alone.

    Example: vpw bench smoke --out runs/bench

    Example: vpw bench main --dask tcp://127.0.0.1:8786
    """
    from visualpatchworld.files import make_folder
    from visualpatchworld.paper.jobs import Job, Source, Writer
    from visualpatchworld.paper.record import PROGRAM
    from visualpatchworld.paper.suite import analyses, cells, find_suite, kept_reports, sources

    chosen, found = find_suite(suite), find_domains()
    names = domain or list(found)
    for name in names:
        if name not in found:
            raise UnknownName("domain", name, found)
    if (endpoint is None) != (model is None):
        raise VpwError("A language model needs both --endpoint URL and --model NAME.")
    writer = None
    if endpoint is not None and model is not None:
        writer = Writer(endpoint=endpoint, model=model, calls=calls, max_tokens=max_tokens, prompt_tokens=prompt_tokens)
    folders = {name: out / name for name in ("traces", "results", "programs", "logs")}
    given = [Source(name, folders["traces"] / f"{name}.h5", folders["programs"] / name / PROGRAM) for name in names]
    for entry in traces or ():
        name, equals, path = entry.partition("=")
        if not equals or name not in found:
            raise VpwError(f"--traces takes DOMAIN=FILE.h5 with a domain of {', '.join(found)}, not '{entry}'.")
        if name not in names:
            raise VpwError(f"--traces names '{name}', which --domain leaves out.")
        given.append(Source(name, Path(path), folders["programs"] / Path(path).stem / PROGRAM))

    wanted = _only(sources(chosen, given), method)
    if (method or writer) and not any(source.rival for source in wanted):
        told = "--method" if method else "--endpoint and --model"
        raise VpwError(f"The suite '{suite}' has no baselines; leave out {told}.")
    used = {source.traces for source in wanted}
    for source in given[len(names) :]:
        if source.traces not in used:
            raise VpwError(f"The suite '{suite}' takes no tasks from '{source.traces}'; leave out --traces.")
    for folder in folders.values():
        make_folder(folder)
    with _runner(dask, out, workers) as run:
        unwritten, failures = _make(wanted, writer, folders["logs"])
        made = {source for source in wanted if source.is_made}
        reports: dict[str, list[dict[str, Any]]] = {}
        planned = [job for job in cells(chosen, given) if job.source in made]
        with working(f"cells of '{suite}'") as stage:
            stage("looking up what is there")
            kept = kept_reports(planned, folders["results"])
        measured = [job for job in analyses(chosen, given, folders["results"]) if job.source in made]
        missing_jobs: dict[str, list[Job]] = {
            "exhibits": [*measured],
            "cells": [job for job in planned if job not in kept],
        }
        for what, jobs in missing_jobs.items():
            with progress(run(jobs, folders["results"], folders["logs"]), what, len(jobs)) as ended:
                rows = list(ended)
            failures += [row for row in rows if isinstance(row, WorkerFailed)]
            reports[what] = [row for row in rows if not isinstance(row, WorkerFailed)]
        reports["cells"] = [*kept.values(), *reports["cells"]]
    missing = [*(f"{title}: {NO_WRITER}." for title in unwritten), *map(str, failures)]
    show(
        {"suite": suite, "out": str(out), **reports, "missing": missing},
        as_json,
        _table(reports["cells"]),
        _told(unwritten, failures),
    )
    if failures:
        raise WorkerFailed(f"{len(failures)} of the suite's jobs failed, the others are done; the first: {failures[0]}")


@contextmanager
def _runner(
    dask: str | None, out: Path, workers: int
) -> Iterator[Callable[..., Iterable[dict[str, Any] | WorkerFailed]]]:
    """What runs jobs: processes here, or a cluster that was reached."""
    if dask is None:
        from visualpatchworld.paper.jobs import run_jobs

        yield partial(run_jobs, workers=workers)
        return
    from visualpatchworld.paper.jobs import cluster, run_on_cluster

    with cluster(dask, out) as client:
        yield partial(run_on_cluster, client)


def _only(found: Sequence[Source], rivals: Sequence[str] | None) -> list[Source]:
    """The sources without the baselines that were not asked for."""
    from visualpatchworld.paper.baselines.study import find_method

    for name in rivals or ():
        find_method(name)
    return [source for source in found if not rivals or source.rival is None or source.rival in rivals]


def _make(wanted: Sequence[Source], writer: Writer | None, logs: Path) -> tuple[list[str], list[WorkerFailed]]:
    """Collect episodes and make programs where they are missing; what there is nobody to write for, and what failed."""
    from visualpatchworld.paper.jobs import run_job

    unwritten = [source.title for source in wanted if not source.is_made and source.making(writer) is None]
    if unwritten:
        searches = f"{len(unwritten)} searches are" if len(unwritten) > 1 else "1 search is"
        print(f"{searches} missing, and there is {NO_WRITER}; going on with what is there.", file=sys.stderr)
    failures = []
    with progress(wanted, "programs", len(wanted)) as each:
        for source in each:
            try:
                if not source.traces.exists():
                    run_job(source.collection(EPISODES, SEED), logs, f"collect {source.domain}")
                command = source.making(writer)
                if command is not None and not source.is_made:
                    run_job(command, logs, f"make {source.title}")
            except WorkerFailed as failure:
                failures.append(failure)
    return unwritten, failures


def _told(unwritten: Sequence[str], failures: Sequence[WorkerFailed]) -> str:
    """What could not be computed, and why."""
    searches = f"Not searched ({NO_WRITER}): {', '.join(unwritten)}." if unwritten else ""
    return "\n".join(line for line in (searches, *map(str, failures)) if line)


def _table(reports: list[dict[str, Any]]):
    from rich.table import Table

    table = Table(title="success in percent; floors: acting not at all, and at random")
    for name in ("tasks", "method", "condition", "seed", "success", "floors", "rollouts / plan"):
        table.add_column(name, overflow="fold", min_width=9 if name == "condition" else None)
    for row in reports:
        low, high = row["ci95"]
        star = "*" if row["program"] is None and row["score"] != "simulator" else ""
        table.add_row(
            row["source"],
            row["method"],
            f"{row['observe']} + {row['score']}",
            str(row["seed"]),
            f"{row['success']:.0f}{star} [{low:.0f}, {high:.0f}]",
            f"{row['floor_zero']:.0f}, {row['floor_random']:.0f}",
            f"{row['engine_rollouts_per_plan']:.0f}",
        )
    return table


def baseline(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="Name of a baseline; a wrong name lists them.")],
    domain: DomainName,
    model: Annotated[str, typer.Option(metavar="NAME", help="The model to ask for.")],
    endpoint: Annotated[str | None, typer.Option(metavar="URL", help="OpenAI-compatible endpoint, up to /v1.")] = None,
    calls: Annotated[int, typer.Option(min=1, max=MOST, metavar="N", help="Calls that may be made.")] = 50,
    tokens: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Tokens that may be used, both ways together.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for world_model.py, search.json and calls.jsonl.")
    ] = None,
    traces: Annotated[
        Path | None, typer.Option(metavar="FILE.h5", help="Episodes to learn from; collected when not given.")
    ] = None,
    episodes: Annotated[
        int,
        typer.Option(min=2, max=MOST, metavar="N", help="How many episodes to collect without --traces."),
        Without("--traces"),
    ] = 50,
    record: Annotated[
        Path | None,
        typer.Option(metavar="FILE.jsonl", help="Recording to write or continue; DIR/calls.jsonl if not given."),
        Without("--replay"),
    ] = None,
    replay: Annotated[
        Path | None, typer.Option(metavar="FILE.jsonl", help="Recording that answers every call, offline.")
    ] = None,
    temperature: Annotated[float, typer.Option(min=0.0, callback=finite, help="Of the model's sampling.")] = 0.7,
    max_tokens: Annotated[int, typer.Option(min=16, max=MOST, metavar="N", help="Longest answer.")] = 1500,
    prompt_tokens: Annotated[
        int, typer.Option(min=200, max=MOST, metavar="N", help="About how long a prompt may be.")
    ] = 6000,
    timeout: Annotated[
        float,
        typer.Option(min=1.0, callback=finite, metavar="SECONDS", help="How long to wait for one answer."),
        Without("--replay"),
    ] = 300.0,
    concurrency: Annotated[
        int, typer.Option(min=1, max=MOST, metavar="N", help="Calls side by side, where a method can.")
    ] = 1,
    price: Annotated[
        tuple[float, float] | None,
        typer.Option(callback=finite, metavar="IN OUT", help="Cost of a million tokens, asked and answered."),
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Let a language model write the program, in the way of a published baseline.

    A program is code: what the model writes runs nowhere but in the sandbox.

    Example: vpw baseline METHOD DOMAIN --endpoint http://127.0.0.1:8080/v1 --model NAME --out runs/METHOD
    """
    from visualpatchworld.files import make_folder, write_text
    from visualpatchworld.induction.windows import trajectories_of
    from visualpatchworld.llm import Budget, Client, Endpoint, Price, Sampling, Tape
    from visualpatchworld.paper.baselines.study import find_method, run, summary
    from visualpatchworld.paper.record import PROGRAM, SEARCH
    from visualpatchworld.trace.episode import collect, for_fitting
    from visualpatchworld.trace.file import read_traces

    rival, world = find_method(method), load_domain(domain)
    if (endpoint is None) == (replay is None):
        raise VpwError(
            "Say who answers: --endpoint URL for a model, or --replay FILE.jsonl for a recording, and not both."
        )
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
            constants, seen = (
                world.constants,
                list(collect(world, world.constants, episodes=episodes, seed=seed, pixels=False)),
            )
        else:
            recorded = read_traces(traces, world)
            constants, seen = recorded.constants, for_fitting(recorded.episodes)
        graph = world.scene.oracle(seen[0].observations[0], constants)
        progress("searching")
        search = run(rival, world, graph, trajectories_of(seen), client, seed=seed, prompt_tokens=prompt_tokens)
    result = summary(search, None if price is None else Price(*price))
    write_text(folder / SEARCH, to_json(result, indent=2) + "\n")
    program = folder / PROGRAM
    if search.chosen is not None:
        write_text(program, search.chosen.text)
    else:
        program.unlink(missing_ok=True)
    told = {key: value for key, value in result.items() if key != "candidates"}
    told |= {"retries": client.usage.retries, "program": str(program) if search.chosen else None}
    # The record has the texts.
    tried = [{key: value for key, value in row.items() if key != "program"} for row in result["candidates"]]
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
        table.add_row(
            str(row["index"]), parent, row["how"], right, said, style="bold green" if row["index"] == chosen else ""
        )
    return table
