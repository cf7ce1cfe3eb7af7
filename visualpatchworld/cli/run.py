"""`vpw run`: the main job from nothing to a program that plans; run it again to go on where it stopped."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visualpatchworld.cli._verb import (
    MOST,
    ActionColumns,
    AsJson,
    EpisodeColumn,
    Seed,
    StateColumns,
    StepSeconds,
    Vary,
    WorldName,
    announce,
    candidates_table,
    changes,
    keep_compiled,
    note_seconds,
    planned,
    program_table,
    progress,
    show,
    success_list,
    timed,
    unexplained_sentence,
    working,
)
from visualpatchworld.domain import DEFAULT, Domain, find_domains, load_domain
from visualpatchworld.errors import VpwError
from visualpatchworld.files import from_json, read_bytes, to_json
from visualpatchworld.simulator import Constants

if TYPE_CHECKING:  # reading traces takes a while to load
    from visualpatchworld.trace.episode import Episode

OFFSET = 25  # steps from start to goal


def run(
    world: WorldName,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for all that is made; runs/DOMAIN when not given.")] = None,
    episodes: Annotated[
        int, typer.Option(min=3, max=MOST, metavar="N", help="How many to collect; the last fifth is kept for tasks.")
    ] = 50,
    tasks: Annotated[int, typer.Option(min=1, max=MOST, metavar="N", help="How many tasks to plan for.")] = 20,
    seed: Seed = 42,
    action: ActionColumns = None,
    state: StateColumns = None,
    episode: EpisodeColumn = None,
    dt: StepSeconds = None,
    vary: Vary = None,
    as_json: AsJson = False,
) -> None:
    """Collect episodes, find the program, write it down, plan with it, film that and report; in any world that is no domain, look first.

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
        open_it = partial(_any_world.opened, world, action, state, episode, dt)
        _any_world.run(open_it, out or Path("runs") / _any_world.folder_name(world), tasks, seed, as_json)
        return
    keep_compiled(all_cores=True)
    domain = load_domain(world)
    constants = domain.constants.varied(changes(vary))
    domain = domain.of(constants)
    folder = make_folder(out or Path("runs") / domain.name)
    traces = folder / "episodes.h5"
    announce(1, 4, f"{episodes} episodes of {domain.title}")
    request = EvalConfig(
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
    _ = request.tasks  # too few are told before the long work, not after it
    announce(2, 4, "a program of them: experiments choose its form, rollouts fit its constants")
    induction = _induction(folder, domain, constants, request.episodes, seed)
    path = folder / "world_model.py"
    program = load_program(path, domain.scene.state_space, domain.layout.action.width)
    announce(3, 4, f"{tasks} tasks planned with the program, acted in the true world")
    planning = planned(dataclasses.replace(request, program=program), path, folder / "results", folder / "films")
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
    from visualpatchworld.trace.read import read_traces
    from visualpatchworld.trace.write import write_traces

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


def _induction(folder: Path, world: Domain, constants: Constants, episodes: Sequence[Episode], seed: int) -> dict[str, Any]:
    """How the program in the folder came about; it is induced where it is not there or was made with other settings."""
    from visualpatchworld import __version__
    from visualpatchworld.files import write_text, writing
    from visualpatchworld.induction.induce import induce_from, summary
    from visualpatchworld.report.run import TIMINGS
    from visualpatchworld.trace.episode import for_fitting

    path, record = folder / "world_model.py", folder / "induction.json"
    settings = {"version": __version__, "episodes": len(episodes), "seed": seed, "constants": dataclasses.asdict(constants)}
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
    films = f"films:    {Path(result['films'][0]).parent}" if result["films"] else "films:    none, every task is solved at its start"
    return [
        f"episodes: {result['traces']}",
        f"program:  {result['program']}{edited}",
        films,
        f"report:   {result['report']}",
        f"{result['seconds']:.0f} s in all",
    ]
