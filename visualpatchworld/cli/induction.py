"""`vpw run`, `vpw probe` and `vpw induce`: from experiments and traces to a program,
and the whole job up to planning with it.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from visualpatchworld.cli._verb import (
    MOST,
    AsJson,
    DomainName,
    Fields,
    LogColumns,
    Seed,
    Vary,
    WorldName,
    announce,
    candidates_table,
    changes,
    finite,
    keep_compiled,
    note_seconds,
    planned,
    program_table,
    progress,
    reads_logs,
    show,
    success_list,
    timed,
    unexplained_sentence,
    varied_domain,
    working,
)
from visualpatchworld.domain import DEFAULT, Domain, find_domains
from visualpatchworld.errors import VpwError
from visualpatchworld.files import from_json, read_bytes, to_json
from visualpatchworld.scene.schema import Source
from visualpatchworld.simulator import Constants

if TYPE_CHECKING:  # reading traces takes a while to load
    from visualpatchworld.trace.episode import Episode


OFFSET = 25  # steps from start to goal


@reads_logs
def run(
    world: WorldName,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for all that is made; runs/DOMAIN when not given.")
    ] = None,
    episodes: Annotated[
        int, typer.Option(min=3, max=MOST, metavar="N", help="How many to collect; the last fifth is kept for tasks.")
    ] = 50,
    tasks: Annotated[int, typer.Option(min=1, max=MOST, metavar="N", help="How many tasks to plan for.")] = 20,
    seed: Seed = 42,
    log: LogColumns = LogColumns(),
    vary: Vary = None,
    as_json: AsJson = False,
) -> None:
    """Collect episodes, find the program, write it down, plan with it, film that and report;
    in any world that is no domain, look first.

    What an earlier run with the same settings has left in the folder is kept.

    Example: vpw run DOMAIN --out runs/DOMAIN

    Example: vpw run machine.csv --action voltage --dt 0.01
    """
    from visualpatchworld.cli import _any_world
    from visualpatchworld.files import make_folder
    from visualpatchworld.paper.evaluation import EvalConfig
    from visualpatchworld.program.program import load_program
    from visualpatchworld.report.run_page import write_report

    began = time.perf_counter()
    if world not in find_domains():
        open_it = partial(_any_world.opened, world, *log)
        _any_world.run(open_it, out or Path("runs") / _any_world.folder_name(world), tasks, seed, as_json)
        return
    keep_compiled(all_cores=True)
    domain, constants = varied_domain(world, vary)
    folder = make_folder(out or Path("runs") / domain.name)
    traces = folder / "episodes.h5"
    announce(1, 4, f"{episodes} episodes of {domain.title}")
    config = EvalConfig(
        domain=domain,
        constants=constants,
        vary=changes(vary),
        method="vpw",
        program=None,
        observe="oracle",
        score="induced",
        episodes=_episodes(traces, domain, constants, episodes, seed),
        source=traces.stem,
        count=tasks,
        offset=OFFSET,
        seed=seed,
        metric=next(iter(domain.metrics)),
        planner_name=DEFAULT,
    )
    _ = config.tasks  # too few are told before the long work, not after it
    announce(2, 4, "a program of them: experiments choose its form, rollouts fit its constants")
    induction = _induction(folder, domain, constants, config.episodes, seed)
    path = folder / "world_model.py"
    program = load_program(path, domain.scene.state_space, domain.layout.action.width)
    announce(3, 4, f"{tasks} tasks planned with the program, acted in the true world")
    planning = planned(dataclasses.replace(config, program=program), path, folder / "results", folder / "films")
    announce(4, 4, f"a page of all that, {folder / 'report.html'}")
    with working("writing the page") as stage:
        page = write_report(folder, stage).path
    result = {
        "domain": domain.name,
        "traces": str(traces),
        "program": str(path),
        "edited": program.hash != induction["program_hash"],
        "induction": induction,
        "planning": planning,
        "films": planning["films"],
        "report": str(page),
        "seconds": round(time.perf_counter() - began, 1),
    }
    show(
        result,
        as_json,
        candidates_table(induction["candidates"], {**domain.probe_tolerances, **induction.get("probe_tolerances", {})}),
        unexplained_sentence(induction["unexplained_probes"]),
        program_table(induction),
        success_list(planning),
        "\n".join(_closing_lines(result)),
    )


def _episodes(path: Path, world: Domain, constants: Constants, count: int, seed: int) -> Sequence[Episode]:
    """The episodes in the file where they are those asked for, else new ones, which are then there."""
    from visualpatchworld.errors import BadTrace
    from visualpatchworld.report.run import TIMINGS
    from visualpatchworld.trace.episode import collect
    from visualpatchworld.trace.file import read_traces, write_traces

    try:
        kept = read_traces(path, world)
        if (kept.constants, kept.seed, len(kept.episodes)) == (constants, seed, count):
            return kept.episodes
    except BadTrace:
        pass  # none is there, or it is damaged: either way there will be a new one
    began = time.perf_counter()
    with progress(collect(world, constants, episodes=count, seed=seed), "collecting", count) as recorded:
        write_traces(path, recorded, world.layout, domain=world.name, constants=constants, seed=seed)
    note_seconds(path.with_name(TIMINGS), {"collect": time.perf_counter() - began})
    return read_traces(path, world).episodes


def _induction(
    folder: Path, world: Domain, constants: Constants, episodes: Sequence[Episode], seed: int
) -> dict[str, Any]:
    """How the program in the folder came about; it is induced where it is not there or was made with other settings."""
    from visualpatchworld import __version__
    from visualpatchworld.files import write_text, writing
    from visualpatchworld.induction.induce import induce_from, summary
    from visualpatchworld.report.run import TIMINGS
    from visualpatchworld.trace.episode import for_fitting

    path, record = folder / "world_model.py", folder / "induction.json"
    settings = {
        "version": __version__,
        "episodes": len(episodes),
        "seed": seed,
        "constants": dataclasses.asdict(constants),
    }
    kept = _read_json(record)
    if path.is_file() and (kept.get("domain"), kept.get("settings")) == (world.name, settings):
        return kept
    seconds: dict[str, float] = {}
    with writing(path) as aside, working("inducing") as shown, timed(shown, seconds) as stage:
        induction = induce_from(world, constants, for_fitting(episodes), seed=seed, progress=stage)
        aside.write_text(induction.program.text, encoding="utf-8")
    result = summary(world, induction, str(path)) | {"settings": settings}
    write_text(record, to_json(result, indent=2) + "\n")
    note_seconds(folder / TIMINGS, seconds)
    return from_json(to_json(result))


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = from_json(read_bytes(path, "record", VpwError))
    except (VpwError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _closing_lines(result: dict[str, Any]) -> list[str]:
    edited = ", edited since it was induced" if result["edited"] else ""
    films = (
        f"films:    {Path(result['films'][0]).parent}"
        if result["films"]
        else "films:    none, every task is solved at its start"
    )
    return [
        f"episodes: {result['traces']}",
        f"program:  {result['program']}{edited}",
        films,
        f"report:   {result['report']}",
        f"{result['seconds']:.0f} s in all",
    ]


Thorough = Annotated[bool, typer.Option("--thorough", help="Try every candidate, even those that cannot win any more.")]


DOMAIN_EPISODES = 50


def probe(
    domain: DomainName, seed: Seed = 0, vary: Vary = None, thorough: Thorough = False, as_json: AsJson = False
) -> None:
    """Choose the form of a domain's dynamics by short experiments, and show the evidence.

    Example: vpw probe DOMAIN --vary NAME=VALUE
    """
    import numpy as np

    from visualpatchworld.induction.blackbox import black_box
    from visualpatchworld.induction.induce import choose_form, evidence_rows

    keep_compiled()
    world, constants = varied_domain(domain, vary)
    box = black_box(world, constants)
    with working("probing") as progress:
        evidence = choose_form(world, box, np.random.default_rng(seed), thorough=thorough, progress=progress)
    result = {
        "domain": world.name,
        "sketch": evidence.winner.sketch.name,
        "choices": dict(evidence.winner.sketch.choices),
        "candidates": evidence_rows(evidence),
        "unexplained_probes": list(evidence.unexplained),
        "probe_tolerances": dict(evidence.tolerances),
        "seed": seed,
    }
    show(result, as_json, *_evidence(result))


@reads_logs
def induce(
    world: WorldName,
    traces: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.h5", help="Episodes, all but the last fifth of which are fitted to; collected when not given."
        ),
    ] = None,
    episodes: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MOST,
            metavar="N",
            help="How many episodes to collect, or to read of a log: 50 of a domain, else all.",
        ),
    ] = None,
    view: Annotated[Source, typer.Option(help="Path from observation to scene graph.")] = "oracle",
    sketch: Annotated[
        str | None, typer.Option(metavar="NAME", help="Fit this sketch instead of choosing one by probes.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for world_model.py and induction.json.")
    ] = None,
    steps: Annotated[
        int,
        typer.Option(
            min=50, max=MOST, metavar="N", help="Steps of the world that may be taken, where it is no domain."
        ),
    ] = 2000,
    seconds: Annotated[
        float,
        typer.Option(
            min=1, max=3600, callback=finite, help="About how long the search may take, where it is no domain."
        ),
    ] = 60.0,
    fields: Fields = None,
    log: LogColumns = LogColumns(),
    seed: Seed = 0,
    vary: Vary = None,
    thorough: Thorough = False,
    as_json: AsJson = False,
) -> None:
    """Induce a program: of a domain by probes of its scene, of any other world or log by
    a search that knows nothing of it.

    A search that finds no law still writes its best program, says so in its first lines, and ends with exit status 3.

    Example: vpw induce DOMAIN --out runs/DOMAIN
    """
    from visualpatchworld.cli import _any_world
    from visualpatchworld.files import make_folder, write_text, writing
    from visualpatchworld.induction.induce import check_view, induce_from, summary
    from visualpatchworld.trace.episode import collect, for_fitting
    from visualpatchworld.trace.file import read_traces

    if world not in find_domains():
        opened = _any_world.opened(world, *log)
        _any_world.induce(
            opened, out or Path("runs") / _any_world.folder_name(world), fields, steps, seconds, seed, as_json, episodes
        )
        return
    keep_compiled()
    check_view(view)
    domain, constants = varied_domain(world, vary)
    if sketch is not None:
        domain.family(domain.scene.objects(constants)).named(sketch)
    folder = make_folder(out or Path("runs") / domain.name)
    program_path = folder / "world_model.py"
    with writing(program_path) as aside, working("inducing") as progress:
        if traces is None:
            wanted = DOMAIN_EPISODES if episodes is None else max(episodes, 2)
            progress(f"collecting {wanted} episodes")
            seen = list(collect(domain, constants, episodes=wanted, seed=seed, pixels=view == "tool"))
        else:
            seen = for_fitting(read_traces(traces, domain).episodes)
        induction = induce_from(
            domain, constants, seen, view=view, seed=seed, sketch=sketch, thorough=thorough, progress=progress
        )
        aside.write_text(induction.program.text, encoding="utf-8")
    result = summary(domain, induction, str(program_path))
    write_text(folder / "induction.json", to_json(result, indent=2) + "\n")
    show(result, as_json, *(_evidence(result) if result["candidates"] else ()), program_table(result))


def _evidence(result: Mapping[str, Any]) -> tuple[Table, str]:
    """Which form explains the probes, and what none does."""
    return candidates_table(result["candidates"], result["probe_tolerances"]), unexplained_sentence(
        result["unexplained_probes"]
    )
