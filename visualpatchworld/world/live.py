"""Worlds that run, domains among them: episodes, time limits and counted
steps, powers that are used only where they were seen to hold.
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import suppress
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float, UInt8

from visualpatchworld.errors import BadState
from visualpatchworld.simulator import Simulator
from visualpatchworld.world.world import ActionSpace, NoPower, Outcome, World

Power = Literal["reset", "snapshot", "place", "reward", "render"]

LEAD_STEPS = 2  # taken before a power is tried, so that the world is not where a reset puts it
CHECK_STEPS = 3  # that must repeat
TOLERANCE = 1e-6  # of a repeated step: engines that iterate begin their iteration elsewhere after being placed


class Saved(NamedTuple):
    """A snapshot: what the mechanism needs, and what this side of it remembers."""

    inside: Any
    observation: Float[np.ndarray, " O"]
    elapsed: int
    over: bool


class LiveWorld(World):
    """A world with a mechanism behind it. Subclasses say how it is reset, stepped, saved and placed.

    What is said is tried before it counts: a power holds if steps repeat after it was used. The check runs once, when
    somebody first asks, and its steps are counted.
    """

    def __init__(self) -> None:
        self.env_steps = 0
        self._elapsed = 0
        self._over = True
        self._observation = np.zeros(0)
        self._held: frozenset[Power] | None = None
        # Seed and actions of the episode, until powers are known.
        self._begun: tuple[int, list[np.ndarray]] | None = None

    # What a kind of world has to say.

    @abstractmethod
    def _reset(self, seed: int) -> Float[np.ndarray, " O"]: ...

    @abstractmethod
    def _step(self, action: Float[np.ndarray, " A"]) -> tuple[Float[np.ndarray, " O"], float, bool, bool]:
        """Observation, reward, terminated, truncated by the mechanism's own time limit."""

    @abstractmethod
    def _save(self) -> Any: ...

    @abstractmethod
    def _load(self, inside: Any) -> None: ...

    @abstractmethod
    def _get_place(self) -> Float[np.ndarray, " P"]: ...

    @abstractmethod
    def _set_place(self, place: Float[np.ndarray, " P"]) -> Float[np.ndarray, " O"]: ...

    @abstractmethod
    def _get_randomness(self) -> Any:
        """The state of the mechanism's random numbers, so that a check can tell chance from memory."""

    @abstractmethod
    def _set_randomness(self, randomness: Any) -> None: ...

    _place_ways = 1
    _shows_late = (
        False  # whether an engine may show a place that it came to a moment late, and one it was put to at once
    )

    def _choose_place(self, way: int) -> bool:
        """Take up one of the ways in which a place might be set,
        the likeliest first; False where there is no such way.
        """
        return way == 0

    def _told_powers(self) -> frozenset[Power]:
        """Powers that need no check."""
        return frozenset({"reset", "reward"})

    # What follows from it.

    @property
    def powers(self) -> frozenset[Power]:
        if self._held is None:
            begun = self._begun
            held: set[Power] = set(self._told_powers())
            if self._holds(by_place=False):
                held.add("snapshot")
            if any(self._can_choose(way) and self._holds(by_place=True) for way in range(self._place_ways)):
                held.add("place")
            self._held, self._over = frozenset(held), True
            # Whoever asks in the middle of an episode finds it as it was.
            if begun is not None:
                seed, actions = begun
                self.reset(seed)
                for action in actions:
                    self.step(action)
        return self._held

    def reset(self, seed: int) -> Float[np.ndarray, " O"]:
        self._elapsed, self._over = 0, False
        self._begun = (seed, []) if self._held is None else None
        self._observation = self._checked(self._reset(seed))
        return self._observation.copy()

    def step(self, action: Float[np.ndarray, " A"]) -> Outcome:
        if self._over:
            raise NoPower(f"The episode of {self.name} is over, or none has begun: reset it first.")
        observation, reward, terminated, truncated = self._step(np.asarray(action, dtype=np.float64))
        self.env_steps += 1
        if self._begun is not None:
            self._begun[1].append(np.array(action, dtype=np.float64))
        self._elapsed += 1
        truncated = not terminated and (truncated or (self.time_limit is not None and self._elapsed >= self.time_limit))
        self._observation, self._over = self._checked(observation), terminated or truncated
        return Outcome(self._observation.copy(), reward, terminated, truncated)

    def snapshot(self) -> Saved:
        if "snapshot" not in self.powers:
            return super().snapshot()
        return self._saved()

    def restore(self, snapshot: Saved) -> Float[np.ndarray, " O"]:
        if "snapshot" not in self.powers:
            return super().restore(snapshot)
        return self._restored(snapshot)

    def get_place(self) -> Float[np.ndarray, " P"]:
        if "place" not in self.powers:
            return super().get_place()
        return self._get_place()

    def set_place(self, place: Float[np.ndarray, " P"]) -> Float[np.ndarray, " O"]:
        if "place" not in self.powers:
            return super().set_place(place)
        return self._placed(place)

    def _saved(self) -> Saved:
        return Saved(self._save(), self._observation.copy(), self._elapsed, self._over)

    def _restored(self, snapshot: Saved) -> Float[np.ndarray, " O"]:
        self._load(snapshot.inside)
        self._observation, self._elapsed, self._over = snapshot.observation.copy(), snapshot.elapsed, snapshot.over
        return snapshot.observation.copy()

    def _placed(self, place: Float[np.ndarray, " P"]) -> Float[np.ndarray, " O"]:
        place = np.asarray(place, dtype=np.float64)
        if not np.isfinite(place).all():
            raise BadState(f"A place of {self.name} must be finite numbers, not {place.tolist()}.")
        self._elapsed, self._over = 0, False
        self._observation = self._checked(self._set_place(place))
        return self._observation.copy()

    def _checked(self, observation: Float[np.ndarray, " O"]) -> Float[np.ndarray, " O"]:
        if observation.shape != (len(self.field_names),):
            raise BadState(
                f"{self.name} showed {observation.size} numbers where its space has {len(self.field_names)}."
            )
        if not np.isfinite(observation).all():
            raise BadState(f"{self.name} showed a value that is not finite: {observation.tolist()}.")
        return observation

    def _holds(self, *, by_place: bool) -> bool:
        """Whether steps repeat after the world was put back, with the same random numbers.

        A snapshot must bring back another episode. A place may leave as it is what an episode keeps, such as its goal;
        it must show what was observed there, at several moments, and have the same numbers at each.
        """
        rng = np.random.default_rng(0)
        actions = [self.action_space.sample(rng) for _ in range(LEAD_STEPS + CHECK_STEPS)]
        sizes: set[tuple[int, ...]] = set()
        self.shows_places_alike = True
        # Whatever goes wrong inside someone else's mechanism only means that it has no such power.
        with suppress(Exception):
            for seed, lead, moments in ((1, 0, 1), (2, LEAD_STEPS, 2)) if by_place else ((1, LEAD_STEPS, 2),):
                self.reset(seed)
                for action in actions[:lead]:
                    self.step(action)
                    if self._over:  # too short an episode to look into its middle
                        self.reset(seed)
                        lead = 0
                        break
                for _ in range(moments):
                    if self._over:
                        break
                    first, randomness = self._observation.copy(), self._get_randomness()
                    mark: Any = self._get_place() if by_place else self._saved()
                    sizes.add(np.shape(mark) if by_place else ())
                    wanted = self._run(actions[LEAD_STEPS:])
                    if not by_place:
                        self.reset(seed + 2)
                    again = self._placed(mark) if by_place else self._restored(mark)
                    if by_place:
                        self._set_randomness(randomness)
                    # Where an engine resets to, both agree.
                    alike = _same(first, again)
                    if by_place and lead and self._shows_late:
                        self.shows_places_alike &= alike
                    elif not alike:
                        return False
                    if not all(_same(*pair) for pair in zip(wanted, self._run(actions[LEAD_STEPS:]), strict=True)):
                        return False
            return len(sizes) == 1
        return False

    def _can_choose(self, way: int) -> bool:
        with suppress(Exception):
            return self._choose_place(way)
        return False

    def _run(self, actions: list[np.ndarray]) -> list[np.ndarray]:
        seen = []
        for action in actions:
            if not self._over:
                outcome = self.step(action)
                seen.append(np.array([*outcome.observation, outcome.reward, outcome.terminated]))
        return seen


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE))


