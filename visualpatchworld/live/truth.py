"""The truth that a program is held against: a world that runs and can be taken back, or a log that can only be read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from visualpatchworld.errors import BadState
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import NoPower, World

# The next action of whoever acts when nobody plans; None when the episode is over.
Act = Callable[[], np.ndarray | None]
HOLD_STEPS = 5  # of a random action, so that something comes of it
NUDGE = 0.1  # of the spread of each number of a place
STRANGE_STEPS = 10  # at random, where a world cannot be put elsewhere


class Truth(ABC):
    """An episode as far as it has been seen, which can be gone on with and, where the world runs,
    taken back and gone on otherwise.
    """

    runs: bool  # it can be acted in, so that plans have a true outcome
    num_episodes: int | None  # of a log; a world that runs has as many as there are seeds

    def __init__(self, world: World):
        self.name, self.field_names = world.name, world.field_names
        self.action_space, self.dt = world.action_space, world.dt

    @abstractmethod
    def begin(self, number: int) -> None:
        """Begin the episode of that number anew."""

    @property
    @abstractmethod
    def seen(self) -> Trajectory:
        """The episode so far."""

    @abstractmethod
    def reach(self, steps: int) -> None:
        """Go on until so many steps have been seen, or until the episode ends."""

    @abstractmethod
    def act(self, step: int, actions: Float[np.ndarray, "H A"]) -> None:
        """Go back to a step and on with these actions, as far as the episode lasts."""

    @abstractmethod
    def perturb(self, step: int, rng: np.random.Generator) -> int:
        """Put the world elsewhere than it was at this step; the step that it now stands at."""


@dataclass(frozen=True)
class _Moment:
    """Where a running world stood after some steps."""

    observation: Float[np.ndarray, " O"]
    snapshot: Any  # None where the world cannot be copied


class RunningTruth(Truth):
    """A world that runs. Where it cannot be copied, going back is beginning anew and acting as before."""

    runs, num_episodes = True, None

    def __init__(self, world: World, policy: Callable[[np.random.Generator], Act] | None = None, seed: int = 0):
        if "reset" not in world.powers:
            raise NoPower(f"{world.name} cannot be reset.")
        super().__init__(world)
        self._world, self._policy, self._seed = world, policy or self._at_random, seed
        self._copies = "snapshot" in world.powers
        self.begin(0)

    def begin(self, number: int) -> None:
        self._number, self._over = number, False
        self._rng = np.random.default_rng((self._seed, number))
        self._moments = [self._moment(self._world.reset(self._seed + number))]
        self._actions: list[np.ndarray] = []
        self._act = self._policy(self._rng)

    @property
    def seen(self) -> Trajectory:
        width = len(self.action_space)
        return Trajectory(
            np.array([moment.observation for moment in self._moments]), np.array(self._actions).reshape(-1, width)
        )

    def reach(self, steps: int) -> None:
        while len(self._actions) < steps and not self._over:
            action = self._act()
            if action is None:
                self._over = True
            else:
                self._step(np.asarray(action, dtype=np.float64))

    def act(self, step: int, actions: Float[np.ndarray, "H A"]) -> None:
        self._back_to(step)
        for action in actions:
            if not self._over:
                self._step(np.asarray(action, dtype=np.float64))
        self._act = self._policy(self._rng)

    def perturb(self, step: int, rng: np.random.Generator) -> int:
        self._back_to(step)
        if self._copies and "place" in self._world.powers:
            place = self._world.get_place()
            spread = np.std([place, *self._places(step, rng)], axis=0)
            for share in (NUDGE, NUDGE / 10):
                with suppress(BadState, NoPower):
                    self._moments[step] = self._moment(
                        self._world.set_place(place + share * spread * rng.standard_normal(len(place)))
                    )
                    break
        else:
            for _ in range(STRANGE_STEPS):
                if not self._over:
                    self._step(self.action_space.sample(rng))
        self._act = self._policy(self._rng)
        return len(self._actions)

    def _places(self, step: int, rng: np.random.Generator) -> list[np.ndarray]:
        """Places that the episode came through and that others begin at, to see how
        far each of their numbers spreads.
        """
        here = self._moments[step].snapshot
        places = []
        for moment in self._moments[:step:5]:
            self._world.restore(moment.snapshot)
            places.append(self._world.get_place())
        for seed in rng.integers(2**31, size=4):
            self._world.reset(int(seed))
            places.append(self._world.get_place())
        self._world.restore(here)
        return places

    def _step(self, action: Float[np.ndarray, " A"]) -> None:
        outcome = self._world.step(action)
        self._actions.append(action)
        self._moments.append(self._moment(outcome.observation))
        self._over = outcome.terminated or outcome.truncated

    def _back_to(self, step: int) -> None:
        if step == len(self._actions) and not self._over:
            return
        kept = self._actions[:step]
        if self._copies:
            self._world.restore(self._moments[step].snapshot)
            self._moments, self._actions, self._over = self._moments[: step + 1], kept, False
            return
        self.begin(self._number)
        for action in kept:
            self._step(action)

    def _moment(self, observation: Float[np.ndarray, " O"]) -> _Moment:
        return _Moment(observation, self._world.snapshot() if self._copies else None)

    def _at_random(self, rng: np.random.Generator) -> Act:
        held, left = np.zeros(len(self.action_space)), 0

        def act() -> np.ndarray:
            nonlocal held, left
            if left == 0:
                held, left = self.action_space.sample(rng), int(rng.integers(1, 2 * HOLD_STEPS))
            left -= 1
            return held

        return act


class LoggedTruth(Truth):
    """The episodes of a log, those that it holds out last."""

    runs = False

    def __init__(self, world: World, episodes: list[Trajectory]):
        super().__init__(world)
        self._episodes = episodes
        self.num_episodes = len(episodes)
        self.begin(0)

    def begin(self, number: int) -> None:
        self._episode = self._episodes[number % len(self._episodes)]

    @property
    def seen(self) -> Trajectory:
        return self._episode

    def reach(self, steps: int) -> None:
        """A log has been seen to its end."""

    def act(self, step: int, actions: Float[np.ndarray, "H A"]) -> None:
        raise NoPower(f"{self.name} is a log: nobody can act in it.")

    def perturb(self, step: int, rng: np.random.Generator) -> int:
        """Nothing can be moved in a log; another of its steps is gone to."""
        return int(rng.integers(0, max(1, len(self._episode))))
