"""What users would take instead, on the same transitions: a
small ensemble of networks, and sparse regression (PySINDy).

To plan with them they are given the reward and the end that were found with the program: they model where a step leads,
and nothing else.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from visualpatchworld.program.imagine import Imagined
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace

NETWORKS = 5
WIDTH = 64
TRAIN_STEPS = 4000
BATCH = 256
LEARNING_RATE = 2e-3

Step = Callable[[Any, Any], Any]  # observation and action to the next observation, for JAX to trace


def inputs_of(space: ActionSpace, actions: Any) -> Any:
    """Actions as numbers a regression can use: choices become one column per choice but the first."""
    if space.kind == "continuous":
        return actions
    array: Any = np if isinstance(actions, np.ndarray) else jnp
    columns = [actions[..., k : k + 1] == array.arange(1, count) for k, count in enumerate(space.counts)]
    return array.concatenate(columns, axis=-1).astype(float)


def last_of(
    step: Step, starts: Float[np.ndarray, "N O"], actions: Float[np.ndarray, "N H A"]
) -> Float[np.ndarray, "N O"]:
    """Where steps lead from each start."""

    def rolled(start: Any, taken: Any) -> Any:
        return jax.lax.scan(lambda now, action: (step(now, action), None), start, taken)[0]

    return np.asarray(jax.jit(jax.vmap(rolled))(jnp.asarray(starts), jnp.asarray(actions)))


def as_world(step: Step, found: Imagined) -> Imagined:
    """A rival as a world to plan in, with the reward and the end of the program; its state is what is observed."""
    return replace(
        found,
        read=lambda observation: observation,
        step=step,
        observe=lambda state: state,
        reward=lambda state, action, after: found.reward(found.read(state), action, found.read(after)),
        terminated=lambda after: found.terminated(found.read(after)),
        valid=lambda state: jnp.asarray(True),
    )


def network_ensemble(space: ActionSpace, trajectories: Sequence[Trajectory], seed: int = 0) -> Step:
    """Five networks of two hidden layers that predict the change of the observation; rollouts follow their mean."""
    before = np.concatenate([t.observations[:-1] for t in trajectories])
    change = np.concatenate([np.diff(t.observations, axis=0) for t in trajectories])
    acted = inputs_of(space, np.concatenate([t.actions for t in trajectories]))
    given = np.concatenate([before, acted], axis=1)
    centre, spread = given.mean(axis=0), np.maximum(given.std(axis=0), 1e-6)
    middle, scale = change.mean(axis=0), np.maximum(change.std(axis=0), 1e-9)
    wide, narrow = given.shape[1], change.shape[1]

    def fresh(key):
        sizes = [(wide, WIDTH), (WIDTH, WIDTH), (WIDTH, narrow)]
        keys = jax.random.split(key, len(sizes))
        return [
            (jax.random.normal(k, size) / np.sqrt(size[0]), jnp.zeros(size[1]))
            for k, size in zip(keys, sizes, strict=True)
        ]

    def forward(layers, values):
        for weight, bias in layers[:-1]:
            values = jax.nn.silu(values @ weight + bias)
        return values @ layers[-1][0] + layers[-1][1]

    x, y = jnp.asarray((given - centre) / spread), jnp.asarray((change - middle) / scale)

    def train(key):
        key, first = jax.random.split(key)
        layers = fresh(first)
        zeros = jax.tree.map(jnp.zeros_like, layers)

        def loss(layers, rows):
            return jnp.mean((forward(layers, x[rows]) - y[rows]) ** 2)

        def turn(carry, number):
            layers, mean, square, key = carry
            key, drawn = jax.random.split(key)
            slope = jax.grad(loss)(layers, jax.random.randint(drawn, (BATCH,), 0, len(x)))
            mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slope)
            square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g**2, square, slope)
            rate = LEARNING_RATE * 0.5 * (1 + jnp.cos(jnp.pi * number / TRAIN_STEPS))
            grown = 1 - 0.9 ** (number + 1), 1 - 0.999 ** (number + 1)
            layers = jax.tree.map(
                lambda w, m, s: w - rate * (m / grown[0]) / (jnp.sqrt(s / grown[1]) + 1e-8), layers, mean, square
            )
            return (layers, mean, square, key), None

        return jax.lax.scan(turn, (layers, zeros, zeros, key), jnp.arange(TRAIN_STEPS))[0][0]

    ensemble = jax.jit(jax.vmap(train))(jax.random.split(jax.random.key(seed), NETWORKS))

    def step(now, action):
        both = (jnp.concatenate([now, inputs_of(space, jnp.asarray(action))], axis=-1) - centre) / spread
        moved = jnp.mean(jax.vmap(forward, in_axes=(0, None))(ensemble, both), axis=0)
        return jnp.asarray(now + moved * scale + middle, jnp.asarray(now).dtype)

    return step


SINDY = Path(__file__).with_name("sindy.py")


class NoSindy(Exception):
    """PySINDy could not be run; the sentence says why."""


def sparse_regression(
    python: Path | None,
    space: ActionSpace,
    trajectories: Sequence[Trajectory],
    windows: dict[int, tuple[np.ndarray, np.ndarray]],
) -> tuple[dict[int, np.ndarray], int, Step]:
    """By horizon the last observations that PySINDy's discrete-time
    model predicts, how many terms it has, and its step.

    Polynomials of second degree and, in up to twelve columns, sines and cosines of all; its threshold is chosen on a
    fifth of the episodes. It runs in an interpreter of its own, because it is no dependency.
    """
    if python is None:
        raise NoSindy("PySINDy was not measured: give the interpreter of an environment that has it with --sindy.")
    usable = [t for t in trajectories if len(t) >= 2]
    arrays: dict[str, object] = {"count": len(usable), "degree": 2, "horizons": np.array(sorted(windows))}
    for i, trajectory in enumerate(usable):
        arrays[f"x{i}"] = trajectory.observations
        arrays[f"u{i}"] = inputs_of(space, trajectory.actions)
    for steps, (starts, actions) in windows.items():
        arrays[f"starts{steps}"], arrays[f"taken{steps}"] = starts, inputs_of(space, actions)
    with tempfile.TemporaryDirectory() as folder:
        given, taken = Path(folder) / "given.npz", Path(folder) / "taken.npz"
        np.savez(given, **arrays)  # type: ignore[arg-type]
        try:
            done = subprocess.run(
                [str(python), str(SINDY), str(given), str(taken)], capture_output=True, text=True, timeout=600
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoSindy(f"PySINDy did not run: {type(error).__name__}.") from None
        if done.returncode or not taken.is_file():
            raise NoSindy(f"PySINDy failed: {(done.stderr.strip().splitlines() or ['no word'])[-1][:200]}")
        with np.load(taken) as found:
            ends = {steps: found[f"ends{steps}"] for steps in windows}
            return (
                ends,
                int(found["terms"]),
                _sparse_step(space, [str(name) for name in found["names"]], found["coefficients"]),
            )


def _sparse_step(space: ActionSpace, names: Sequence[str], coefficients: Float[np.ndarray, "O F"]) -> Step:
    """PySINDy's model from the names of its terms: `1`, `x0`, `x0^2`, `x0 u1`, `sin(1 x0)`."""
    used = [k for k in range(len(names)) if np.any(coefficients[:, k])]
    weights = jnp.asarray(coefficients[:, used], jnp.float32)

    def term(name: str, columns: dict[str, Any]) -> Any:
        wave = re.fullmatch(r"(sin|cos)\((\S+) (\w+)\)", name)
        if wave:
            return getattr(jnp, wave[1])(float(wave[2]) * columns[wave[3]])
        value = jnp.asarray(1.0, jnp.float32)
        for factor in name.split():
            base, _, power = factor.partition("^")
            value = value * (float(base) if base not in columns else columns[base] ** int(power or 1))
        return value

    def step(now, action):
        inputs = inputs_of(space, jnp.asarray(action))
        columns = {f"x{i}": now[i] for i in range(now.shape[0])} | {f"u{i}": inputs[i] for i in range(inputs.shape[0])}
        return weights @ jnp.stack([term(names[k], columns) for k in used]) if used else jnp.zeros_like(now)

    return step
