"""Replaying logs with a program: how far its rollouts part from what was observed, in units of how far things move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from visualpatchworld.errors import BadTrace
from visualpatchworld.program.program import Program
from visualpatchworld.world.trajectory import Trajectory

MOST_WINDOWS = 512
STILL = 1e-12

Rows = dict[str, dict[str, float]]


def replay_errors(program: Program, trajectories: Sequence[Trajectory], horizon: int) -> tuple[Rows, Rows]:
    """Normalised errors by horizon, of all fields and of each: error over the standard deviation of that field's change in as many steps.

    A program that has `read` and `observe` is compared by its observations; any other by its state, which must be what was observed.
    """
    total, by_field = {}, {}
    for steps in sorted({1, *(h for h in (5, 25, 50, 100) if h < horizon), horizon}):
        windows = windows_of(trajectories, steps)
        if windows is None:
            continue
        total[str(steps)], by_field[str(steps)] = window_errors(last_observations(program, windows.starts, windows.actions), windows)
    if not total:
        raise BadTrace(f"No trajectory has {min(horizon, 1)} steps to compare with.")
    return total, by_field


class Windows(NamedTuple):
    """N stretches of H steps of a log: what was observed first and last, and what was done between."""

    starts: Float[np.ndarray, "N O"]
    actions: Float[np.ndarray, "N H A"]
    truths: Float[np.ndarray, "N O"]


def windows_of(trajectories: Sequence[Trajectory], steps: int) -> Windows | None:
    """Stretches of so many steps, evenly thinned; None where no trajectory is that long."""
    places = [(t, i) for t in trajectories for i in range(len(t) - steps + 1)]
    if not places:
        return None
    kept = [places[k] for k in np.unique(np.linspace(0, len(places) - 1, MOST_WINDOWS).astype(int))]
    return Windows(
        np.array([t.observations[i] for t, i in kept]),
        np.array([t.actions[i : i + steps] for t, i in kept]),
        np.array([t.observations[i + steps] for t, i in kept]),
    )


def window_errors(predicted: Float[np.ndarray, "N O"], windows: Windows) -> tuple[dict[str, float], dict[str, float]]:
    """Normalised errors of predicted last observations: over all fields, and the median of each."""
    change = np.std(windows.truths - windows.starts, axis=0)
    off = np.abs(predicted - windows.truths)
    off = np.where(np.isfinite(off), off, np.inf)
    live = change > STILL
    by_field = {str(i): float(np.median(off[:, i] / change[i])) for i in range(len(change)) if live[i]}
    return _spread(np.sqrt(np.mean((off[:, live] / change[live]) ** 2, axis=1))), by_field


def last_observations(program: Program, starts: Float[np.ndarray, "N O"], actions: Float[np.ndarray, "N H A"]) -> Float[np.ndarray, "N O"]:
    """What the program foresees to be observed after these actions, in double precision."""
    model = program.bind_world("jax")

    def last(start: jax.Array, acted: jax.Array) -> jax.Array:
        state = model.State(*start) if model.read is None else model.read(start)

        def advance(state, action):
            return model.State(*(jnp.asarray(field, start.dtype) for field in model.step(state, action))), None

        state = jax.lax.scan(advance, model.State(*(jnp.asarray(field, start.dtype) for field in state)), acted)[0]
        return jnp.stack(state[: len(start)] if model.observe is None else list(model.observe(state)))

    with jax.enable_x64(True):
        return np.asarray(jax.jit(jax.vmap(last))(jnp.asarray(starts), jnp.asarray(actions)))


def _spread(values: np.ndarray) -> dict[str, float]:
    return {"mean": float(np.mean(values)), "median": float(np.median(values)), "p90": float(np.quantile(values, 0.9))}
