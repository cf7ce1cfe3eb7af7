"""`vpw rollout`: how far a program's open-loop predictions stray from recorded episodes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualpatchworld.cli._options import AsJson, DomainOption, Seed
from visualpatchworld.cli._show import show, working
from visualpatchworld.domain import load_domain
from visualpatchworld.errors import VpwError


def rollout(
    program: Annotated[Path, typer.Argument(metavar="PROGRAM.py", help="A world model, emitted or edited.")],
    domain: DomainOption,
    traces: Annotated[Path, typer.Option(metavar="FILE.h5", help="Episodes to compare with.")],
    horizon: Annotated[int, typer.Option(min=1, help="Longest rollout, in steps.")] = 25,
    last: Annotated[int | None, typer.Option(min=1, metavar="N", help="Use only the last N episodes.")] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Roll a program out along recorded actions and measure its error by horizon.

    Example: vpw rollout world_model.py --domain DOMAIN --traces episodes.h5
    """
    import numpy as np

    from visualpatchworld.cli._program import errors_table
    from visualpatchworld.induction.errors_by_horizon import errors_by_horizon
    from visualpatchworld.induction.windows import recordings_of
    from visualpatchworld.program.program import load_program
    from visualpatchworld.trace.read import read_traces

    world = load_domain(domain)
    seen = read_traces(traces, world)
    world = world.of(seen.constants)
    model = load_program(program, world.scene.state_space, world.layout.action.width)
    recordings = recordings_of(seen.episodes)[-last if last else None :]
    if max(len(recording.actions) for recording in recordings) < horizon:
        raise VpwError(f"No episode of '{traces}' has {horizon} steps; choose a shorter --horizon.")
    with working("rolling out"):
        errors = errors_by_horizon(model, recordings, world, np.random.default_rng(seed), horizon)
    result = {"domain": world.name, "program": str(program), "program_hash": model.hash, "traces": str(traces), "rollout_error": errors}
    show(result, as_json, errors_table(errors))
