"""How an input goes between two rows of a log: held until the next row, or on its way to it. A machine's input is not always held."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from visualpatchworld.induction.regress import solve
from visualpatchworld.world.trajectory import Trajectory

LEAST_ROWS = 200
GAIN = 0.85  # of what is left without the next input may be left with it
SHARES = (0.05, 1.5)  # of the input's own effect that the next one has, where it is on its way there
MOST_COLUMNS = 10


class Between(NamedTuple):
    """Whether inputs are on their way to the next row, and the sentence that says why."""

    interpolated: bool
    why: str


def input_between(trajectories: Sequence[Trajectory]) -> Between:
    """Whether the input of the next row acts already before it, told by a regression of every field's change.

    What a controller made of the next observation also tells of it; but it does so with a weight that no input on its way has: the next
    input acts the same way as the one before, and not much more.
    """
    width, inputs = trajectories[0].observations.shape[1], trajectories[0].actions.shape[1]
    long = [t for t in trajectories if len(t) >= 4]
    if not inputs or width > MOST_COLUMNS or sum(len(t) - 2 for t in long) < LEAST_ROWS:
        return Between(False, "held, since there are too few rows to ask")
    acted = [np.concatenate([t.actions[1:-1], t.actions[:-2]], axis=1) for t in long]
    ahead = np.concatenate([t.actions[2:] for t in long])
    seen = [np.concatenate([t.observations[1:-2], np.diff(t.observations[:-2], axis=0)], axis=1) for t in long]
    state, now = np.concatenate(seen), np.concatenate(acted)
    powers = np.concatenate([state, state**2, state**3], axis=1)
    base = np.concatenate([np.ones((len(state), 1)), powers, now], axis=1)
    change = np.concatenate([np.diff(t.observations[1:-1], axis=0) for t in long])
    judge = np.random.default_rng(0).random(len(state)) < 1 / 3
    best = Between(False, "held: the input of the next row tells nothing more")
    least = GAIN
    for k in range(width):
        if np.std(change[:, k]) == 0:
            continue
        without, _ = _left(base, change[:, k], judge)
        with_next, factors = _left(np.concatenate([base, ahead], axis=1), change[:, k], judge)
        own, next_one = factors[powers.shape[1] + 1 : powers.shape[1] + 1 + inputs], factors[-inputs:]
        shares = next_one / np.where(own == 0, np.inf, own)
        fitting = bool((np.abs(shares) > SHARES[0]).any()) and bool((shares[np.abs(shares) > SHARES[0]] > 0).all())
        fitting = fitting and bool((shares < SHARES[1]).all())
        if without > 0 and with_next < least * without and fitting:
            least = with_next / without
            best = Between(True, f"on its way to the next row: with that input {least:.2g} of the error of a regression is left")
    return best


def _left(design: Float[np.ndarray, "N P"], target: Float[np.ndarray, " N"], judge: np.ndarray) -> tuple[float, np.ndarray]:
    factors = solve(design[~judge], target[~judge])
    return float(np.sqrt(np.mean((target[judge] - design[judge] @ factors) ** 2))), factors
