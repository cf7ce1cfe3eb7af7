"""`vpw acquire`: practise with a program and refit it to what it foresaw wrongly."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualpatchworld.cli._options import MOST, AsJson, DomainName, Seed, Vary, varied_constants
from visualpatchworld.cli._show import show, working
from visualpatchworld.domain import load_domain


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
    from visualpatchworld.cli._compute import keep_compiled
    from visualpatchworld.output import write_text
    from visualpatchworld.paper import acquire as stage
    from visualpatchworld.program.program import load_program
    from visualpatchworld.trace.episode import collect, for_fitting
    from visualpatchworld.trace.read import read_traces

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
