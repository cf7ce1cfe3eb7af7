"""Replaying logs with a program: how far its rollouts part from what was observed, in units of how far things move."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

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
    width = trajectories[0].observations.shape[1]
    total, by_field = {}, {}
    for steps in sorted({1, *(h for h in (5, 25, 50, 100) if h < horizon), horizon}):
        places = [(t, i) for t in trajectories for i in range(len(t) - steps + 1)]
        if not places:
            continue
        kept = [places[k] for k in np.unique(np.linspace(0, len(places) - 1, MOST_WINDOWS).astype(int))]
        starts = np.array([t.observations[i] for t, i in kept])
        truths = np.array([t.observations[i + steps] for t, i in kept])
        actions = np.array([t.actions[i : i + steps] for t, i in kept])
        change = np.std(truths - starts, axis=0)
        off = np.abs(_predicted(program, starts, actions) - truths)
        off = np.where(np.isfinite(off), off, np.inf)
        live = change > STILL
        ratios = off[:, live] / change[live]
        total[str(steps)] = _spread(np.sqrt(np.mean(ratios**2, axis=1)))
        by_field[str(steps)] = {str(i): float(np.median(off[:, i] / change[i])) for i in range(width) if live[i]}
    if not total:
        raise BadTrace(f"No trajectory has {min(horizon, 1)} steps to compare with.")
    return total, by_field


def _predicted(program: Program, starts: np.ndarray, actions: np.ndarray) -> np.ndarray:
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
