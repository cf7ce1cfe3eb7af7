"""`vpw induce`: from experiments and traces to a program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualpatchworld.cli._options import (
    MOST,
    ActionColumns,
    AsJson,
    EpisodeColumn,
    Fields,
    Seed,
    StateColumns,
    StepSeconds,
    Vary,
    WorldName,
    finite,
    varied_constants,
)
from visualpatchworld.cli._show import show, working
from visualpatchworld.cli.probe import Thorough
from visualpatchworld.domain import load_domain
from visualpatchworld.scene.schema import Source
from visualpatchworld.strict_json import to_json

DOMAIN_EPISODES = 50


def induce(
    world: WorldName,
    traces: Annotated[
        Path | None,
        typer.Option(metavar="FILE.h5", help="Episodes, all but the last fifth of which are fitted to; collected when not given."),
    ] = None,
    episodes: Annotated[
        int | None,
        typer.Option(min=1, max=MOST, metavar="N", help="How many episodes to collect, or to read of a log: 50 of a domain, else all."),
    ] = None,
    view: Annotated[Source, typer.Option(help="Path from observation to scene graph.")] = "oracle",
    sketch: Annotated[str | None, typer.Option(metavar="NAME", help="Fit this sketch instead of choosing one by probes.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for world_model.py and induction.json.")] = None,
    steps: Annotated[
        int, typer.Option(min=50, max=MOST, metavar="N", help="Steps of the world that may be taken, where it is no domain.")
    ] = 2000,
    seconds: Annotated[float, typer.Option(min=1, max=3600, help="About how long the search may take, where it is no domain.")] = 60.0,
    fields: Fields = None,
    action: ActionColumns = None,
    state: StateColumns = None,
    episode: EpisodeColumn = None,
    dt: StepSeconds = None,
    seed: Seed = 0,
    vary: Vary = None,
    thorough: Thorough = False,
    as_json: AsJson = False,
) -> None:
    """Induce a program: of a domain by probes of its scene, of any other world or log by a search that knows nothing of it.

    A search that finds no law still writes its best program, says so in its first lines, and ends with exit status 3.

    Example: vpw induce DOMAIN --out runs/DOMAIN
    """
    from visualpatchworld.cli import _any_world
    from visualpatchworld.cli._compute import keep_compiled
    from visualpatchworld.cli._results import evidence_table, program_table, unexplained_line
    from visualpatchworld.induction.induce import check_view, induce_from, summary
    from visualpatchworld.output import make_folder, write_text, writing
    from visualpatchworld.trace.episode import collect, for_fitting
    from visualpatchworld.trace.read import read_traces

    if not _any_world.is_domain(world):
        finite((seconds, *(() if dt is None else (dt,))))
        opened = _any_world.opened(world, action, state, episode, dt)
        _any_world.induce(opened, out or Path("runs") / _any_world.folder_name(world), fields, steps, seconds, seed, as_json, episodes)
        return
    keep_compiled()
    domain = load_domain(world)
    check_view(view)
    constants = varied_constants(domain, vary)
    domain = domain.of(constants)
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
        induction = induce_from(domain, constants, seen, view=view, seed=seed, sketch=sketch, thorough=thorough, progress=progress)
        aside.write_text(induction.program.text, encoding="utf-8")
    result = summary(domain, induction, str(program_path))
    write_text(folder / "induction.json", to_json(result, indent=2) + "\n")
    evidence = induction.evidence
    parts = [] if evidence is None else [evidence_table(evidence), unexplained_line(evidence)]
    show(result, as_json, *parts, program_table(result))
