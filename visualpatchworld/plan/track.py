"""Following a world's state through its observations: what they show is taken from them, what they hide is predicted and put right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from visualpatchworld.program.env import Imagined, followed, shown


class Tracker(NamedTuple):
    """`first` reads a state off the first observation; `next` follows it from a state and an action to the next observation."""

    first: Callable[[Any], Float[np.ndarray, " S"]]
    next: Callable[[Any, Any, Any], Float[np.ndarray, " S"]]


def tracker(world: Imagined) -> Tracker:
    """A tracker of this program's states."""
    determined = jax.jit(lambda observation: shown(world, observation))
    follow = jax.jit(lambda state, action, observation: followed(world, state, action, observation))
    read = jax.jit(world.read)

    def cast(values: Any) -> Array:
        return jnp.asarray(values, jnp.float32)

    def first(observation: Any) -> Float[np.ndarray, " S"]:
        return np.asarray(read(cast(observation)))

    def following(state: Any, action: Any, observation: Any) -> Float[np.ndarray, " S"]:
        if bool(determined(cast(observation)).all()):
            return first(observation)
        return np.asarray(follow(cast(state), cast(action), cast(observation)))

    return Tracker(first, following)
