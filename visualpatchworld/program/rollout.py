"""Rolling a program forward under action sequences, compiled by JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from visualpatchworld.program.program import Dynamics


def rollout(dynamics: Dynamics, state: Float[Array, " S"], actions: Float[Array, "H A"]) -> Float[Array, "H S"]:
    """The observed state after each action."""
    seen = jnp.zeros((len(actions), len(state)), state.dtype)
    return guided_rollout(dynamics, state, actions, seen, jnp.zeros(len(actions), bool))


def guided_rollout(
    dynamics: Dynamics, state: Float[Array, " S"], actions: Float[Array, "H A"], seen: Float[Array, "H S"], look: Bool[Array, " H"]
) -> Float[Array, "H S"]:
    """The state predicted after each action; where `look` is set, the rollout goes on from the state seen then, not the predicted one.

    Looking every h steps turns one long rollout into many of horizon h. A state tuple may have fields that nobody observes (a speed,
    say): they begin at rest and are never looked up, so they settle to what the program makes of the states seen.
    """
    num_seen, dtype = len(state), state.dtype

    def cast(fields: Any) -> Any:
        return dynamics.State(*(jnp.asarray(field, dtype) for field in fields))

    def advance(state: Any, inputs: Any) -> tuple[Any, Float[Array, " S"]]:
        action, seen, look = inputs
        after = cast(dynamics.step(state, action))
        predicted = jnp.stack(after[:num_seen])
        return cast((*jnp.where(look, seen, predicted), *after[num_seen:])), predicted

    return jax.lax.scan(advance, cast(dynamics.State(*state)), (actions, seen, look))[1]
