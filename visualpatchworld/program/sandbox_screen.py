"""Screening: code that nobody here wrote is read before it runs, and refused with one sentence for what no law of motion needs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from visualpatchworld.program.program import BadProgram, Program
from visualpatchworld.program.sandbox_modules import names

LONGEST_TEXT = 60_000  # characters; longer ones are not even parsed
IMPORTS = ("numpy", "jax.numpy", "math", "typing", "__future__")
TUPLE_METHODS = ("_replace", "_asdict", "_fields", "_make")  # a named tuple's own, which begin with an underscore

# Names that reach the interpreter, the file system or other objects' insides. The process would stop them too; here they get a sentence.
FORBIDDEN_NAMES = frozenset(
    names(
        "breakpoint classmethod compile copyright credits delattr dir eval exec exit getattr globals hasattr help id input license locals "
        "memoryview open quit setattr super vars"
    )
)
FORBIDDEN_ATTRIBUTES = frozenset(
    names(
        "ag_frame co_code cr_frame ctypes dump dumps f_back f_builtins f_globals f_locals format format_map fromfile gi_code "
        "gi_frame load loads memmap mro random save savez setfield setflags tb_frame tb_next tofile"
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
        raise BadProgram(f"{program.where()}: the program has {len(program.text)} characters; at most {LONGEST_TEXT} are read.")
    try:
        nodes = list(ast.walk(program.module))
    except (ValueError, MemoryError, RecursionError) as error:
        raise BadProgram(f"{program.where()}: not Python that can be read: {type(error).__name__}.") from None
    docstrings = {id(text) for text in _docstrings(nodes)}
    for node in nodes:
        offence = _offence(node, id(node) in docstrings)
        if offence:
            raise BadProgram(f"{program.where(getattr(node, 'lineno', None))}: {offence}.")
    return program


def _offence(node: ast.AST, is_docstring: bool) -> str | None:
    """What is wrong with one node, or nothing."""
    for kind, name in FORBIDDEN_STATEMENTS.items():
        if isinstance(node, kind):
            return f"{name} are not allowed in a program"
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return _import_offence(node)
    if isinstance(node, ast.Attribute):
        return _attribute_offence(node)
    if isinstance(node, ast.Name) and (node.id in FORBIDDEN_NAMES or _is_dunder(node.id)):
        return f"a program may not use '{node.id}'"
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and _is_dunder(node.name):
        return f"a program may not define '{node.name}'"
    if isinstance(node, ast.alias) and _is_dunder(node.asname or ""):
        return f"a program may not use '{node.asname}'"
    if isinstance(node, (ast.arg, ast.keyword)) and node.arg is not None and _is_dunder(node.arg):
        return f"a program may not use '{node.arg}'"
    if isinstance(node, ast.ClassDef) and node.keywords:
        return "a class may not have a metaclass"
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and "__" in node.value and not is_docstring:
        return "a text with two underscores together is not allowed; it can name the insides of objects"
    return None


def _import_offence(node: ast.Import | ast.ImportFrom) -> str | None:
    names = [node.module or "."] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    wrong = next((name for name in names if name not in IMPORTS), None)
    if wrong is not None or (isinstance(node, ast.ImportFrom) and node.level):
        return f"a program may import {', '.join(IMPORTS[:-1])}, not '{wrong or '.'}'"
    return None


def _attribute_offence(node: ast.Attribute) -> str | None:
    if not isinstance(node.ctx, ast.Load):
        return f"nothing outside may be changed: '.{node.attr}' is assigned to; make a new State instead"
    if node.attr in FORBIDDEN_ATTRIBUTES or (node.attr.startswith("_") and node.attr not in TUPLE_METHODS):
        return f"a program may not reach '.{node.attr}'"
    return None


def _is_dunder(name: str) -> bool:
    return name.startswith("__")


def _docstrings(nodes: list[ast.AST]) -> Iterator[ast.expr]:
    for node in nodes:
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and node.body and isinstance(node.body[0], ast.Expr):
            yield node.body[0].value
