"""`vpw rollout`: how far a program's open-loop predictions stray from recorded episodes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualpatchworld.cli._options import (
    ActionColumns,
    AsJson,
    EpisodeColumn,
    InSandbox,
    Seed,
    StateColumns,
    StepSeconds,
    Unfiltered,
    finite,
)
from visualpatchworld.cli._show import show, working
from visualpatchworld.domain import load_domain
from visualpatchworld.errors import VpwError


def rollout(
    program: Annotated[Path, typer.Argument(metavar="PROGRAM.py", help="A world model, emitted or edited: code, which runs here.")],
    traces: Annotated[Path, typer.Option(metavar="LOG", help="Episodes to compare with: a trace file, or any log.")],
    domain: Annotated[
        str | None, typer.Option("--domain", metavar="DOMAIN", help="The domain of a trace file; any other log needs none.")
    ] = None,
    horizon: Annotated[int, typer.Option(min=1, help="Longest rollout, in steps.")] = 25,
    last: Annotated[int | None, typer.Option(min=1, metavar="N", help="Use only the last N episodes.")] = None,
    sandbox: InSandbox = False,
    unfiltered: Unfiltered = False,
    action: ActionColumns = None,
    state: StateColumns = None,
    episode: EpisodeColumn = None,
    dt: StepSeconds = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Roll a program out along recorded actions and measure its error by horizon.

    A program is code with all your rights. Give --sandbox for one that you have not read.

    Example: vpw rollout world_model.py --domain DOMAIN --traces episodes.h5
    """
    from contextlib import nullcontext

    import numpy as np

    from visualpatchworld.cli import _any_world
    from visualpatchworld.cli._results import errors_table, stops_line
    from visualpatchworld.induction.windows import errors_foreseen, predict, trajectories_of
    from visualpatchworld.program.program import Program, load_program, read_program
    from visualpatchworld.program.sandbox import sandboxed_rollouts
    from visualpatchworld.trace.read import read_traces

    if domain is None:
        if sandbox:
            raise VpwError("--sandbox needs --domain, which says what the program's state is.")
        finite(dt)
        _any_world.rollout(program, _any_world.opened(str(traces), action, state, episode, dt), horizon, last, as_json)
        return
    world = load_domain(domain)
    seen = read_traces(traces, world)
    world = world.of(seen.constants)
    space, action_dim = world.scene.state_space, world.layout.action.width
    model = Program(read_program(program), program) if sandbox else load_program(program, space, action_dim)
    recordings = trajectories_of(seen.episodes)[-last if last else None :]
    if max(len(recording.actions) for recording in recordings) < horizon:
        raise VpwError(f"No episode of '{traces}' has {horizon} steps; choose a shorter --horizon.")
    running = sandboxed_rollouts(model, space.names, action_dim, unfiltered=unfiltered) if sandbox else nullcontext()
    with running as rollouts, working("rolling out"):
        ask = (
            (lambda windows: predict(model, windows))
            if rollouts is None
            else lambda windows: rollouts.each(windows.starts, windows.actions)
        )
        errors = errors_foreseen(ask, recordings, world, np.random.default_rng(seed), horizon)
    result = {"domain": world.name, "program": str(program), "program_hash": model.hash, "traces": str(traces), "rollout_error": errors}
    stopped = "" if rollouts is None or not rollouts.stops else f"The program was stopped {stops_line(rollouts.told())}"
    if rollouts is not None:
        result["sandbox"] = rollouts.told()
    show(result, as_json, errors_table(errors), stopped)
