"""What a sandboxed program runs on: small stand-ins for numpy, math and typing, for one state or for many at once.

The plain form works on one state. The lanes form works on many at once: every number is then an array whose last axis
are the lanes. Nothing here leads to the module that it stands in for, and nothing makes an array or a class out of
memory or text.

Under a plain Python `step`, states that take the same path through its branches run together as lanes. Where the
program asks whether something is true and the lanes disagree, they are parted and both parts start again; so the
program's meaning stays what Python says, and there are as many runs as paths.
"""

from __future__ import annotations

import ast
import builtins
import math
import operator
import sys
import typing
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np


def names(text: str) -> tuple[str, ...]:
    """The words of a text."""
    return tuple(text.split())


ELEMENTWISE = names(
    "abs absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh cbrt ceil clip "
    "copysign cos cosh deg2rad degrees divide equal "
    "exp exp2 expm1 fabs float_power floor floor_divide fmax fmin fmod greater greater_equal "
    "heaviside hypot isfinite isinf isnan less "
    "less_equal log log10 log1p log2 logical_and logical_not logical_or logical_xor maximum "
    "minimum mod multiply negative not_equal power "
    "rad2deg radians reciprocal remainder rint round sign sin sinh sqrt square subtract tan tanh "
    "true_divide trunc where"
)
VALUES = names("bool_ e float32 float64 inf int32 int64 nan newaxis pi")
# Of whole arrays: right for one state, but not for lanes.
WHOLE = names(
    "all allclose any append arange argmax argmin argsort around array array_equal asarray "
    "atleast_1d atleast_2d average column_stack "
    "concatenate cross cumsum diag diff dot einsum empty eye full hstack identity inner interp "
    "isclose linspace matmul max mean "
    "median min nan_to_num ones ones_like outer prod ravel reshape roll sort split stack sum "
    "tensordot trace transpose unwrap "
    "vstack zeros zeros_like"
)
LINEAR_ALGEBRA = names("cross det dot inv lstsq matmul norm pinv solve")
TYPING = names("Any Callable Dict Iterable List Literal NamedTuple Optional Sequence Tuple Union")
BUILTINS = names(
    "ArithmeticError AssertionError AttributeError Exception False FloatingPointError IndexError "
    "KeyError LookupError None "
    "NotImplementedError OverflowError RuntimeError True TypeError ValueError ZeroDivisionError "
    "abs all any bool dict divmod "
    "enumerate filter float frozenset int isinstance len list map max min object pow property "
    "range reversed round set slice sorted "
    "staticmethod str sum tuple zip __build_class__"
)
# What `type` tells of: numbers, texts and collections; of anything else only the program's own classes.
TOLD_TYPES = (
    bool,
    int,
    float,
    complex,
    str,
    list,
    tuple,
    dict,
    set,
    frozenset,
    range,
    type(None),
    np.float64,
    np.int64,
    np.bool_,
)
OWN_MODULE = "world_model"  # as the program is called while it runs
# Python's own functions that mean something else for an array of lanes: a program that uses them runs one state at a
# time.
UNFIT_FOR_LANES = frozenset(names("all any dict divmod filter frozenset isinstance pow set sorted str type"))
MOST_PATHS = 64  # with more of them, one state at a time is as fast
REDUCTIONS = frozenset(
    names("all any argmax argmin cumsum dot flatten item max mean min prod ravel reshape shape size std sum tolist T")
)

# States (S, N) and actions (A, N) to the states after (S, N), and a mask of the lanes that could not be done together.
LanesStep = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def plain_builtins() -> dict[str, Any]:
    """The builtins of a program that runs on one state."""
    return _builtins({}, plain_modules())


def lanes_builtins() -> dict[str, Any]:
    """The builtins of a program that runs on many states at once."""
    lanes = {
        "float": _for_numbers(float, lambda x: x),
        "int": _for_numbers(int, np.trunc),
        "round": _for_numbers(round, np.round),
    }
    return _builtins(lanes, lanes_modules())


def plain_modules() -> dict[str, ModuleType]:
    """The modules of a program that runs on one state."""
    numbers = _module(
        "numpy", {name: getattr(np, name) for name in (*ELEMENTWISE, *VALUES, *WHOLE)} | {"ndarray": ndarray}
    )
    vars(numbers)["linalg"] = _module(
        "numpy.linalg", {name: getattr(np.linalg, name, getattr(np, name, None)) for name in LINEAR_ALGEBRA}
    )
    mathematics = {name: value for name, value in vars(math).items() if not name.startswith("_")}
    return _modules(numbers, _module("math", mathematics))


def lanes_modules() -> dict[str, ModuleType]:
    """The modules of a program that runs on many states at once: what has no meaning for lanes is missing."""
    numbers = _module("numpy", {name: getattr(np, name) for name in (*ELEMENTWISE, *VALUES)} | {"ndarray": ndarray})
    stacked = {"array": _stacked, "asarray": _stacked, "stack": _stacked, "dot": _dot, "sum": lambda parts: sum(parts)}
    vars(numbers).update(stacked)
    vars(numbers)["linalg"] = _module("numpy.linalg", {"norm": _norm})
    renamed = {"atan2": "arctan2", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "pow": "float_power"}
    same = [name for name in ELEMENTWISE if hasattr(math, name)]
    mathematics = {name: getattr(np, name) for name in same} | {
        name: getattr(np, other) for name, other in renamed.items()
    }
    mathematics |= {name: getattr(math, name) for name in ("pi", "e", "tau", "inf", "nan")}
    mathematics["hypot"] = lambda *parts: _norm(parts)
    return _modules(numbers, _module("math", mathematics))


