"""`vpw probe`, `vpw induce` and `vpw acquire`: from experiments and traces to a program, and to a better one by practice."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualpatchworld.cli._verb import (
    MOST,
    ActionColumns,
    AsJson,
    DomainName,
    EpisodeColumn,
    Fields,
    Seed,
    StateColumns,
    StepSeconds,
    Vary,
    WorldName,
    evidence_table,
    finite,
    keep_compiled,
    program_table,
    show,
    unexplained_line,
    varied_constants,
    working,
)
from visualpatchworld.domain import find_domains, load_domain
from visualpatchworld.files import to_json
from visualpatchworld.scene.schema import Source

Thorough = Annotated[bool, typer.Option("--thorough", help="Try every candidate, even those that cannot win any more.")]


DOMAIN_EPISODES = 50


def probe(domain: DomainName, seed: Seed = 0, vary: Vary = None, thorough: Thorough = False, as_json: AsJson = False) -> None:
    """Choose the form of a domain's dynamics by short experiments, and show the evidence.

    Example: vpw probe DOMAIN --vary NAME=VALUE
    """
    import numpy as np

    from visualpatchworld.induction.blackbox import black_box
    from visualpatchworld.induction.induce import choose_form, evidence_rows

    keep_compiled()
    world = load_domain(domain)
    constants = varied_constants(world, vary)
    world = world.of(constants)
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
    show(result, as_json, evidence_table(evidence), unexplained_line(evidence))


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
    from visualpatchworld.files import make_folder, write_text, writing
    from visualpatchworld.induction.induce import check_view, induce_from, summary
    from visualpatchworld.trace.episode import collect, for_fitting
    from visualpatchworld.trace.file import read_traces

    if world not in find_domains():
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


def acquire(
    domain: DomainName,
    program: Annotated[Path, typer.Option(metavar="FILE.py", help="The program to start from; it is not changed.")],
    sketch: Annotated[str, typer.Option(metavar="NAME", help="Its form, as its header names it.")],
    out: Annotated[Path, typer.Option(metavar="FILE.py", help="Where the refitted program goes, if it is accepted.")],
    traces: Annotated[Path | None, typer.Option(metavar="FILE.h5", help="Episodes; the last fifth stays untouched.")] = None,
    episodes: Annotated[int, typer.Option(min=3, max=MOST, metavar="N", help="How many episodes to collect without --traces.")] = 50,
    tasks: Annotated[int, typer.Option(min=1, max=MOST, metavar="N", help="Practice tasks.")] = 20,
    seed: Seed = 0,
    vary: Vary = None,
    as_json: AsJson = False,
) -> None:
    """Practise, gather the surprises, refit inside the form, and accept only what makes nothing worse.

    Example: vpw acquire DOMAIN --program world_model.py --sketch FORM --out better.py
    """
    from visualpatchworld.files import write_text
    from visualpatchworld.paper import acquire as stage
    from visualpatchworld.program.program import load_program
    from visualpatchworld.trace.episode import collect, for_fitting
    from visualpatchworld.trace.file import read_traces

    keep_compiled(all_cores=True)
    world = load_domain(domain)
    constants = varied_constants(world, vary)
    world = world.of(constants)
    form = world.family(world.scene.objects(constants)).named(sketch)
    model = load_program(program, world.scene.state_space, world.layout.action.width)
    with working("acquiring") as progress:
        if traces is None:
            progress(f"collecting {episodes} episodes")
            seen = for_fitting(list(collect(world, constants, episodes=episodes, seed=seed)))
        else:
            seen = for_fitting(read_traces(traces, world).episodes)
        found = stage.acquire(world, constants, model, form, seen, tasks=tasks, seed=seed, progress=progress)
    if found.accepted:
        write_text(out, found.program.text)
    result = {
        "domain": world.name,
        "accepted": found.accepted,
        "reason": found.reason,
        "surprises": found.surprises,
        "tasks": tasks,
        "successes_before": found.successes_before,
        "successes_after": found.successes_after,
        "checks": stage.NUM_CHECKS,
        "rollout_error_before": found.errors_before,
        "rollout_error_after": found.errors_after,
        "program": str(out) if found.accepted else str(program),
    }
    show(result, as_json)
