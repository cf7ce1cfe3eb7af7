"""Replaying logs with a program: how far its rollouts part from what was observed, in units of how far things move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from visualpatchworld.errors import BadTrace
from visualpatchworld.program.env import followed, imagine, shown
from visualpatchworld.program.program import Program
from visualpatchworld.world.trajectory import Trajectory

MOST_WINDOWS = 512
MOST_LEAD = 12  # rows before a window that hidden fields are followed through
STILL = 1e-12

Rows = dict[str, dict[str, float]]


def replay_errors(program: Program, trajectories: Sequence[Trajectory], horizon: int) -> tuple[Rows, Rows]:
    """Normalised errors by horizon, of all fields and of each: error over the standard deviation of that field's change in as many steps.

    A program that has `read` and `observe` is compared by its observations; any other by its state, which must be what was observed.
    Fields that no observation shows are followed through a few rows before a window begins.
    """
    total, by_field = {}, {}
    lead = _lead(program, trajectories[0].observations[0])
    for steps in sorted({1, *(h for h in (5, 25, 50, 100) if h < horizon), horizon}):
        windows = windows_of(trajectories, steps, lead)
        if windows is None:
            continue
        total[str(steps)], by_field[str(steps)] = window_errors(
            last_observations(program, windows.starts, windows.actions, windows.before), windows
        )
    if not total:
        raise BadTrace(f"No trajectory has the {1 + lead} steps that a comparison takes.")
    return total, by_field


def _lead(program: Program, observation: Float[np.ndarray, " O"]) -> int:
    """How many rows are looked at before a window begins: none where one observation shows the whole state."""
    with jax.enable_x64(True):
        world = imagine(program, dtype=np.float64)
        hidden = int((~np.asarray(shown(world, jnp.asarray(observation)))).sum())
    return min(hidden + 1, MOST_LEAD) if hidden else 0


class Windows(NamedTuple):
    """N stretches of H steps of a log: what was observed first and last, and what was done between; and L rows and actions before."""

    starts: Float[np.ndarray, "N O"]
    actions: Float[np.ndarray, "N H A"]
    truths: Float[np.ndarray, "N O"]
    before: tuple[Float[np.ndarray, "N L O"], Float[np.ndarray, "N L A"]] | None = None


def windows_of(trajectories: Sequence[Trajectory], steps: int, lead: int = 0) -> Windows | None:
    """Stretches of so many steps, evenly thinned; None where no trajectory is that long."""
    places = [(t, i) for t in trajectories for i in range(lead, len(t) - steps + 1)]
    if not places:
        return None
    kept = [places[k] for k in np.unique(np.linspace(0, len(places) - 1, MOST_WINDOWS).astype(int))]
    return Windows(
        np.array([t.observations[i] for t, i in kept]),
        np.array([t.actions[i : i + steps] for t, i in kept]),
        np.array([t.observations[i + steps] for t, i in kept]),
        (np.array([t.observations[i - lead : i] for t, i in kept]), np.array([t.actions[i - lead : i] for t, i in kept])) if lead else None,
    )


def window_errors(predicted: Float[np.ndarray, "N O"], windows: Windows) -> tuple[dict[str, float], dict[str, float]]:
    """Normalised errors of predicted last observations: over all fields, and the median of each."""
    change = np.std(windows.truths - windows.starts, axis=0)
    off = np.abs(predicted - windows.truths)
    off = np.where(np.isfinite(off), off, np.inf)
    live = change > STILL
    by_field = {str(i): float(np.median(off[:, i] / change[i])) for i in range(len(change)) if live[i]}
    return _spread(np.sqrt(np.mean((off[:, live] / change[live]) ** 2, axis=1))), by_field


def last_observations(
    program: Program,
    starts: Float[np.ndarray, "N O"],
    actions: Float[np.ndarray, "N H A"],
    before: tuple[Float[np.ndarray, "N L O"], Float[np.ndarray, "N L A"]] | None = None,
) -> Float[np.ndarray, "N O"]:
    """What the program foresees to be observed after these actions, in double precision."""
    with jax.enable_x64(True):
        world = imagine(program, dtype=np.float64)

        def last(start: jax.Array, acted: jax.Array, seen: jax.Array, done: jax.Array) -> jax.Array:
            state = world.read(seen[0] if len(seen) else start)
            for k in range(len(seen)):
                state = followed(world, state, done[k], seen[k + 1] if k + 1 < len(seen) else start)
            return world.observe(jax.lax.scan(lambda now, action: (world.step(now, action), None), state, acted)[0])

        nothing = np.zeros((len(starts), 0, starts.shape[1])), np.zeros((len(starts), 0, actions.shape[2]))
        parts = (jnp.asarray(part) for part in (starts, actions, *(before or nothing)))
        return np.asarray(jax.jit(jax.vmap(last))(*parts))


def _spread(values: np.ndarray) -> dict[str, float]:
    return {"mean": float(np.mean(values)), "median": float(np.median(values)), "p90": float(np.quantile(values, 0.9))}
