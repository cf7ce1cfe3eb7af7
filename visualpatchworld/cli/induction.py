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

from visualpatchworld.cli._goals import goal_config
from visualpatchworld.cli._groups import NO_ACTING, Goal, LogColumns, Planning, Search
from visualpatchworld.cli._options import Needs, Refused, Without
from visualpatchworld.cli._verb import (
    MOST,
    AsJson,
    DomainName,
    NoSandbox,
    Seed,
    Vary,
    WorldName,
    announce,
    candidates_table,
    keep_compiled,
    note_seconds,
    planned,
    program_table,
    progress,
    show,
    success_list,
    timed,
    unexplained_sentence,
    varied_domain,
    working,
)
from visualpatchworld.domain import Domain, find_domains
from visualpatchworld.errors import VpwError
from visualpatchworld.files import from_json, read_bytes, to_json
from visualpatchworld.simulator import Constants

if TYPE_CHECKING:  # reading traces takes a while to load
    from visualpatchworld.trace.episode import Episode


Episodes = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MOST,
        metavar="N",
        help="How many episodes to collect, or to read of a log: 50 of a domain, else as many as --steps allows, or all.",
    ),
    Without("--traces"),
]


def run(
    world: WorldName,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for all that is made; runs/WORLD when not given.")
    ] = None,
    episodes: Episodes = None,
    tasks: Annotated[
        int,
        typer.Option(min=1, max=MOST, metavar="N", help="How many tasks, or episodes for a reward, to plan for."),
        Without("log", instead=NO_ACTING),
    ] = 20,
    search: Search = Search(),
    planning: Planning = Planning(),
    goal: Annotated[Goal, Needs("domain", instead="`vpw plan` plans for a goal there")] = None,
    on_true_world: Annotated[
        int,
        typer.Option(
            min=0, max=MOST, metavar="N", help="For a reward: plan N episodes with the true world as the model, too."
        ),
        Needs("environment"),
    ] = 0,
    seed: Seed = 42,
    log: LogColumns = LogColumns(),
    vary: Vary = None,
    sandbox: Annotated[
        NoSandbox,
        Refused(
            instead="this verb makes the program that it runs; `vpw plan` and `vpw rollout` lock in one that you have"
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Collect episodes, find the program, write it down, plan with it, film that and report.
    For worlds other than domains, it reads the fields first.

    It takes the options of `vpw induce` and `vpw plan` that apply to the world. What an earlier run with the same
    settings has left in the folder is kept, the program of a domain included, which may have been edited since. A
    program is code: it runs in this process with all your rights.

    Example: vpw run DOMAIN --out runs/DOMAIN

    Example: vpw run machine.csv --action voltage --dt 0.01
    """
    from visualpatchworld.cli import _any_world
    from visualpatchworld.files import make_folder
    from visualpatchworld.induction.induce import check_view
    from visualpatchworld.program.program import load_program
    from visualpatchworld.report.run_page import write_report

    began = time.perf_counter()
    if world not in find_domains():
        folder = out or Path("runs") / _any_world.folder_name(world)
        asked = _any_world.Asked(tasks, seed, planning.planner, planning.horizon)
        return _any_world.run(
            partial(_any_world.opened, world, log), folder, search, episodes, asked, on_true_world, as_json
        )
    if episodes is not None and episodes < LEAST_EPISODES:
        raise VpwError(f"A domain needs at least {LEAST_EPISODES} episodes: some to fit to and one for tasks.")
    keep_compiled(all_cores=True)
    check_view(search.view)
    domain, constants = varied_domain(world, vary)
    config = goal_config(
        domain, constants, vary, planning, goal, method="vpw", episodes=(), source="episodes", count=tasks, seed=seed
    )
    folder = make_folder(out or Path("runs") / domain.name)
    traces = folder / "episodes.h5"
    count = DOMAIN_EPISODES if episodes is None else episodes
    announce(1, 4, f"{count} episodes of {domain.title}" if search.traces is None else f"episodes of {search.traces}")
    seen = _episodes(traces, domain, constants, search, count, seed)
    config = dataclasses.replace(config, episodes=seen)
    _ = config.tasks  # too few are told before the long work, not after it
    announce(2, 4, "a program of them: experiments choose its form, rollouts fit its constants")
    induction = _induction(folder, domain, constants, seen, search, seed)
    path = folder / "world_model.py"
    program = load_program(path, domain.scene.state_space, domain.layout.action.width)
    by = "the simulator" if config.score == "simulator" else "the program"
    announce(3, 4, f"{tasks} tasks planned with {by}, acted in the true world")
    config = dataclasses.replace(
        config, **({"method": "engine"} if config.score == "simulator" else {"program": program})
    )
    planning_result = planned(config, path, folder / "results", folder / "films")
    announce(4, 4, f"a page of all that, {folder / 'report.html'}")
    with working("writing the page") as stage:
        page = write_report(folder, stage).path
    result = {
        "domain": domain.name,
        "traces": str(traces),
        "program": str(path),
        "edited": program.hash != induction["program_hash"],
        "induction": induction,
        "planning": planning_result,
        "films": planning_result["films"],
        "report": str(page),
        "seconds": round(time.perf_counter() - began, 1),
    }
    chosen = {**domain.probe_tolerances, **induction.get("probe_tolerances", {})}
    return show(
        result,
        as_json,
        *([candidates_table(induction["candidates"], chosen)] if induction["candidates"] else []),
        unexplained_sentence(induction["unexplained_probes"]),
        program_table(induction),
        success_list(planning_result),
        "\n".join(_closing_lines(result)),
    )


def _episodes(
    path: Path, world: Domain, constants: Constants, search: Search, count: int, seed: int
) -> Sequence[Episode]:
    """The episodes in the file where they are those asked for, else others, which are then there."""
    from visualpatchworld.errors import BadTrace
    from visualpatchworld.report.run import TIMINGS
    from visualpatchworld.trace.episode import collect
    from visualpatchworld.trace.file import read_traces, write_traces

    if search.traces is not None:
        given = read_traces(search.traces, world)
        if not path.exists() or not path.samefile(search.traces):
            write_traces(
                path, given.episodes, world.layout, domain=world.name, constants=given.constants, seed=given.seed
            )
        return read_traces(path, world).episodes
    pixels = search.view == "tool"
    try:
        kept = read_traces(path, world)
        seen = not pixels or all(episode.frames is not None for episode in kept.episodes)
        if seen and (kept.constants, kept.seed, len(kept.episodes)) == (constants, seed, count):
            return kept.episodes
    except BadTrace:
        pass  # none is there, or it is damaged: either way there will be a new one
    began = time.perf_counter()
    collecting = collect(world, constants, episodes=count, seed=seed, pixels=pixels)
    with progress(collecting, "collecting", count) as recorded:
        write_traces(path, recorded, world.layout, domain=world.name, constants=constants, seed=seed)
    note_seconds(path.with_name(TIMINGS), {"collect": time.perf_counter() - began})
    return read_traces(path, world).episodes


def _induction(
    folder: Path, world: Domain, constants: Constants, episodes: Sequence[Episode], search: Search, seed: int
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
        "traces": None if search.traces is None else search.traces.stem,
        "view": search.view,
        "sketch": search.sketch,
        "thorough": search.thorough,
    }
    kept = _read_json(record)
    if path.is_file() and (kept.get("domain"), kept.get("settings")) == (world.name, settings):
        return kept
    seconds: dict[str, float] = {}
    with writing(path) as aside, working("inducing") as shown, timed(shown, seconds) as stage:
        induction = induce_from(
            world,
            constants,
            for_fitting(episodes),
            view=search.view,
            seed=seed,
            sketch=search.sketch,
            thorough=search.thorough,
            progress=stage,
        )
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


DOMAIN_EPISODES = 50
LEAST_EPISODES = 3  # for `vpw run`, which fits, validates and plans


def probe(
    domain: DomainName,
    seed: Seed = 0,
    vary: Vary = None,
    thorough: Annotated[
        bool, typer.Option("--thorough", help="Try every candidate, even those that cannot win any more.")
    ] = False,
    as_json: AsJson = False,
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


def induce(
    world: WorldName,
    episodes: Episodes = None,
    search: Search = Search(),
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for world_model.py and induction.json.")
    ] = None,
    log: LogColumns = LogColumns(),
    seed: Seed = 0,
    vary: Vary = None,
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
        folder = out or Path("runs") / _any_world.folder_name(world)
        return _any_world.induce(_any_world.opened(world, log), folder, search, episodes, seed, as_json)
    keep_compiled()
    check_view(search.view)
    domain, constants = varied_domain(world, vary)
    if search.sketch is not None:
        domain.family(domain.scene.objects(constants)).named(search.sketch)
    folder = make_folder(out or Path("runs") / domain.name)
    program_path = folder / "world_model.py"
    with writing(program_path) as aside, working("inducing") as progress:
        if search.traces is None:
            wanted = DOMAIN_EPISODES if episodes is None else max(episodes, 2)
            progress(f"collecting {wanted} episodes")
            seen = list(collect(domain, constants, episodes=wanted, seed=seed, pixels=search.view == "tool"))
        else:
            seen = for_fitting(read_traces(search.traces, domain).episodes)
        induction = induce_from(
            domain,
            constants,
            seen,
            view=search.view,
            seed=seed,
            sketch=search.sketch,
            thorough=search.thorough,
            progress=progress,
        )
        aside.write_text(induction.program.text, encoding="utf-8")
    result = summary(domain, induction, str(program_path))
    write_text(folder / "induction.json", to_json(result, indent=2) + "\n")
    return show(result, as_json, *(_evidence(result) if result["candidates"] else ()), program_table(result))


def _evidence(result: Mapping[str, Any]) -> tuple[Table, str]:
    """Which form explains the probes, and what none does."""
    return candidates_table(result["candidates"], result["probe_tolerances"]), unexplained_sentence(
        result["unexplained_probes"]
    )
