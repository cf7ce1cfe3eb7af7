"""A world: named fields, an action space, and what can be done with it: reset and step it, put it into a state, or only
read its log. Spaces of numbers lie flat in it: nested observations are named fields, actions are rows of numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import gymnasium as gym
import numpy as np
from jaxtyping import Float, UInt8

from visualpatchworld.errors import VpwError
from visualpatchworld.world.trajectory import Trajectory

MOST_FIELDS = 512
WIDEST = 1.0  # how far an action goes on a side on which its space has no bound


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
    names: tuple[str, ...] = ()  # any text: programs write `action[0]`

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
    field_names: tuple[str, ...]  # Python names, each once: programs are written with them
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

    @property
    def field_labels(self) -> tuple[str, ...]:
        """The fields as their source calls them, which may be any text."""
        return self.field_names

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


class BadSpace(VpwError):
    """A space whose members are not a few numbers."""


def field_labels(space: gym.Space, name: str = "") -> tuple[str, ...]:
    """A label for every number of an observation: the keys it lies under, and its place where there are several."""
    if _is_finite(space):
        raise BadSpace(
            f"The observation is the number of a case, {space}, and no amount: a table describes such a "
            "world, not a law."
        )
    names = _names(space, name)
    if len(names) > MOST_FIELDS:
        raise BadSpace(
            f"An observation of {len(names)} numbers is more than the {MOST_FIELDS} that can be read as fields."
        )
    return names


def _is_finite(space: gym.Space) -> bool:
    """Whether observations are names of cases and no amounts, as in games on a board."""
    if isinstance(space, gym.spaces.Tuple):
        return all(_is_finite(part) for part in space.spaces)
    return isinstance(space, gym.spaces.Discrete)


def _names(space: gym.Space, name: str) -> tuple[str, ...]:
    if isinstance(space, gym.spaces.Dict):
        return tuple(one for key, part in space.spaces.items() for one in _names(part, _joined(name, str(key))))
    if isinstance(space, gym.spaces.Tuple):
        return tuple(one for i, part in enumerate(space.spaces) for one in _names(part, _joined(name, f"part{i}")))
    if isinstance(space, gym.spaces.Discrete):
        return (name or "x0",)
    if isinstance(space, (gym.spaces.Box, gym.spaces.MultiDiscrete, gym.spaces.MultiBinary)):
        if len(space.shape) >= 2 and np.issubdtype(space.dtype, np.integer) and np.prod(space.shape) > MOST_FIELDS:
            raise BadSpace(
                f"The observation is a picture of shape {space.shape}; fields must be numbers, so bring "
                "states or a log of them."
            )
        return numbered(name, int(np.prod(space.shape)))
    raise BadSpace(f"An observation of the kind {type(space).__name__} can not be read as numbers.")


def numbered(name: str, count: int) -> tuple[str, ...]:
    """Names of the numbers of one array; the array's own name where it holds a single one."""
    if count == 1 and name:
        return (name,)
    stem = f"{name}_" if name else "x"
    return tuple(f"{stem}{i}" for i in range(count))


def _joined(stem: str, name: str) -> str:
    return f"{stem}_{name}" if stem else name


def flatten(space: gym.Space, observation: Any) -> Float[np.ndarray, " O"]:
    """The numbers of an observation in the order of its names."""
    if isinstance(space, gym.spaces.Dict):
        return np.concatenate([flatten(part, observation[key]) for key, part in space.spaces.items()])
    if isinstance(space, gym.spaces.Tuple):
        return np.concatenate([flatten(part, value) for part, value in zip(space.spaces, observation, strict=True)])
    return np.asarray(observation, dtype=np.float64).reshape(-1)


def action_space(space: gym.Space) -> tuple[ActionSpace, Callable[[Float[np.ndarray, " A"]], Any]]:
    """What an action is, and the function from a row of numbers
    to the member of the space that the environment takes.
    """
    if isinstance(space, gym.spaces.Discrete):
        first = int(space.start)
        return ActionSpace(
            "discrete", counts=(int(space.n),), names=("a0",)
        ), lambda row: _choice(row[0], int(space.n)) + first
    if isinstance(space, gym.spaces.MultiBinary):
        return _choices(np.full(int(np.prod(space.shape)), 2), np.zeros(int(np.prod(space.shape)), int), space)
    if isinstance(space, gym.spaces.MultiDiscrete):
        return _choices(space.nvec.reshape(-1), space.start.reshape(-1), space)
    if isinstance(space, gym.spaces.Box) and np.issubdtype(space.dtype, np.integer):
        low, high = space.low.reshape(-1).astype(int), space.high.reshape(-1).astype(int)
        return _choices(high - low + 1, low, space)
    if isinstance(space, gym.spaces.Box):
        low, high = bounded(space.low, space.high)
        shape, dtype = space.shape, space.dtype
        flat = ActionSpace(
            "continuous",
            low=tuple(low.tolist()),
            high=tuple(high.tolist()),
            names=tuple(f"a{i}" for i in range(len(low))),
        )
        return flat, lambda row: np.clip(row, low, high).astype(dtype).reshape(shape)
    raise BadSpace(
        f"An action of the kind {type(space).__name__} is not supported; Box, Discrete, MultiDiscrete "
        "and MultiBinary are."
    )


def bounded(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of an action; a side without one is bounded at a
    width of one, since nobody says what the world can bear.
    """
    low, high = np.asarray(low, float).reshape(-1), np.asarray(high, float).reshape(-1)
    huge = np.finfo(np.float32).max / 2
    no_low, no_high = low < -huge, high > huge
    above = np.where(no_high, np.where(no_low, WIDEST, low + 2 * WIDEST), high)
    return np.where(no_low, np.where(no_high, -WIDEST, high - 2 * WIDEST), low), above


def _choices(
    counts: np.ndarray, starts: np.ndarray, space: gym.Space
) -> tuple[ActionSpace, Callable[[np.ndarray], Any]]:
    flat = ActionSpace(
        "discrete", counts=tuple(int(n) for n in counts), names=tuple(f"a{i}" for i in range(len(counts)))
    )
    return flat, lambda row: (np.clip(np.round(row), 0, counts - 1) + starts).astype(space.dtype).reshape(space.shape)


def _choice(value: float, count: int) -> int:
    return int(np.clip(round(float(value)), 0, count - 1))