@cache
def importable() -> dict[str, frozenset[str]]:
    """The modules that a program may import, and the names that it may import from each."""
    found = {name: frozenset(vars(module)) for name, module in plain_modules().items()}
    return {name: frozenset(word for word in words if not word.startswith("_")) for name, words in found.items()}


class _Arrays(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, np.ndarray)


class ndarray(metaclass=_Arrays):  # noqa: N801 - programs write np.ndarray
    """The class of arrays as a program may name it, to ask for it; numpy's own would make an array of any memory."""

    def __new__(cls, *_: object, **__: object) -> ndarray:
        raise TypeError("a program makes arrays with np.array, not with np.ndarray")

    def __init_subclass__(cls) -> None:
        raise TypeError("a program may not derive from np.ndarray")

    def __class_getitem__(cls, _: object) -> type:
        return cls


def type_of(*values: Any) -> type:
    """`type` for programs: the class of a value, as far as a program may know it; it makes no class."""
    if len(values) != 1:
        raise TypeError("type takes one argument in a program")
    kind = type(values[0])
    if kind in TOLD_TYPES or kind.__module__ == OWN_MODULE:
        return kind
    if issubclass(kind, np.ndarray):
        return ndarray
    raise TypeError(f"type of '{kind.__name__}' is not told to a program")


def _modules(numbers: ModuleType, mathematics: ModuleType) -> dict[str, ModuleType]:
    typings = _module("typing", {name: getattr(typing, name) for name in TYPING})
    future = _module("__future__", {"annotations": None})
    return {"numpy": numbers, "jax.numpy": numbers, "math": mathematics, "typing": typings, "__future__": future}


def _module(name: str, members: dict[str, Any]) -> ModuleType:
    """A module with these members, called as no real one is: where a
    name is missing, Python would look the real one's parts through.
    """

    def absent(wanted: str) -> Any:
        raise AttributeError(f"module '{name}' has no attribute '{wanted}'")

    module = ModuleType(f"stand-in for {name}")
    vars(module).update(members, __getattr__=absent)
    return module


def _builtins(replaced: dict[str, Any], modules: dict[str, ModuleType]) -> dict[str, Any]:
    found = {name: getattr(builtins, name) for name in BUILTINS} | replaced
    return {**found, "type": type_of, "print": lambda *_, **__: None, "__import__": _importer(modules)}


def _importer(modules: dict[str, ModuleType]) -> Callable[..., ModuleType]:
    def bring(name: str, *_: Any) -> ModuleType:
        # numpy's compiled part asks this way for its own; a program can not, since the screen has read its imports.
        if name.startswith("numpy._core.") and name in sys.modules:
            return sys.modules[name]
        if name not in modules:
            raise ImportError(f"a program may import {', '.join(modules)}, not '{name}'")
        return modules[name]

    return bring


def _for_numbers(of_number: Callable[..., Any], of_lanes: Callable[..., Any]) -> Callable[..., Any]:
    return lambda value=0.0, *more: of_lanes(value, *more) if isinstance(value, np.ndarray) else of_number(value, *more)


def _stacked(parts: Any, dtype: Any = None) -> Any:
    """Parts one above another, the lanes last; plain numbers are the same in every lane."""
    if not isinstance(parts, (list, tuple)):
        return parts
    return np.stack(np.broadcast_arrays(*(np.atleast_1d(_stacked(part)) for part in parts), subok=True))


def _norm(parts: Any) -> Any:
    return np.sqrt(sum(part * part for part in parts))


def _dot(left: Any, right: Any) -> Any:
    return sum(a * b for a, b in zip(left, right, strict=True))


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


def together(step: Callable[[Any, Any], Any], state_type: Any, result_type: Any) -> LanesStep:
    """The program's step over lanes, from rows of states to rows of results."""

    def run(states: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        after = np.full((len(result_type._fields), states.shape[1]), np.nan)
        undone = np.zeros(states.shape[1], bool)
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
                after[:, chosen] = _checked(result, result_type, len(chosen))
            except Disagreement as parted:
                if parted.truth.shape != chosen.shape:
                    raise UnfitForLanes("a condition over something else than lanes") from None
                waiting += [chosen[parted.truth], chosen[~parted.truth]]
            except Exception:
                undone[chosen] = True
        return after, undone

    return run


def _checked(result: Any, result_type: Any, num_lanes: int) -> np.ndarray:
    if not isinstance(result, result_type):
        raise TypeError("step must return a State")
    rows = [np.asarray(field, dtype=np.float64) for field in result]
    if any(row.shape not in ((), (1,), (num_lanes,)) for row in rows):
        raise ValueError("a field with another shape")
    return np.stack([np.broadcast_to(row, (num_lanes,)) for row in rows])
