"""Emission: the text of a program, made of the very source of
the laws that are fitted and a `step` that shows their order.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from visualpatchworld.laws.constant import Constant
from visualpatchworld.laws.form import Body, Form, Law, Line, Shape, Use
from visualpatchworld.program.program import Program

LINE_LENGTH = 120


def unfitted(form: Form) -> Program:
    """The form as a program whose constants are not numbers yet; the fitter binds trial values to them."""
    return emit(form, {}, {})


def emit(form: Form, values: Mapping[str, float], errors: Mapping[str, float | None], header: str = "") -> Program:
    """The program: header, constants with unit and standard error, shapes, the state, the laws and the step."""
    lines = ["from typing import NamedTuple", "", "import jax.numpy as np  # or: import numpy as np"]
    if not values:
        lines.append('nan = float("nan")')
    lines.append("")
    lines += [
        _constant_line(name, constant, values.get(name), errors.get(name)) for name, constant in form.constants.items()
    ]
    lines += [_shape_line(shape) for shape in form.shapes.values()]
    lines += [f"{name} = {number}" for name, number in _whole_numbers(functions_of(form).values()).items()]
    blocks = [_state(form), "\n\n".join(_source(law) for law in functions_of(form).values()), _step(form)]
    docstring = f'"""{header or form.title}"""'
    return Program("\n".join([docstring, "", *lines]) + "\n\n\n" + "\n\n\n".join(blocks) + "\n")


def functions_of(form: Form) -> dict[str, Law]:
    """The form's laws and all that they call, in the order of need; two functions of one name are refused."""
    found: dict[str, Law] = {}

    def visit(law: Law) -> None:
        known = found.get(law.__name__)
        if known is not None:
            if known is not law:
                raise ValueError(
                    f"two functions of {form.name} are called {law.__name__}: of {known.__module__} and "
                    f"of {law.__module__}"
                )
            return
        for used in _names(law):
            value = law.__globals__.get(used)
            if inspect.isfunction(value) and value is not law:
                visit(value)
        found[law.__name__] = law

    for use in form.uses:
        visit(use.law)
    return found


def _whole_numbers(laws: Iterable[Law]) -> dict[str, int]:
    """What laws name of their own module that is a whole number: how often to repeat something, say."""
    return {
        name: law.__globals__[name] for law in laws for name in _names(law) if type(law.__globals__.get(name)) is int
    }


def _names(law: Law) -> list[str]:
    """What the body of a law names and does not itself give a value."""
    parts = [part for line in _parsed(law).body for part in ast.walk(line) if isinstance(part, ast.Name)]
    own = {part.id for part in parts if isinstance(part.ctx, ast.Store)} | set(inspect.signature(law).parameters)
    return list(dict.fromkeys(part.id for part in parts if part.id not in own))


def _parsed(law: Law) -> ast.FunctionDef:
    node = ast.parse(textwrap.dedent(inspect.getsource(law))).body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


def _source(law: Law) -> str:
    """The law as it stands in its module, less the declarations of its constants, which are arguments here."""
    text = textwrap.dedent(inspect.getsource(law)).rstrip().splitlines()
    body = text[_parsed(law).body[0].lineno - 1 :]
    return "\n".join([f"def {law.__name__}({', '.join(inspect.signature(law).parameters)}):", *body])


def _state(form: Form) -> str:
    lines, last = ["class State(NamedTuple):"], ""
    for name, unit in form.fields.items():
        lines.append(f"    {name}: float" + (f"  # {unit}" if unit and unit != last else ""))
        last = unit
    for number in form.hidden:
        lines.append(f"    {number.name}: float = {number.default}" + (f"  # {number.doc}" if number.doc else ""))
    return "\n".join(lines)


def _step(form: Form) -> str:
    """The laws in their order: bodies are taken out of the state, moved on, and put back."""
    lines = ["def step(state, action):", f'    """{_sentence(form.title)}"""']
    acts = (*form.once, *form.often, *form.last)
    read = _words(" ".join(part.takes) if isinstance(part, Use) else part.takes for part in acts)
    given = _words(part.gives for part in acts)
    lines += [f"    {body.name} = {_taken(body)}" for body in form.bodies if body.name in read]
    if form.often:
        once = _lines(form.once, "    ")
        used = form.clock == "step" or any("dt" in part.takes for part in form.once)
        dt = ["    dt = STEP_SECONDS / SUBSTEPS"]
        lines += [*dt, *once] if used else [*once, *dt]
        lines += ["    for _ in range(SUBSTEPS):", *_lines(form.often, "        ")]
    else:
        lines += ["    dt = STEP_SECONDS"] if form.clock == "step" else []
        lines += _lines(form.once, "    ")
    lines += _lines(form.last, "    ")
    moved = [body for body in form.bodies if body.name in given]
    for body in moved:
        if body.names != (body.name,):
            comma = "," if not isinstance(body.fields, str) and len(body.fields) == 1 else ""
            lines.append(f"    {', '.join(body.names)}{comma} = {body.name}")
    names = (*form.fields, *(number.name for number in form.hidden))
    new = {name for body in moved for name in body.names}
    arguments = [name if name in new else f"state.{name}" for name in names]
    return "\n".join([*lines, *_call("    return State", arguments)])


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in re.findall(r"\w+", text)}


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _taken(body: Body) -> str:
    if isinstance(body.fields, str):
        return f"state.{body.fields}"
    return "(" + ", ".join(f"state.{name}" for name in body.fields) + ("," if len(body.fields) == 1 else "") + ")"


def _lines(parts: Sequence[Use | Line], indent: str) -> list[str]:
    lines = []
    for part in parts:
        if isinstance(part, Line):
            lines.append(f"{indent}{part.gives} = {part.takes}")
            continue
        arguments = list(part.takes)
        arguments += [f"{argument}={shape.name}" for argument, shape in part.shapes.items()]
        for argument, names, _ in part.constants:
            arguments.append(f"{argument}={names if isinstance(names, str) else _tuple(names)}")
        lines += _call(f"{indent}{part.gives} = {part.law.__name__}", arguments)
    return lines


def _tuple(names: Sequence[str]) -> str:
    return "(" + ", ".join(names) + ("," if len(names) == 1 else "") + ")"


def _call(function: str, arguments: Sequence[str]) -> list[str]:
    """A call, over several lines where it is long."""
    whole = f"{function}({', '.join(arguments)})"
    if len(whole) <= LINE_LENGTH:
        return [whole]
    indent = " " * (len(function) - len(function.lstrip()))
    lines = [f"{indent}   "]
    for argument in arguments:
        if len(lines[-1]) + len(argument) + 2 > LINE_LENGTH:
            lines.append(f"{indent}   ")
        lines[-1] += f" {argument},"
    return [f"{function}(", *lines, f"{indent})"]


def _constant_line(name: str, constant: Constant, value: float | None, error: float | None) -> str:
    number = "nan" if value is None else repr(value)
    spread = "" if error is None else f"+- {error:.1g}"
    comment = "  ".join(part for part in (constant.unit, spread, constant.doc) if part)
    return f"{name} = {number}  # {comment}"


def _shape_line(shape: Shape) -> str:
    comment = "  ".join(part for part in (shape.unit, shape.doc, "(from the scene graph)") if part)
    return f"{shape.name} = {_plain(shape.value)!r}  # {comment}"


def _plain(value: Any) -> Any:
    """Nested tuples of plain numbers."""
    if isinstance(value, (tuple, list)):
        return tuple(_plain(part) for part in value)
    return value if isinstance(value, int) else round(float(value), 6)