class DomainWorld(LiveWorld):
    """A simulator without its goal: there is nothing to earn, and nothing ends."""

    def __init__(self, simulator: Simulator, name: str, time_limit: int | None = None):
        super().__init__()
        self.simulator = simulator
        self.name = name
        self.time_limit = time_limit
        self.field_names = simulator.state_space.names
        size = simulator.action_dim
        self.action_space = ActionSpace(
            "continuous", (-1.0,) * size, (1.0,) * size, names=tuple(f"a{i}" for i in range(size))
        )

    def render(self) -> UInt8[np.ndarray, "H W 3"]:
        return self.simulator.draw()

    @property
    def powers(self) -> frozenset[Power]:
        return frozenset({"reset", "snapshot", "place", "render"})

    def _reset(self, seed: int) -> Float[np.ndarray, " O"]:
        return self.simulator.reset(seed=int(seed))[0]

    def _step(self, action: Float[np.ndarray, " A"]) -> tuple[Float[np.ndarray, " O"], float, bool, bool]:
        self.simulator.advance(np.clip(action, -self.simulator.action_limit, self.simulator.action_limit))
        return self.simulator.get_state(), 0.0, False, False

    def _save(self) -> Float[np.ndarray, " E"]:
        return np.array(self.simulator.get_engine_state())

    def _load(self, inside: Float[np.ndarray, " E"]) -> None:
        self.simulator.set_engine_state(inside)

    def _get_place(self) -> Float[np.ndarray, " S"]:
        return self.simulator.get_state()

    def _set_place(self, place: Float[np.ndarray, " S"]) -> Float[np.ndarray, " S"]:
        self.simulator.set_state(self.simulator.state_space.checked(place))
        return self.simulator.get_state()

    def _get_randomness(self) -> None:
        return None

    def _set_randomness(self, randomness: None) -> None:
        return None
