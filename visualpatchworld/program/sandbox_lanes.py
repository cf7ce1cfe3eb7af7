"""Many states through a plain Python `step` at once: states that
take the same path through its branches run together as arrays.

The program runs on all lanes. Where it asks whether something is true and the lanes disagree, they are parted and both
parts start again; so the program's meaning stays what Python says, and there are as many runs as paths.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from visualpatchworld.program.sandbox_modules import UNFIT_FOR_LANES, lanes_modules, names

MOST_PATHS = 64  # with more of them, one state at a time is as fast
REDUCTIONS = frozenset(
    names("all any argmax argmin cumsum dot flatten item max mean min prod ravel reshape shape size std sum tolist T")
)

# States (S, N) and actions (A, N) to the states after (S, N), and a mask of the lanes that could not be done together.
LanesStep = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


class Disagreement(BaseException):
    """Lanes differ on a condition; not an Exception, so that no program's own handling meets it."""

    def __init__(self, truth: np.ndarray):
        self.truth = truth


class UnfitForLanes(Exception):
    """A program that has to run one state at a time."""


class Lanes(np.ndarray):
    """An array over lanes that is true or false only where all lanes agree."""

    def __bool__(self) -> bool:
        if self.ndim > 1:
            raise ValueError("the truth value of a vector is ambiguous")
        truth = np.asarray(self, dtype=bool)
        if self.ndim == 1 and truth.any() and not truth.all():
            raise Disagreement(truth)
        return bool(truth.flat[0])

    def __getitem__(self, index: Any) -> Any:
        # A number read from a vector is a number of its own, and does not change when the vector does.
        return np.array(super().__getitem__(index), subok=True)

    def __setitem__(self, index: Any, value: Any) -> None:
        np.asarray(self)[index] = value

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        result = super().__array_function__(function, types, args, kwargs)
        return result.view(Lanes) if type(result) is np.ndarray else result


def _anew(name: str) -> Callable[[Any, Any], Any]:
    operate = getattr(operator, name)
    return lambda self, other: operate(self, other)


# `x += 1` makes a new number, as it does in Python; an array would change wherever else it has a name.
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"):
    setattr(Lanes, f"__i{_name}__", _anew(f"__{_name}__"))


def fit_for_lanes(module: ast.Module) -> bool:
    """Whether every name in a program means the same for an array of lanes as for a number."""
    known = lanes_modules()
    for node in ast.walk(module):
        if isinstance(node, (ast.Try, ast.TryStar)) or (isinstance(node, ast.Name) and node.id in UNFIT_FOR_LANES):
            return False
        if isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr in REDUCTIONS and owner not in ("np", "numpy", "math", "jnp"):
                return False
        if isinstance(node, (ast.Call, ast.Subscript)) and _has_axis(node):
            return False
        if isinstance(node, ast.ImportFrom) and node.module in ("numpy", "jax.numpy", "math"):
            source = known[node.module]
            if any(not hasattr(source, alias.name) for alias in node.names):
                return False
    return True


def _has_axis(node: ast.Call | ast.Subscript) -> bool:
    """An axis or a slice counts from the front for one state, and lanes would be counted with it."""
    if isinstance(node, ast.Call):
        return any(keyword.arg in ("axis", "keepdims", "out", "ord") for keyword in node.keywords)
    return isinstance(node.slice, ast.Tuple)


def together(step: Callable[[Any, Any], Any], state_type: Any) -> LanesStep:
    """The program's step over lanes."""

    def run(states: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        after, undone = np.full_like(states, np.nan), np.zeros(states.shape[1], bool)
        waiting, paths = [np.arange(states.shape[1])], 0
        while waiting:
            chosen = waiting.pop()
            paths += 1
            if paths > MOST_PATHS:
                raise UnfitForLanes("too many paths")
            try:
                # Where Python raises on a single number, so do lanes: that part is then run one state at a time.
                with np.errstate(divide="raise", invalid="raise", over="raise"):
                    state = state_type(*(row.view(Lanes) for row in states[:, chosen]))
                    result = step(state, actions[:, chosen].view(Lanes))
                after[:, chosen] = _checked(result, state_type, len(chosen))
            except Disagreement as parted:
                if parted.truth.shape != chosen.shape:
                    raise UnfitForLanes("a condition over something else than lanes") from None
                waiting += [chosen[parted.truth], chosen[~parted.truth]]
            except Exception:
                undone[chosen] = True
        return after, undone

    return run


def _checked(result: Any, state_type: Any, num_lanes: int) -> np.ndarray:
    if not isinstance(result, state_type):
        raise TypeError("step must return a State")
    rows = [np.asarray(field, dtype=np.float64) for field in result]
    if any(row.shape not in ((), (1,), (num_lanes,)) for row in rows):
        raise ValueError("a field with another shape")
    return np.stack([np.broadcast_to(row, (num_lanes,)) for row in rows])
