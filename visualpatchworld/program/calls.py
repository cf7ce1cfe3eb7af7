"""Calling a program on arrays: one row or many, under JAX where an argument is an array of JAX, else under NumPy.

Leading axes are batches and broadcast against each other. Under NumPy rows run one after the other in double precision,
so that a program may branch on values as it likes; under JAX they run at once and are compiled.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from visualpatchworld.errors import BadState
from visualpatchworld.program.imagine import Imagined, imagine

if TYPE_CHECKING:
    from visualpatchworld.program.program import Backend, Program

KEPT = 64  # programs whose functions stay compiled
# Axes: S fields of a state, O columns of an observation, A of an action, H steps.
SIGNATURES: Mapping[str, str] = {
    "read": "(O)->(S)",
    "observe": "(S)->(O)",
    "step": "(S),(A)->(S)",
    "rollout": "(S),(H,A)->(H,S)",
    "simulate": "(O),(H,A)->(H,O)",
    "reward": "(S),(A),(S)->()",
    "terminated": "(S)->()",
    "valid": "(S)->()",
}


def call(program: Program, name: str, *arguments: Any) -> Any:
    """What a function of the program gives for these arrays."""
    jax = sys.modules.get("jax")
    traced = jax is not None and any(isinstance(argument, jax.Array) for argument in arguments)
    backend: Backend = "jax" if traced else "numpy"
    array: Any = import_module("jax.numpy") if traced else np
    rows = [array.asarray(argument, array.result_type(float)) for argument in arguments]
    axes = [part.strip("()").split(",") for part in SIGNATURES[name].partition("->")[0].split("),(")]
    rows = [row[None] if own == ["A"] and not row.ndim else row for row, own in zip(rows, axes, strict=True)]
    for row, own in zip(rows, axes, strict=True):
        _check(program, name, row.shape, own)
    return _functions_of(program, backend)[name](*rows)


@lru_cache(maxsize=KEPT)
def _functions_of(program: Program, backend: Backend) -> dict[str, Callable[..., Any]]:
    """All functions of a program on arrays with any leading axes."""
    if backend == "numpy":
        world = imagine(program, "numpy")
        functions = _functions(world) | {"rollout": _rolled(world), "simulate": _simulated(world)}
        return {name: np.vectorize(functions[name], signature=form) for name, form in SIGNATURES.items()}
    import jax
    import jax.numpy as jnp

    world = imagine(program, "jax", jnp.result_type(float))

    def rollout(state: Any, actions: Any) -> Any:
        def advance(state: Any, action: Any) -> tuple[Any, Any]:
            return (after := world.step(state, action)), after

        return jax.lax.scan(advance, state, actions)[1]

    functions = _functions(world) | {
        "rollout": rollout,
        "simulate": lambda observation, actions: world.ahead(world.read(observation), actions),
    }
    return {name: jax.jit(jnp.vectorize(functions[name], signature=form)) for name, form in SIGNATURES.items()}


def _functions(world: Imagined) -> dict[str, Callable[..., Any]]:
    return {name: getattr(world, name) for name in ("read", "observe", "step", "reward", "terminated", "valid")}


def _rolled(world: Imagined) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    def rollout(state: np.ndarray, actions: np.ndarray) -> np.ndarray:
        states = np.empty((len(actions), len(state)))
        for t, action in enumerate(actions):
            states[t] = state = world.step(state, action)
        return states

    return rollout


def _simulated(world: Imagined) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    rollout = _rolled(world)

    def simulate(observation: np.ndarray, actions: np.ndarray) -> np.ndarray:
        seen = [world.observe(state) for state in rollout(world.read(observation), actions)]
        return np.array(seen).reshape(len(actions), len(observation))

    return simulate


def _check(program: Program, name: str, shape: tuple[int, ...], axes: list[str]) -> None:
    """Refuse an array whose last axes are not those of the argument; leading axes are batches."""
    said = f"`{name}` takes an array (..., {', '.join(axes)}) here, and this one has the shape {shape}"
    if len(shape) < len(axes):
        raise BadState(f"{said}.")
    if axes[-1] == "S" and shape[-1] != len(program.fields):
        raise BadState(f"{said}; a state has the {len(program.fields)} fields {', '.join(program.fields)}.")
    if axes[-1] == "O" and shape[-1] != (width := _num_observed(program)):
        raise BadState(f"{said}; an observation has {width} columns.")
    if axes[-1] == "A" and shape[-1] < (least := _least_actions(program)):
        raise BadState(f"{said}; the program uses action[{least - 1}], so an action has at least {least} column(s).")


@lru_cache(maxsize=KEPT)
def _num_observed(program: Program) -> int:
    with np.errstate(all="ignore"):
        return len(imagine(program, "numpy").observe(np.zeros(len(program.fields))))


@lru_cache(maxsize=KEPT)
def _least_actions(program: Program) -> int:
    """How many columns of the action the program names by their number."""
    places = [
        node.slice.value
        for node in ast.walk(program.module)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == "action"
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, int)
    ]
    return max(places, default=-1) + 1
