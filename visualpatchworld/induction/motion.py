"""From a law of motion to the text of a program: constants, state,
rates of change, an integrator, and limits in their order.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from visualpatchworld.induction.draft import Draft
from visualpatchworld.induction.reading import Coordinate, Integrator, Reading
from visualpatchworld.program.program import Program
from visualpatchworld.program.quoting import commented, docstring

DIGITS = 10  # of a constant in the text
ROUNDING = 1e-11  # of a constant: a smaller standard error is that of arithmetic, not of data
WIDTH = 136  # letters of a line, beside its indent
LONG_CHANGE = 60  # letters of a rate that stands on a line of its own
SHORT_ENTRY = 40  # letters of an entry of a list that may stand beside others

Phase = Literal["force", "velocity", "coordinate"]


@dataclass(frozen=True)
class Number:
    """A constant of a program, with its unit and meaning; a whole nested tuple of numbers where it is a table."""

    name: str
    value: Any
    unit: str = ""
    doc: str = ""
    stderr: float | None = None
    free: bool = True  # whether refinement may move it


@dataclass(frozen=True)
class Way:
    """How a coordinate follows from the links of a chain: what it is the sum of, and its speed as code.

    Forces act on it the same way.
    """

    coordinate: str
    shares: tuple[float, ...]
    speed: str


@dataclass(frozen=True)
class Rates:
    """How fast everything changes, as code.

    `lines` compute what `changes` need; in them `state`, `action`, `DT` (seconds of one physics step) and the numbers'
    names are known. In `changes`, `new.FIELD` is the value that the same step has just given to a field. `changes`
    gives, for every velocity (its acceleration) and for every coordinate without one (its speed), a Python expression.
    `memory` is what the world remembers without showing it: name, first value, and an expression for its next value.
    """

    name: str
    laws: tuple[tuple[str, tuple[str, ...]], ...]
    numbers: tuple[Number, ...]
    changes: tuple[tuple[str, str], ...]
    lines: tuple[str, ...] = ()
    helpers: tuple[Callable[..., Any], ...] = ()  # law functions whose source goes into the program
    memory: tuple[tuple[str, float, str], ...] = ()
    empirical: bool = False
    # Of a coordinate that several velocities move: which, how often.
    speeds: tuple[tuple[str, tuple[tuple[str, float], ...]], ...] = ()
    # Where forces and a mass matrix make the rates: `lines` end with `forces` and `mass`, which limits may change
    # before `solution`.
    solution: tuple[str, ...] = ()
    ways: tuple[Way, ...] = ()
    # Integrator, sub-steps and time step, where the rates were found under them.
    timing: tuple[Integrator, int, float] | None = None


@dataclass(frozen=True)
class Limit:
    """What is done to the new values of a step before they count,
    right after velocities or after coordinates were moved.

    `lines` assign to the plain names of fields: `speed = np.clip(speed, -TOP, TOP)`; `state` is the state before the
    step. In the phase of forces they change what makes the rates: `forces` of a chain, or how fast a velocity changes,
    `speed_gained`.
    """

    phase: Phase
    lines: tuple[str, ...]
    numbers: tuple[Number, ...] = ()
    law: str = "limit"
    of: tuple[str, ...] = ()
    helpers: tuple[Callable[..., Any], ...] = ()


def assemble(
    reading: Reading,
    rates: Rates,
    *,
    integrator: Integrator | None = None,
    substeps: int = 1,
    limits: Sequence[Limit] = (),
    header: str = "",
) -> Draft:
    """The draft of a program that moves the reading's state by these
    rates under an integrator, and then keeps it within the limits.
    """
    integrator = integrator or reading.integrator
    numbers = (*rates.numbers, *(number for limit in limits for number in limit.numbers))
    clashing = {number.name for number in numbers if [other.name for other in numbers].count(number.name) > 1}
    if clashing:
        raise ValueError(f"two laws of one program share the constants {', '.join(sorted(clashing))}")
    rates = _with_forces(rates, [limit for limit in limits if limit.phase == "force"])
    timed = integrator != "none" or any(
        "DT" in text for text in (*rates.lines, *(change for _, change in rates.changes))
    )
    constants = [f"DT = {_text(reading.dt / substeps)}  # s, one physics step"] if timed else []
    constants += [f"SUBSTEPS = {substeps}  # physics steps in one step"] if substeps > 1 else []
    constants += [number_line(number) for number in numbers]
    state = ["class State(NamedTuple):", *(f"    {name}: float" for name in reading.state_names)]
    state += [
        f"    {name}: float = {_text(first)}  # not observed"
        for name, first, _ in rates.memory
        if name not in reading.state_names
    ]
    functions = list(dict.fromkeys((*rates.helpers, *(helper for limit in limits for helper in limit.helpers))))
    names = [function.__name__ for function in functions]
    if len(set(names)) < len(names):
        raise ValueError(f"two laws of one program share the name of a function: {', '.join(names)}")
    blocks = ["\n".join(state), *(source_of(function) for function in functions)]
    moving = [limit for limit in limits if limit.phase != "force"]
    blocks += _moves(reading, rates, integrator, moving, name="step" if substeps == 1 else "move")
    if substeps > 1:
        loop = ["    for _ in range(SUBSTEPS):", "        state = move(state, action)", "    return state"]
        blocks.append(
            "\n".join(
                ["def step(state, action):", '    """One step: the action is held over all physics steps."""', *loop]
            )
        )
    blocks += reading.functions()
    top = [
        docstring(*(header or rates.name).split("\n")),
        "",
        "from typing import NamedTuple",
        "",
        "import jax.numpy as np  # or: import numpy as np",
        "",
    ]
    text = "\n".join([*top, *constants]) + "\n\n\n" + "\n\n\n".join(blocks) + "\n"
    laws = (*rates.laws, *((limit.law, limit.of) for limit in limits))
    free = tuple(number.name for number in numbers if number.free)
    errors = {number.name: number.stderr for number in numbers if number.stderr is not None}
    return Draft(rates.name, Program(text), free, laws, errors, rates.empirical)


def gained(velocity: str) -> str:
    """The name of how fast a velocity changes, where a limit changes that."""
    return f"{velocity}_gained"


def _with_forces(rates: Rates, limits: Sequence[Limit]) -> Rates:
    """The rates with limits that act as forces."""
    if rates.solution:
        return replace(
            rates, lines=(*rates.lines, *(line for limit in limits for line in limit.lines), *rates.solution)
        )
    stopped = [
        (of, change)
        for of, change in rates.changes
        if any(gained(of) in line for limit in limits for line in limit.lines)
    ]
    if any("new." in change for _, change in stopped):
        raise ValueError("a stop that acts as a force needs rates at the beginning of a step")
    lines = [
        *(f"{gained(of)} = {change}" for of, change in stopped),
        *(line for limit in limits for line in limit.lines),
    ]
    changes = tuple((of, gained(of) if (of, change) in stopped else change) for of, change in rates.changes)
    return replace(rates, lines=(*rates.lines, *lines), changes=changes)


def source_of(function: Callable[..., Any]) -> str:
    """The text of a law, as it goes into programs."""
    return textwrap.dedent(inspect.getsource(function)).rstrip()


def number_line(number: Number) -> str:
    """A constant as it stands in the program, with unit, standard error and meaning behind it."""
    known = number.stderr is not None and ROUNDING * abs(float(number.value)) < number.stderr < float("inf")
    spread = f"+- {number.stderr:.1g}" if known else ""
    return commented(f"{number.name} = {_text(number.value)}", number.unit, spread, number.doc)


def summands(text: str) -> list[str]:
    """The parts of a sum; a plus within brackets does not part them."""
    return _parted(text, " + ")


def _parted(text: str, mark: str) -> list[str]:
    """The parts between marks that stand outside of all brackets."""
    parts, depth, first = [], 0, 0
    for k, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 and text.startswith(mark, k):
            parts.append(text[first:k])
            first = k + len(mark)
    return [*parts, text[first:]]


def _text(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(_text(part) for part in value) + ("," if len(value) == 1 else "") + ")"
    return repr(value) if isinstance(value, int) else repr(float(f"{float(value):.{DIGITS}g}"))


def _moves(reading: Reading, rates: Rates, integrator: Integrator, limits: Sequence[Limit], name: str) -> list[str]:
    """The function of one physics step, and the function of rates where the integrator asks for them more than once."""
    changes = dict(rates.changes)
    moving = [c for c in reading.coordinates if c.velocity is not None and c.velocity in changes]
    plain = [c.name for c in reading.coordinates if c.velocity is None and c.name in changes]
    after = {
        phase: [line for limit in limits if limit.phase == phase for line in limit.lines]
        for phase in ("velocity", "coordinate")
    }
    updated = [*(c.name for c in moving), *(c.velocity for c in moving if c.velocity), *plain]
    blocks, lines = [], []
    if integrator == "rk4" and updated:
        speeds = [_speed(rates, c, "state.") for c in moving]
        sums = {of: changes[of] for of in (*(c.velocity for c in moving if c.velocity), *plain)}
        long = [f"{of}_rate = {change}" for of, change in sums.items() if len(change) > LONG_CHANGE]
        given = [f"{of}_rate" if len(change) > LONG_CHANGE else change for of, change in sums.items()]
        body = [*rates.lines, *long, f"return ({', '.join([*speeds, *given])},)"]
        blocks.append(
            "\n".join(["def rates(state, action):", '    """How fast each field changes."""', *_indented(body)])
        )
        shift = ", ".join(f"{field}=state.{field} + time * slope[{i}]" for i, field in enumerate(updated))
        nudge = [
            "def nudged(state, slope, time):",
            '    """The state after a time of even change."""',
            *_indented([f"return state._replace({shift})"]),
        ]
        blocks.append("\n".join(nudge))
        lines += ["k1 = rates(state, action)", "k2 = rates(nudged(state, k1, DT / 2), action)"]
        lines += ["k3 = rates(nudged(state, k2, DT / 2), action)", "k4 = rates(nudged(state, k3, DT), action)"]
        lines += [
            f"{f} = state.{f} + DT / 6 * (k1[{i}] + 2 * k2[{i}] + 2 * k3[{i}] + k4[{i}])" for i, f in enumerate(updated)
        ]
        lines += [*after["velocity"], *after["coordinate"]]
    else:
        begin, end = ("", "") if integrator == "none" else ("DT * (", ")")
        early = "state." if integrator == "explicit" else ""
        assigned = {
            c.velocity: f"{c.velocity} = state.{c.velocity} + {begin}{changes[c.velocity]}{end}"
            for c in moving
            if c.velocity
        }
        assigned |= {field: f"{field} = state.{field} + {begin}{changes[field]}{end}" for field in plain}
        moved = {c.name: f"{c.name} = state.{c.name} + DT * {_speed(rates, c, early, whole=True)}" for c in moving}
        lines += rates.lines
        if any("new." in change for change in changes.values()):
            lines += _one_after_another(reading, {**assigned, **moved}, integrator, limits)
        else:
            lines += [*assigned.values(), *after["velocity"], *moved.values(), *after["coordinate"]]
    returned = [f"{field}={field}" for field in updated] + [f"{name}={change}" for name, _, change in rates.memory]
    lines.append(f"return state._replace({', '.join(returned)})")
    doc = '    """One step."""' if name == "step" else '    """One physics step."""'
    return [*blocks, "\n".join([f"def {name}(state, action):", doc, *_indented(lines)])]


def in_order(
    reading: Reading, needs: Mapping[str, Collection[str]], integrator: Integrator | None = None
) -> list[str] | None:
    """Fields in an order in which each comes after those whose new
    values it needs; None where they need each other in a circle.
    """
    integrator = integrator or reading.integrator
    wanted = {field: set(needs.get(field, ())) for field in reading.state_names}
    for c in reading.coordinates:
        if c.velocity is not None and integrator != "explicit":
            wanted[c.name].add(c.velocity)
    usual = [*(c.velocity or c.name for c in reading.coordinates), *(c.name for c in reading.coordinates if c.velocity)]
    order: list[str] = []
    while len(order) < len(usual):
        ready = next((field for field in usual if field not in order and wanted[field] <= {*order, field}), None)
        if ready is None or ready in wanted[ready]:
            return None
        order.append(ready)
    return order


def _one_after_another(
    reading: Reading, assigned: Mapping[str, str], integrator: Integrator, limits: Sequence[Limit]
) -> list[str]:
    """Assignments in an order in which new values that are needed are there, each limit right after its fields."""
    order = in_order(
        reading, {field: re.findall(r"\bnew\.(\w+)", line) for field, line in assigned.items()}, integrator
    )
    if order is None:
        raise ValueError("fields of one program need each other's new values in a circle")
    order = [field for field in order if field in assigned]
    waiting, lines = list(limits), []
    for place, field in enumerate(order):
        lines.append(re.sub(r"\bnew\.", "", assigned[field]))
        for limit in [limit for limit in waiting if not set(limit.of) & set(order[place + 1 :])]:
            lines += limit.lines
            waiting.remove(limit)
    return lines


def _speed(rates: Rates, coordinate: Coordinate, early: str, *, whole: bool = False) -> str:
    """How fast a coordinate moves: by its own velocity or, in a chain, by a sum of several."""
    parts = dict(rates.speeds).get(coordinate.name, ((str(coordinate.velocity), coordinate.velocity_scale),))
    factors = ["" if abs(factor) == 1 else f"{abs(factor):g} * " for _, factor in parts]
    text = " ".join(
        f"{'-' if f < 0 else '+'} {times}{early}{v}" for (v, f), times in zip(parts, factors, strict=True)
    ).removeprefix("+ ")
    return f"({text})" if whole and " " in text else text


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {part}" if part else "" for line in lines for part in _wrapped(line)]


def _wrapped(line: str) -> list[str]:
    """A line, or where it is long its last brackets opened: entries of a list, or summands, on lines of their own."""
    if len(line) <= WIDTH:
        return [line]
    first = _last_bracket(line)
    name, equals, value = line.partition(" = ")
    if first is None or len(_parted(line[first + 1 : -1], ", ")) + len(summands(line[first + 1 : -1])) == 2:
        return _wrapped(f"{name} = ({value})") if equals and len(summands(value)) > 1 else [line]
    inner = line[first + 1 : -1]
    entries = [entry for entry in _parted(inner, ", ") if entry]
    if len(entries) > 1:
        parts = _packed([f"{entry.rstrip(',')}," for entry in entries])
    else:
        parts = [part if k == 0 else f"+ {part}" for k, part in enumerate(summands(inner))]
        if len(parts) == 1:
            return [line]
    return [line[: first + 1], *_indented(parts), line[-1]]


def _last_bracket(line: str) -> int | None:
    """Where the bracket opens that closes at the end of a line."""
    if not line.endswith(")"):
        return None
    depth = 0
    for k in range(len(line) - 1, -1, -1):
        depth += (line[k] == ")") - (line[k] == "(")
        if depth == 0:
            return k
    return None


def _packed(parts: Sequence[str]) -> list[str]:
    """Short parts beside each other, as many as a line takes; long ones alone."""
    lines: list[str] = []
    for part in parts:
        if lines and len(part) < SHORT_ENTRY and len(lines[-1]) + len(part) < WIDTH - 4:
            lines[-1] += f" {part}"
        else:
            lines.append(part)
    return lines
