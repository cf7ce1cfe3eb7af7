"""The text of a program: emitted from the very source of the laws that are fitted, with a `step` that shows their order;
and edits of its constants that keep everything else of it.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from visualpatchworld.errors import UnknownName
from visualpatchworld.laws.constant import Constant
from visualpatchworld.laws.form import Body, Form, Line, Shape, Use, functions_of, source_of_law, whole_numbers_of
from visualpatchworld.program.program import BadProgram, Program
from visualpatchworld.program.quoting import commented, docstring
from visualpatchworld.program.sandbox import NoSandbox, SandboxedWorld

LINE_LENGTH = 120
LARGEST = 1e12  # what no world has
MOST_TURNS = 10_000  # of a loop over a whole-number constant


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
    lines += [f"{name} = {number}" for name, number in whole_numbers_of(functions_of(form).values()).items()]
    blocks = [_state(form), "\n\n".join(source_of_law(law) for law in functions_of(form).values()), _step(form)]
    top = docstring(*(header or form.title).split("\n"))
    return Program("\n".join([top, "", *lines]) + "\n\n\n" + "\n\n\n".join(blocks) + "\n")


def _state(form: Form) -> str:
    lines, last = ["class State(NamedTuple):"], ""
    for name, unit in form.fields.items():
        lines.append(commented(f"    {name}: float", unit if unit != last else ""))
        last = unit
    for number in form.hidden:
        lines.append(commented(f"    {number.name}: float = {number.default}", number.doc))
    return "\n".join(lines)


def _step(form: Form) -> str:
    """The laws in their order: bodies are taken out of the state, moved on, and put back."""
    lines = ["def step(state, action):", f"    {docstring(_sentence(form.title))}"]
    acts = (*form.once, *form.often, *form.last)
    read = _words(" ".join(part.takes) if isinstance(part, Use) else part.takes for part in acts)
    given = _words(part.gives for part in acts)
    lines += [f"    {body.name} = {_taken(body)}" for body in form.bodies if body.name in read]
    bound = _repeated(acts, {*(body.name for body in form.bodies), *read, *given})
    lines += [f"    {name} = {_tuple(names)}" for names, name in bound.items()]
    if form.often:
        once = _lines(form.once, "    ", bound)
        used = form.clock == "step" or any("dt" in part.takes for part in form.once)
        dt = ["    dt = STEP_SECONDS / SUBSTEPS"]
        lines += [*dt, *once] if used else [*once, *dt]
        lines += ["    for _ in range(SUBSTEPS):", *_lines(form.often, "        ", bound)]
    else:
        lines += ["    dt = STEP_SECONDS"] if form.clock == "step" else []
        lines += _lines(form.once, "    ", bound)
    lines += _lines(form.last, "    ", bound)
    names = (*form.fields, *(number.name for number in form.hidden))
    arguments = _put_back(names, [body for body in form.bodies if body.name in given])
    return "\n".join([*lines, *_call("    return State", arguments)])


def _put_back(names: Sequence[str], moved: Sequence[Body]) -> list[str]:
    """The numbers of a new state: parts of bodies, as long as they stand side by side, or what was there before."""
    holders = {name: (body, place) for body in moved for place, name in enumerate(body.names)}
    found: list[str] = []
    part: tuple[Body, int, int] | None = None  # of a body, from here to there
    for name in names:
        if name not in holders:
            found, part = [*found, f"state.{name}"], None
            continue
        body, place = holders[name]
        going_on = part is not None and part[0] is body and part[2] == place
        part = (body, part[1] if part is not None and going_on else place, place + 1)
        found = [*(found[:-1] if going_on else found), _part_of(*part)]
    return found


def _part_of(body: Body, start: int, end: int) -> str:
    if isinstance(body.fields, str):
        return body.name
    if end - start == len(body.names):
        return f"*{body.name}"
    return (
        f"{body.name}[{start}]"
        if end == start + 1
        else f"*{body.name}[{start or ''}:{end if end < len(body.names) else ''}]"
    )


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in re.findall(r"\w+", text)}


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _taken(body: Body) -> str:
    if isinstance(body.fields, str):
        return f"state.{body.fields}"
    return "(" + ", ".join(f"state.{name}" for name in body.fields) + ("," if len(body.fields) == 1 else "") + ")"


def _repeated(parts: Sequence[Use | Line], taken: set[str]) -> dict[tuple[str, ...], str]:
    """Names for constants that several laws take together, as a centre of mass is; none that is taken."""
    uses = [part for part in parts if isinstance(part, Use)]
    several = [(use.of, argument, names) for use in uses for argument, names, _ in use.constants]
    found: dict[tuple[str, ...], str] = {}
    for of, argument, names in several:
        alone = all(other == names for _, also, other in several if also == argument)
        name = argument if alone else f"{of}_{argument}".strip("_")
        if (
            isinstance(names, tuple)
            and [other for *_, other in several].count(names) > 1
            and name not in (*taken, *found.values())
        ):
            found.setdefault(names, name)
    return found


def _lines(parts: Sequence[Use | Line], indent: str, bound: Mapping[tuple[str, ...], str]) -> list[str]:
    lines = []
    for part in parts:
        if isinstance(part, Line):
            lines.append(f"{indent}{part.gives} = {part.takes}")
            continue
        arguments = list(part.takes)
        arguments += [f"{argument}={shape.name}" for argument, shape in part.shapes.items()]
        for argument, names, _ in part.constants:
            value = names if isinstance(names, str) else bound.get(names) or _tuple(names)
            arguments.append(f"{argument}={value}")
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
    return commented(f"{name} = {number}", constant.unit, spread, constant.doc)


def _shape_line(shape: Shape) -> str:
    return commented(f"{shape.name} = {_plain(shape.value)!r}", shape.unit, shape.doc, "(from the scene graph)")


def _plain(value: Any) -> Any:
    """Nested tuples of plain numbers."""
    if isinstance(value, (tuple, list)):
        return tuple(_plain(part) for part in value)
    return value if isinstance(value, int) else round(float(value), 6)


def parse_changes(changes: Sequence[str], program: Program) -> dict[str, Any]:
    """The values that NAME=VALUE asks for, each checked against what the program has there now."""
    asked: dict[str, Any] = {}
    for change in changes:
        name, equals, text = (part.strip() for part in change.partition("="))
        if not equals or not name:
            raise BadProgram(f"A change is written NAME=VALUE, not '{change}'.")
        if name not in program.constants:
            raise UnknownName("constant", name, program.constants)
        if name in asked:
            raise BadProgram(f"'{name}' is given twice.")
        try:
            value = ast.literal_eval(text)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            raise BadProgram(
                f"'{name}' takes a number, or numbers in brackets as in the program, not '{text}'."
            ) from None
        asked[name] = checked(name, value, program.constants[name])
    return asked


def checked(name: str, value: Any, now: Any) -> Any:
    """The value, if it can stand where the present one stands: a number for a number, numbers in brackets for such."""
    if isinstance(now, tuple):
        if not isinstance(value, (tuple, list)) or not value:
            raise BadProgram(f"'{name}' takes numbers in brackets, as {now!r}, not {value!r}.")
        parts = [checked(name, part, now[min(i, len(now) - 1)]) for i, part in enumerate(value)]
        if all(isinstance(part, (int, float)) for part in now) and len(parts) != len(now):
            raise BadProgram(f"'{name}' takes {len(now)} numbers, not {len(parts)}.")
        return tuple(parts)
    if isinstance(now, (str, bool)) or now is None:
        if type(value) is not type(now):
            raise BadProgram(f"'{name}' is {now!r} and cannot become {value!r}.")
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BadProgram(f"'{name}' takes a number, not {value!r}.")
    if not math.isfinite(value) or abs(value) > LARGEST:
        raise BadProgram(f"'{name}' takes a number between {-LARGEST:g} and {LARGEST:g}, not {value!r}.")
    if isinstance(now, int):
        if value != int(value):
            raise BadProgram(f"'{name}' is a whole number and cannot become {value!r}.")
        return int(value)
    return float(value)


def edit(program: Program, changes: Mapping[str, Any], *, sandbox: bool = False, unfiltered: bool = False) -> Program:
    """The program with other constants: measured errors of those are
    taken out, the header tells what was changed, and it still runs.

    Two steps of both programs are run to see that: in this process, or with `sandbox` in a locked one alone.
    """
    counted = _loop_constants(program)
    for name, value in changes.items():
        if name in counted and not 1 <= value <= MOST_TURNS:
            raise BadProgram(
                f"'{name}' is how often a loop turns; it takes a whole number from 1 to {MOST_TURNS}, not {value}."
            )
    lines = program.edited(changes).text.splitlines(keepends=True)
    lines = [re.sub(r"  \+- \S+", "", line, count=1) if line.split(" = ")[0] in changes else line for line in lines]
    told = "; ".join(f"{name} was {_short(program.constants[name])}" for name in changes)
    after = Program(_with_note("".join(lines), f"Edited: {told}. What is said above was measured before."))
    _check_runs(program, after, changes, partial(_locked_steps, unfiltered=unfiltered) if sandbox else _steps)
    return after


def _loop_constants(program: Program) -> set[str]:
    """Constants that a loop counts to."""
    calls = [
        node.iter for node in ast.walk(program.module) if isinstance(node, ast.For) and isinstance(node.iter, ast.Call)
    ]
    return {
        part.id
        for call in calls
        if getattr(call.func, "id", "") == "range"
        for part in call.args
        if isinstance(part, ast.Name)
    }


def _with_note(text: str, note: str) -> str:
    """The text with a last line in its docstring; one that has none gets one."""
    module = ast.parse(text)
    said = ast.get_docstring(module, clean=False)
    literal = None if said is None else ast.get_source_segment(text, module.body[0])
    if said is None or literal is None:
        return f"{docstring(note)}\n\n{text}"
    return text.replace(literal, docstring(*said.rstrip().split("\n"), note, ""), 1)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


CHECK_ACTIONS = np.stack([np.zeros(16), np.full(16, 0.5)])


def _steps(program: Program) -> np.ndarray:
    """A state two steps on, in this process."""
    dynamics = program.bind("numpy")
    state = dynamics.State(*np.linspace(0.3, 0.7, len(dynamics.State._fields)))
    with np.errstate(all="ignore"):
        for action in CHECK_ACTIONS:
            state = dynamics.step(state, action)
    return np.array([float(field) for field in state])


def _locked_steps(program: Program, *, unfiltered: bool) -> np.ndarray:
    """The same in the sandbox."""
    with SandboxedWorld(program, CHECK_ACTIONS.shape[1], unfiltered=unfiltered) as world:
        start = np.linspace(0.3, 0.7, len(world.field_names))
        return world.live(start[None], CHECK_ACTIONS[:, None]).states[-1, 0]


def _check_runs(
    before: Program, after: Program, changes: Mapping[str, Any], steps: Callable[[Program], np.ndarray]
) -> None:
    """Refuse values with which the program no longer gives numbers where it gave some."""
    said = ", ".join(f"{name}={_short(value)}" for name, value in changes.items())
    try:
        now = np.isfinite(steps(before))
    except NoSandbox:
        raise
    except Exception:
        return  # it did not run before, and whoever loads it is told why
    try:
        still = np.isfinite(steps(after))
    except Exception as error:
        raise BadProgram(f"With {said} the program does not run ({type(error).__name__}: {error}).") from None
    if not still[now].all():
        raise BadProgram(f"With {said} the program gives no numbers any more; such a value is out of bounds.")
