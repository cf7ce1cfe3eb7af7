"""What a program may say before it runs: its imports, names and attributes."""

from __future__ import annotations

import abc
import ast
import types
import typing
from collections.abc import Iterator, Set
from functools import cache

import numpy as np

from visualpatchworld.program.program import BadProgram, Program
from visualpatchworld.program.sandbox_modules import TYPING, importable, names

TUPLE_METHODS = names("_replace _asdict _fields _make")  # a named tuple's own, which begin with an underscore
HARMLESS = frozenset(
    names(
        # arrays and numbers
        "T all any argmax argmin argsort as_integer_ratio astype bit_length clip compress conj "
        "conjugate copy cumprod cumsum diagonal dot "
        "dtype fill flat flatten hex imag is_integer item itemsize max mean min nbytes ndim nonzero "
        "prod ptp ravel real repeat reshape "
        "round searchsorted shape size sort squeeze std sum swapaxes take tolist trace transpose var "
        # collections and slices
        "add append clear count difference discard extend fromkeys get index insert intersection "
        "isdisjoint issubset issuperset items "
        "keys pop popitem remove reverse setdefault start step stop symmetric_difference union update values "
        # texts and errors
        "args capitalize endswith find isalpha isdigit isspace join kind lower lstrip name replace "
        "rsplit rstrip split splitlines "
        "startswith strip title upper zfill"
    )
)
# Not even as a field of the program's own: these reach frames, memory, files, or attributes by their names.
NEVER = frozenset(
    names(
        "byteswap ctypes data dump dumps format format_map fromfile getfield mro newbyteorder "
        "register resize setfield setflags tobytes "
        "tofile view with_traceback"
    )
)
# Its stand-in has none of them.
REFUSED_OF_NUMPY = frozenset(names("ctypeslib lib load loads memmap random save savez testing"))
FRAMES = (
    types.FrameType,
    types.TracebackType,
    types.CodeType,
    types.GeneratorType,
    types.CoroutineType,
    types.AsyncGeneratorType,
)
OTHERS = (
    *(
        np.ndarray,
        np.float64,
        np.int64,
        np.bool_,
        np.str_,
        np.void,
        np.dtype,
        np.ufunc,
        np.flatiter,
        np.nditer,
        np.broadcast,
    ),
    *(
        types.FunctionType,
        types.BuiltinFunctionType,
        types.MethodType,
        types.ModuleType,
        types.CellType,
        types.MappingProxyType,
    ),
    *(
        type,
        abc.ABCMeta,
        property,
        staticmethod,
        classmethod,
        super,
        memoryview,
        bytearray,
        bytes,
        str,
        int,
        float,
        complex,
    ),
    *(list, tuple, dict, set, frozenset, range, slice, enumerate, map, filter, zip, reversed),
    *(
        AttributeError,
        NameError,
        ImportError,
        OSError,
        StopIteration,
        SyntaxError,
        SystemExit,
        UnicodeError,
        KeyError,
        BaseExceptionGroup,
    ),
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


LONGEST_TEXT = 60_000  # characters; longer ones are not even parsed

# Names that reach the interpreter, the file system or other objects' insides. The process would stop them too; here
# they get a sentence.
FORBIDDEN_NAMES = frozenset(
    names(
        "breakpoint classmethod compile copyright credits delattr dir eval exec exit getattr globals "
        "hasattr help id input license locals "
        "memoryview open quit setattr super vars"
    )
)
FORBIDDEN_STATEMENTS = {
    ast.AsyncFunctionDef: "async functions",
    ast.AsyncFor: "async loops",
    ast.AsyncWith: "async blocks",
    ast.Await: "await",
    ast.Yield: "generators",
    ast.YieldFrom: "generators",
    ast.Global: "global names that change",
    ast.With: "with blocks",
    ast.Match: "match statements",  # their patterns read attributes by name
}


def screen(program: Program) -> Program:
    """This program, if it holds nothing that is refused on sight; otherwise `BadProgram` says what, and where."""
    if len(program.text) > LONGEST_TEXT:
        raise BadProgram(
            f"{program.where()}: the program has {len(program.text)} characters; at most {LONGEST_TEXT} are read."
        )
    nodes = list(ast.walk(program.module))
    own, docstrings = frozenset(_members(nodes)), {id(text) for text in _docstrings(nodes)}
    for node in nodes:
        offence = _offence(node, own, id(node) in docstrings)
        if offence:
            raise BadProgram(f"{program.where(getattr(node, 'lineno', None))}: {offence}.")
    return program


def _offence(node: ast.AST, own: frozenset[str], is_docstring: bool) -> str | None:
    """What is wrong with one node, or nothing."""
    for kind, name in FORBIDDEN_STATEMENTS.items():
        if isinstance(node, kind):
            return f"{name} are not allowed in a program"
    if isinstance(node, ast.comprehension) and node.is_async:
        return "async loops are not allowed in a program"
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return _import_offence(node)
    if isinstance(node, ast.Attribute):
        return _attribute_offence(node, own)
    wrong = next((name for name in _identifiers(node) if name.startswith("__") or (name in FORBIDDEN_NAMES)), None)
    if wrong is not None:
        return f"a program may not use '{wrong}'"
    if isinstance(node, ast.ClassDef) and node.keywords:
        return "a class may not have a metaclass"
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, (str, bytes))
        and not is_docstring
        and _names_insides(node.value)
    ):
        return "a text with two underscores together is not allowed; it can name the insides of objects"
    return None


