"""From what a model answered to a program's text: the code is taken out, and the state it is about is put before it."""

from __future__ import annotations

import ast
import re

from visualpatchworld.scene.state import StateSpace

FENCE = re.compile(r"```[ \t]*(?:python|py)?[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)
IMPORTS = ("from typing import NamedTuple", "import math", "import numpy as np")


def code_of(answer: str, wanted: str = "def ") -> str:
    """The longest block of code that holds what is wanted; an answer without blocks is all code."""
    blocks = [block for block in FENCE.findall(answer) if wanted in block]
    return max(blocks, key=len) if blocks else answer


def program_of(answer: str, space: StateSpace, header: str) -> str:
    """The program in an answer: functions and constants as the model wrote them, after the imports and the `State` of this world.

    Examples of use below the functions go, and so does a `State` of the model's own: there is only one.
    """
    code = code_of(answer, "def step")
    return "\n".join([f'"""{header}"""', "", *IMPORTS, "", "", state_text(space), "", "", kept(code)]) + "\n"


def own_code(text: str) -> str:
    """What a model wrote of a program: all that comes after the `State`."""
    _, found, after = text.partition("\nclass State(NamedTuple):")
    return re.sub(r"\A(?:[ \t]+\S.*\n|\n)*", "", after.lstrip("\n")).rstrip() if found else text


def kept(code: str) -> str:
    """Functions, classes and constants; code that cannot be parsed stays as it is, so that its error can be told."""
    try:
        module = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code
    parts = [ast.get_source_segment(code, node, padded=True) for node in module.body if _is_part(node)]
    return "\n\n\n".join(part.rstrip() for part in parts if part)


def _is_part(node: ast.stmt) -> bool:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return ast.unparse(node) not in IMPORTS and getattr(node, "module", "") != "__future__"
    if isinstance(node, ast.ClassDef):
        return node.name != "State"
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        called = {part.func.id for part in ast.walk(node) if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)}
        return not called & {"State", "step", "namedtuple", "NamedTuple"}
    return isinstance(node, ast.FunctionDef)


def state_text(space: StateSpace) -> str:
    """The `State` of a world as a program defines it."""
    return "\n".join(["class State(NamedTuple):", *(f"    {field.name}: float  # {field.unit}" for field in space)])
