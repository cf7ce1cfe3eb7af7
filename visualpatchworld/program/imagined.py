"""A program as pure functions over plain vectors: from an observation to a state, a step, what is seen, earned and over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from visualpatchworld.program.program import Backend, BadProgram, Program


@dataclass(frozen=True)
class Imagined:
    """A program's world on vectors. Under JAX every function can be traced, and under numpy called as it is.

    A state (S) has all fields of the program's `State`, those that nobody observes at the end or wherever they stand.
    """

    field_names: tuple[str, ...]  # of a state
    read: Callable[[Any], Any]  # observation (O) -> state (S)
    step: Callable[[Any, Any], Any]  # state (S), action (A) -> state (S)
    observe: Callable[[Any], Any]  # state (S) -> observation (O)
    reward: Callable[[Any, Any, Any], Any]  # state, action, next state -> number
    terminated: Callable[[Any], Any]  # next state -> truth value
    has_reward: bool
    has_end: bool


def imagine(program: Program, backend: Backend = "jax", dtype: Any = None) -> Imagined:
    """The program's functions; a program without a reward earns nothing, and one without an end never ends."""
    model = program.bind_world(backend)
    array: Any = jnp if backend == "jax" else np
    dtype = dtype or (np.float32 if backend == "jax" else np.float64)
    fields: tuple[str, ...] = tuple(getattr(model.State, "_fields", ()))
    if not fields:
        raise BadProgram(f"{program.where()}: the program defines no State.")
    observed = [name for name in fields if name not in model.State._field_defaults]

    def vector(values: Any) -> Any:
        return array.stack([array.asarray(value, dtype) for value in values])

    def state_of(observation: Any) -> Any:
        state = model.State(*observation) if model.read is None else model.read(observation)
        return vector(state)

    def tuple_of(state: Any) -> Any:
        return model.State(*(state[i] for i in range(len(fields))))

    def observation_of(state: Any) -> Any:
        state = tuple_of(state)
        return vector([getattr(state, name) for name in observed] if model.observe is None else model.observe(state))

    def reward_of(state: Any, action: Any, after: Any) -> Any:
        value = 0.0 if model.reward is None else model.reward(tuple_of(state), action, tuple_of(after))
        return array.asarray(value, dtype)

    def over(after: Any) -> Any:
        return array.asarray(False if model.terminated is None else model.terminated(tuple_of(after)), bool)

    return Imagined(
        fields,
        state_of,
        lambda state, action: vector(model.step(tuple_of(state), action)),
        observation_of,
        reward_of,
        over,
        model.reward is not None,
        model.terminated is not None,
    )
