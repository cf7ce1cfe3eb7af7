"""Following a state through observations: what they show is taken from them, what they hide is predicted and put right."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from visualpatchworld.program.env import Imagined

LEAST_INFLUENCE = 1e-4  # a hidden field that moves an observation less than this per unit is not put right by it


def shown(world: Imagined, observation: Float[Array, " O"]) -> Bool[Array, " S"]:
    """Which fields of a state the observation determines; a slope that is not a number is one all the same."""
    return (jax.jacfwd(world.read)(observation) != 0).any(axis=1)


def followed(world: Imagined, state: Float[Array, " S"], action: Float[Array, " A"], observation: Float[Array, " O"]) -> Float[Array, " S"]:
    """The state after an action that led to this observation, for JAX to trace.

    Fields that no observation shows (a velocity, say) are chosen so that the last step leads to what is seen now, as far as they have a
    say in it, and then moved by the program.
    """
    seen, visible = world.read(observation), shown(world, observation)

    def predicted(start: Float[Array, " S"]) -> Float[Array, " O"]:
        return world.observe(world.step(start, action))

    slope = jnp.where(visible, 0.0, jax.jacfwd(predicted)(state))
    slope = jnp.where(jnp.abs(slope) > LEAST_INFLUENCE, slope, 0.0)
    missing = observation - predicted(state)
    moved = state + jnp.where(visible, 0.0, jnp.linalg.pinv(slope, rtol=1e-3) @ missing)
    moved = jnp.where(jnp.isfinite(moved), moved, state)
    return jnp.where(visible, seen, world.step(moved, action))
