"""Small worlds of known law for the tests of the search: plain NumPy, with constants drawn by the caller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace

Step = Callable[[np.ndarray, np.ndarray], ArrayLike]  # a state and an action -> the next state
Rates = Callable[[np.ndarray, np.ndarray], np.ndarray]
PUSH = ActionSpace("continuous", low=(-1.0,), high=(1.0,))


@dataclass(frozen=True)
class Small:
    """Episodes of a small world, the names of its columns, and what can be done in it."""

    trajectories: tuple[Trajectory, ...]
    names: tuple[str, ...]
    space: ActionSpace = PUSH


def small(
    step: Step,
    start: Callable[[np.random.Generator], ArrayLike],
    names: Sequence[str],
    rng: np.random.Generator,
    *,
    space: ActionSpace = PUSH,
    observe: Callable[[np.ndarray], ArrayLike] = lambda state: state,
    episodes: int = 6,
    steps: int = 60,
    dtype: type = np.float64,
) -> Small:
    """Episodes under random actions that are held for a few steps each."""
    found = []
    for _ in range(episodes):
        state, seen, done = np.array(start(rng), float), [], []
        seen.append(observe(state))
        action = space.sample(rng)
        for _ in range(steps):
            action = space.sample(rng) if rng.random() < 0.5 else action
            state = np.asarray(step(state, action), float)
            done.append(action)
            seen.append(observe(state))
        found.append(Trajectory(np.array(seen, float).astype(dtype), np.array(done, float).reshape(steps, -1)))
    return Small(tuple(found), tuple(names), space)


def integrated(rate: Rates, kind: str, substeps: int, dt: float, fast: Sequence[int] = ()) -> Step:
    """One step of an integrator in equal sub-steps; semi-implicit moves the fast fields first."""
    h, quick = dt / substeps, list(fast)

    def step(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        for _ in range(substeps):
            if kind == "explicit":
                x = x + h * rate(x, u)
            elif kind == "semi-implicit":
                first = x.copy()
                first[quick] += h * rate(x, u)[quick]
                change = h * rate(first, u)
                change[quick] = 0.0
                x = first + change
            elif kind == "midpoint":
                x = x + h * rate(x + h / 2 * rate(x, u), u)
            else:
                a = rate(x, u)
                b = rate(x + h / 2 * a, u)
                c = rate(x + h / 2 * b, u)
                x = x + h / 6 * (a + 2 * b + 2 * c + rate(x + h * c, u))
        return x

    return step


@dataclass(frozen=True)
class Pendulum:
    """theta'' = -pull sin(theta) - drag theta' + drive u."""

    pull: float
    drag: float
    drive: float

    @staticmethod
    def drawn(rng: np.random.Generator) -> Pendulum:
        return Pendulum(rng.uniform(4.0, 9.0), rng.uniform(0.2, 0.6), rng.uniform(2.0, 4.0))

    def rate(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        return np.array([x[1], -self.pull * np.sin(x[0]) - self.drag * x[1] + self.drive * u[0]])

    def episodes(
        self, rng: np.random.Generator, kind: str = "semi-implicit", substeps: int = 1, dt: float = 0.05, **options
    ) -> Small:
        """Episodes that show the angle as its cosine and sine."""
        return small(
            integrated(self.rate, kind, substeps, dt, fast=[1]),
            lambda rng: (rng.uniform(-2.5, 2.5), rng.uniform(-1.0, 1.0)),
            ("cos_theta", "sin_theta", "speed"),
            rng,
            observe=lambda x: (np.cos(x[0]), np.sin(x[0]), x[1]),
            **options,
        )
