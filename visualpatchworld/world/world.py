"""A world: named fields, an action space, and what can be done with
it: reset and step it, put it into a state, or only read its log.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float, UInt8

from visualpatchworld.errors import VpwError
from visualpatchworld.world.trajectory import Trajectory


class NoPower(VpwError):
    """Something was asked of a world that it cannot do, such as a step of a log."""


@dataclass(frozen=True)
class ActionSpace:
    """What an action is: numbers between bounds, or the number of one of a few choices per column.

    Example: `ActionSpace("continuous", low=(-2.0,), high=(2.0,))`, `ActionSpace("discrete", counts=(3,))`
    """

    kind: Literal["continuous", "discrete"]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()  # choices per column of a discrete action
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Columns of an action."""
        return len(self.counts) or len(self.low)

    def sample(self, rng: np.random.Generator) -> Float[np.ndarray, " A"]:
        """An action drawn evenly."""
        if self.kind == "discrete":
            return rng.integers(0, self.counts).astype(float)
        return rng.uniform(self.low, self.high)


class Outcome(NamedTuple):
    """What a step brought."""

    observation: Float[np.ndarray, " O"]
    reward: float
    terminated: bool  # the world came to an end
    truncated: bool  # a time limit cut the episode off


class World(ABC):
    """Something to learn from. What it cannot do raises `NoPower`; `powers` says beforehand what it can.

    The inducing side sees observations, actions, rewards and ends, and nothing of how they come about. A *snapshot* is
    opaque to it: it can be taken and gone back to. A *place* is a vector of numbers of which nobody says what they
    mean; where the world can be put into places, experiments may be started at chosen ones (near those that were
    visited), and what is then observed is the evidence.
    """

    name: str
    field_names: tuple[str, ...]
    action_space: ActionSpace
    time_limit: int | None = None
    dt: float | None = None  # seconds per step, where it is told
    env_steps: int = 0  # taken so far; whoever steps counts here
    # False where a place looks different when the world was put there than when it came there.
    shows_places_alike: bool = True

    @property
    @abstractmethod
    def powers(self) -> frozenset[Literal["reset", "snapshot", "place", "reward", "render"]]:
        """What this world can do; a log can do nothing but be read."""

    def taken(self, action: Float[np.ndarray, " A"]) -> Float[np.ndarray, " A"]:
        """The action as the world takes it: a float32 space takes less than was given, and that much is no noise."""
        return np.asarray(action, dtype=np.float64)

    def reset(self, seed: int) -> Float[np.ndarray, " O"]:
        """Begin an episode; the first observation."""
        raise NoPower(f"{self.name} cannot be reset.")

    def step(self, action: Float[np.ndarray, " A"]) -> Outcome:
        """Act once."""
        raise NoPower(f"{self.name} cannot be stepped: it is a log.")

    def snapshot(self) -> Any:
        """All that the world needs to go on from here exactly."""
        raise NoPower(f"{self.name} cannot be copied.")

    def restore(self, snapshot: Any) -> Float[np.ndarray, " O"]:
        """Go back to a snapshot; what is observed there."""
        raise NoPower(f"{self.name} cannot be copied.")

    def get_place(self) -> Float[np.ndarray, " P"]:
        """The vector that `set_place` takes, for the present moment."""
        raise NoPower(f"{self.name} cannot be put into a chosen state.")

    def set_place(self, place: Float[np.ndarray, " P"]) -> Float[np.ndarray, " O"]:
        """Put the world there; what is observed."""
        raise NoPower(f"{self.name} cannot be put into a chosen state.")

    def render(self) -> UInt8[np.ndarray, "H W 3"]:
        """The present moment as a picture."""
        raise NoPower("it gives no pictures (a Gymnasium environment does where its render_modes have rgb_array).")

    def logged(self) -> Sequence[Trajectory]:
        """What was recorded before; a world that is no log has recorded nothing."""
        return ()
