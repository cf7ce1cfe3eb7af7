"""A program's world on vectors, under NumPy or JAX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from visualpatchworld.program.program import Backend, BadProgram, Program

if TYPE_CHECKING:  # a program runs under NumPy where JAX is not loaded
    from jaxtyping import Array


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
    valid: Callable[[Any], Any]  # state -> truth value: whether the program's laws were seen to hold there
    has_reward: bool

    def ahead(self, state: Float[Array, " S"], actions: Float[Array, "H A"]) -> Float[Array, "H O"]:
        """What is observed after each action from this state on; under JAX."""
        import jax

        def advance(state: Array, action: Array) -> tuple[Array, Array]:
            after = self.step(state, action)
            return after, self.observe(after)

        return jax.lax.scan(advance, state, actions)[1]


def imagine(
    program: Program, backend: Backend = "jax", dtype: Any = None, constants: Mapping[str, Any] | None = None
) -> Imagined:
    """The program's functions, with these constants (numbers
    or traced values) in place of its own where they are given.

    A program without a reward earns nothing, and one without an end never ends.
    """
    model = program.bind_world(backend, constants)
    model = model._replace(
        **{
            name: _named(program, part)
            for name, part in model._asdict().items()
            if name != "State" and part is not None
        }
    )
    array: Any = np if backend == "numpy" else import_module("jax.numpy")
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

    def inside(state: Any) -> Any:
        return array.asarray(True if model.valid is None else model.valid(tuple_of(state)), bool)

    return Imagined(
        fields,
        state_of,
        lambda state, action: vector(model.step(tuple_of(state), action)),
        observation_of,
        reward_of,
        over,
        inside,
        model.reward is not None,
    )


def _named(program: Program, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a program whose failures are sentences that name its line."""

    def called(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception as error:
            raise program.refusal(error) from None

    return called
