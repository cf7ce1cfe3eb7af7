"""Spaces of numbers laid flat: nested observations become named
fields, and actions of any common kind become rows of numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from jaxtyping import Float

from visualpatchworld.errors import VpwError
from visualpatchworld.world.world import ActionSpace

MOST_FIELDS = 512
WIDEST = 1.0  # how far an action goes on a side on which its space has no bound


class BadSpace(VpwError):
    """A space whose members are not a few numbers."""


def field_names(space: gym.Space, name: str = "") -> tuple[str, ...]:
    """A name for every number of an observation: the keys it lies under, and its place where there are several."""
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
        return (identifier(name),)
    stem = f"{identifier(name)}_" if name else "x"
    return tuple(f"{stem}{i}" for i in range(count))


def identifier(name: str) -> str:
    """A name as Python can have it."""
    plain = re.sub(r"\W+", "_", name).strip("_") or "field"
    return f"f_{plain}" if plain[0].isdigit() else plain


def _joined(stem: str, name: str) -> str:
    return f"{stem}_{identifier(name)}" if stem else identifier(name)


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