def _identifiers(node: ast.AST) -> Iterator[str]:
    """Every name that a node reads, binds or declares, wherever Python's grammar keeps it."""
    if isinstance(node, ast.keyword):  # `f(id=1)` names what f calls it; only insides are refused there
        yield from [node.arg] if node.arg is not None and node.arg.startswith("__") else []
    elif not isinstance(node, ast.Constant):
        for _, value in ast.iter_fields(node):
            yield from (word for word in (value if isinstance(value, list) else [value]) if isinstance(word, str))


def _import_offence(node: ast.Import | ast.ImportFrom) -> str | None:
    allowed = importable()
    modules = [node.module or "."] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    wrong = next((name for name in modules if name not in allowed), None)
    if wrong is not None or (isinstance(node, ast.ImportFrom) and node.level):
        return (
            f"a program may import {', '.join(name for name in allowed if name != '__future__')}, not '{wrong or '.'}'"
        )
    for alias in node.names:
        if isinstance(node, ast.ImportFrom) and alias.name not in allowed[modules[0]]:
            return f"a program may not import '{alias.name}' from {modules[0]}"
        if alias.asname is not None and (alias.asname.startswith("__") or alias.asname in FORBIDDEN_NAMES):
            return f"a program may not use '{alias.asname}'"
    return None


def _attribute_offence(node: ast.Attribute, own: frozenset[str]) -> str | None:
    if not isinstance(node.ctx, ast.Load):
        return f"nothing outside may be changed: '.{node.attr}' is assigned to; make a new State instead"
    return None if may_read(node.attr, own) else f"a program may not reach '.{node.attr}'"


def _names_insides(text: str | bytes) -> bool:
    return "__" in text if isinstance(text, str) else b"__" in text


def _members(nodes: list[ast.AST]) -> Iterator[str]:
    """The fields and methods of the program's own classes."""
    for statement in (part for node in nodes if isinstance(node, ast.ClassDef) for part in node.body):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id
        elif isinstance(statement, ast.FunctionDef):
            yield statement.name


def _docstrings(nodes: list[ast.AST]) -> Iterator[ast.expr]:
    for node in nodes:
        if (
            isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef))
            and node.body
            and isinstance(node.body[0], ast.Expr)
        ):
            yield node.body[0].value
