"""How far open-loop rollouts of a program stray from the truth, by the number of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from visualpatchworld.domain import Domain
from visualpatchworld.induction.windows import Recording, Windows, cut_windows
from visualpatchworld.program.program import Program
from visualpatchworld.program.rollout import rollout

HORIZONS = (1, 5, 8, 12, 25, 50)
NUM_WINDOWS = 1000

# quantity -> horizon -> {"mean", "median", "p90"}
ErrorTable = dict[str, dict[int, dict[str, float]]]


def predict(program: Program, windows: Windows) -> np.ndarray:
    """The states the program foresees for these windows, in double precision."""
    with jax.enable_x64(True):
        dynamics = program.bind("jax")
        rolled = jax.jit(jax.vmap(lambda start, actions: rollout(dynamics, start, actions)))
        return np.asarray(rolled(jnp.asarray(windows.starts), jnp.asarray(windows.actions)))


def errors_by_horizon(
    program: Program, recordings: Sequence[Recording], domain: Domain, rng: np.random.Generator, horizon: int | None = None
) -> ErrorTable:
    """The errors of a program that is run here."""
    return errors_foreseen(partial(predict, program), recordings, domain, rng, horizon)


def errors_foreseen(
    foresee: Callable[[Windows], np.ndarray],
    recordings: Sequence[Recording],
    domain: Domain,
    rng: np.random.Generator,
    horizon: int | None = None,
) -> ErrorTable:
    """Mean, median and 90th percentile of every quantity, over windows drawn from the recordings; what is not finite counts as infinite."""
    longest = horizon or domain.horizon
    windows = cut_windows(recordings, longest, NUM_WINDOWS, rng)
    predicted = foresee(windows)
    table: ErrorTable = {}
    for name, quantity in domain.quantities.items():
        errors = quantity(predicted, windows.truths)
        errors = np.where(np.isfinite(errors), errors, np.inf)
        steps = [step for step in HORIZONS if step < longest] + [longest]
        table[name] = {
            step: {
                "mean": float(np.mean(errors[:, step - 1])),
                "median": float(np.median(errors[:, step - 1])),
                "p90": _percentile_90(errors[:, step - 1]),
            }
            for step in steps
        }
    return table


def _percentile_90(errors: np.ndarray) -> float:
    with np.errstate(invalid="ignore"):
        found = float(np.percentile(errors, 90))
    return np.inf if np.isnan(found) else found  # between two infinite errors lies no number
