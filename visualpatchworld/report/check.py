"""Checking a program on steps that no search has seen, as data for a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from visualpatchworld.induction.replay import replay_errors
from visualpatchworld.program.program import Program
from visualpatchworld.report.recording import imagined
from visualpatchworld.world.collect import collect
from visualpatchworld.world.log import LogWorld
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import World

STEPS = 400  # of a world that runs
HORIZON = 25
STRETCH = 100  # steps of the stretch that is shown
MOST_POINTS = 200
SEED_APART = 7_919  # from the seed of the search, so that episodes are others


def check(program: Program, world: World, names: Sequence[str], seed: int) -> dict[str, Any]:
    """Errors by horizon and field, and one stretch; of a log, what it holds out, else all of it."""
    if isinstance(world, LogWorld):
        seen = list(world.held_out() or world.logged())
    else:
        seen = collect(world, STEPS, np.random.default_rng(seed + SEED_APART))
    _, by_field = replay_errors(program, seen, HORIZON)
    longest = max(seen, key=len)
    steps = min(len(longest), max(STRETCH, _steps_of_motion(longest)))
    piece = Trajectory(longest.observations[: steps + 1], longest.actions[:steps])
    every = max(1, steps // MOST_POINTS)
    return {
        "names": list(names),
        "steps": sum(len(one) for one in seen),
        "by_field": {steps: {names[int(i)]: error for i, error in row.items()} for steps, row in by_field.items()},
        "true": piece.observations[::every].tolist(),
        "imagined": imagined(program, piece, steps)[::every].tolist(),
        "program_hash": program.hash,
    }


def _steps_of_motion(trajectory: Trajectory) -> int:
    """Steps in which something happens: a log of a thousand rows a second shows nothing in a hundred of them."""
    seen = trajectory.observations
    spread = seen.std(axis=0)
    away = np.abs(seen - seen[0])[:, spread > 0] / spread[spread > 0]
    far = np.flatnonzero(away.max(axis=1, initial=0.0) > 1.0)
    return int(3 * far[0]) if len(far) else len(trajectory)
