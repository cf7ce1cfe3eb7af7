"""Emission: the text of a program, made of the very source of the functions that were fitted."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from visualpatchworld.laws.constant import Constant, FromScene
from visualpatchworld.laws.family import Law, Role, Sketch
from visualpatchworld.program.program import Program
from visualpatchworld.scene.schema import SceneGraph

LINE_LENGTH = 120


@dataclass(frozen=True)
class Parts:
    """What a sketch is made of: its functions in the order of need, the unknown constants and the shapes they use."""

    functions: Mapping[str, Law]
    constants: Mapping[str, Constant]
    shapes: Mapping[str, FromScene]


def parts_of(sketch: Sketch) -> Parts:
    """Everything `step` reaches, directly or through the laws it calls."""
    functions: dict[str, Law] = {}
    constants: dict[str, Constant] = {}
    shapes: dict[str, FromScene] = {}

    def visit(name: str, law: Law) -> None:
        if name in functions:
            return
        for used in _names(law):
            value = sketch.roles[used] if used in sketch.roles else law.__globals__.get(used)
            if isinstance(value, Role):
                raise ValueError(f"the sketch {sketch.name} leaves the role '{used}' open: {value.doc}")
            if isinstance(value, Constant):
                constants[used] = value
            elif isinstance(value, FromScene):
                shapes[used] = value
            elif inspect.isfunction(value) and used != name:
                visit(used, value)
        functions[name] = law

    visit("step", sketch.roles["step"])
    # Constants stand in the program in the order in which the sketch declares them.
    declared = {name: i for i, name in enumerate(sketch.roles["step"].__globals__)}

    def in_order(things: dict[str, Any]) -> dict[str, Any]:
        return dict(sorted(things.items(), key=lambda item: declared.get(item[0], len(declared))))

    return Parts(functions, in_order(constants), in_order(shapes))


def unfitted(sketch: Sketch, graph: SceneGraph) -> Program:
    """The sketch as a program whose constants are not numbers yet; the fitter binds trial values to them."""
    return emit(sketch, graph, {}, {})


def emit(sketch: Sketch, graph: SceneGraph, values: Mapping[str, float], errors: Mapping[str, float | None], header: str = "") -> Program:
    """The program: header, constants with unit and standard error, shapes, the state and the functions."""
    parts = parts_of(sketch)
    lines = ["from typing import NamedTuple", "", "import jax.numpy as np  # or: import numpy as np"]
    if not values:
        lines.append('nan = float("nan")')
    lines.append("")
    for name, constant in parts.constants.items():
        lines.append(_constant_line(name, constant, values.get(name), errors.get(name)))
    for name, shape in parts.shapes.items():
        lines.append(_shape_line(name, shape, shape.read(graph)))
    blocks = [_source(sketch.state, "State")]
    blocks += [_source(law, name) for name, law in parts.functions.items()]
    docstring = f'"""{header or sketch.title}"""'
    return Program("\n".join([docstring, "", *lines]) + "\n\n\n" + "\n\n\n".join(blocks) + "\n")


def _names(law: Law) -> list[str]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(law)))
    return list(dict.fromkeys(node.id for node in ast.walk(tree) if isinstance(node, ast.Name)))


def _source(thing: Any, name: str) -> str:
    """The source under the name it has in the program: a law that plays a role is called by its role."""
    text = textwrap.dedent(inspect.getsource(thing)).rstrip()
    keyword = "class" if inspect.isclass(thing) else "def"
    return text.replace(f"{keyword} {thing.__name__}(", f"{keyword} {name}(", 1)


def _constant_line(name: str, constant: Constant, value: float | None, error: float | None) -> str:
    number = "nan" if value is None else repr(value)
    spread = "" if error is None else f"+- {error:.1g}"
    comment = "  ".join(part for part in (constant.unit, spread, constant.doc) if part)
    return f"{name} = {number}  # {comment}"


def _shape_line(name: str, shape: FromScene, value: Any) -> str:
    comment = "  ".join(part for part in (shape.unit, shape.doc, "(from the scene graph)") if part)
    return f"{name} = {_plain(value)!r}  # {comment}"


def _plain(value: Any) -> Any:
    """Nested tuples of plain numbers."""
    return tuple(_plain(part) for part in value) if isinstance(value, (tuple, list)) else round(float(value), 6)
