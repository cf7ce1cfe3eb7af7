"""Which attributes a sandboxed program may read: those of numbers, arrays, texts and collections that compute, and its own fields.

A name that no object here has is let through: the program then fails where it runs, with Python's own sentence.
"""

from __future__ import annotations

import abc
import types
import typing
from collections.abc import Set
from functools import cache

import numpy as np

from visualpatchworld.program.sandbox_modules import TYPING, names

TUPLE_METHODS = names("_replace _asdict _fields _make")  # a named tuple's own, which begin with an underscore
HARMLESS = frozenset(
    names(
        # arrays and numbers
        "T all any argmax argmin argsort as_integer_ratio astype bit_length clip compress conj conjugate copy cumprod cumsum diagonal dot "
        "dtype fill flat flatten hex imag is_integer item itemsize max mean min nbytes ndim nonzero prod ptp ravel real repeat reshape "
        "round searchsorted shape size sort squeeze std sum swapaxes take tolist trace transpose var "
        # collections and slices
        "add append clear count difference discard extend fromkeys get index insert intersection isdisjoint issubset issuperset items "
        "keys pop popitem remove reverse setdefault start step stop symmetric_difference union update values "
        # texts and errors
        "args capitalize endswith find isalpha isdigit isspace join kind lower lstrip name replace rsplit rstrip split splitlines "
        "startswith strip title upper zfill"
    )
)
# Not even as a field of the program's own: these reach frames, memory, files, or attributes by their names.
NEVER = frozenset(
    names(
        "byteswap ctypes data dump dumps format format_map fromfile getfield mro newbyteorder register resize setfield setflags tobytes "
        "tofile view with_traceback"
    )
)
REFUSED_OF_NUMPY = frozenset(names("ctypeslib lib load loads memmap random save savez testing"))  # its stand-in has none of them
FRAMES = (
    types.FrameType,
    types.TracebackType,
    types.CodeType,
    types.GeneratorType,
    types.CoroutineType,
    types.AsyncGeneratorType,
)
OTHERS = (
    *(np.ndarray, np.float64, np.int64, np.bool_, np.str_, np.void, np.dtype, np.ufunc, np.flatiter, np.nditer, np.broadcast),
    *(types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, types.CellType, types.MappingProxyType),
    *(type, abc.ABCMeta, property, staticmethod, classmethod, super, memoryview, bytearray, bytes, str, int, float, complex),
    *(list, tuple, dict, set, frozenset, range, slice, enumerate, map, filter, zip, reversed),
    *(AttributeError, NameError, ImportError, OSError, StopIteration, SyntaxError, SystemExit, UnicodeError, KeyError, BaseExceptionGroup),
    *(getattr(typing, name) for name in TYPING),
    typing.Callable[..., int],
)


def may_read(attribute: str, own: Set[str]) -> bool:
    """Whether a program whose classes have the members `own` may read this attribute."""
    if attribute.startswith("_"):
        return attribute in TUPLE_METHODS
    if attribute in NEVER or attribute in frame_insides():
        return False
    return attribute in HARMLESS or attribute in own or attribute not in insides()


@cache
def frame_insides() -> frozenset[str]:
    """What frames, tracebacks, code and generators are made of."""
    return frozenset(name for kind in FRAMES for name in dir(kind) if "_" in name[1:])


@cache
def insides() -> frozenset[str]:
    """Everything that an object in a program's reach has for an attribute."""
    return REFUSED_OF_NUMPY.union(name for kind in (*FRAMES, *OTHERS) for name in dir(kind))
