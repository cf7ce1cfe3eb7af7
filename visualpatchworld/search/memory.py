"""Memory: fields that no column shows, whose past follows from what was seen and done since an episode began.

Late actions, actuators that follow slowly, clocks, timers and switches with two thresholds. Each proposal is a hidden
field with its values in every row; whether it is worth its bits is for the search to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from visualpatchworld.grammar.expr import Expr, call, number, var
from visualpatchworld.search.motion import Rate
from visualpatchworld.search.rows import Field, Rows, choice_name
from visualpatchworld.search.rules import Rule, before

DELAYS = (1, 2, 3, 4, 5)  # steps that an action may take to act
LAGS = tuple(np.linspace(0.15, 0.97, 14))  # how much of an actuator's old value is left after a step
PERIODS = range(2, 21)  # steps of a hidden timer
LAGGED = " lagged"  # ends the name of a slow actuator
NO_CHOICE = -1.0  # waits in a queue where no choice was made yet
LEVELS = 9  # quantiles between which both thresholds of a switch are looked for


@dataclass(frozen=True)
class Memory:
    """Hidden fields, their values before and after every row, how they are kept, and what terms see of them."""

    name: str
    fields: tuple[Field, ...]
    before: Float[np.ndarray, "N h"]
    after: Float[np.ndarray, "N h"]
    seen: tuple[tuple[Expr, Expr], ...]  # what in terms is replaced by what, one pair per input; none adds the field
    rules: tuple[Rule, ...] = ()
    rates: tuple[tuple[str, Rate], ...] = ()
    bits: float = 20.0

    def added(self, rows: Rows) -> Rows:
        """The rows with the hidden fields beside the others."""
        return replace(
            rows,
            fields=(*rows.fields, *self.fields),
            before=np.concatenate([rows.before, self.before], axis=1),
            after=np.concatenate([rows.after, self.after], axis=1),
            floors=np.concatenate([rows.floors, np.full(len(self.fields), 1e-11)]),
        )


def memories(rows: Rows) -> Iterator[Memory]:
    """Proposals, the simplest first."""
    yield clock(rows)
    for name in _actions(rows):
        for steps in DELAYS:
            yield delay(rows, name, steps)
    for name in _actions(rows):
        for left in LAGS:
            yield lag(rows, name, float(left))


def _actions(rows: Rows) -> list[str]:
    """The columns of an action, numbers or choices."""
    return [name for name in rows.inputs if name.startswith("action_") and "_is_" not in name]


def clock(rows: Rows) -> Memory:
    """Steps since the episode began."""
    time = rows.time.astype(float)[:, None]
    rate = Rate((number(1.0),), (1.0,))
    return Memory("clock", (Field("clock", ()),), time, time + 1.0, (), rates=(("clock", rate),), bits=10.0)


def delay(rows: Rows, name: str, steps: int) -> Memory:
    """An action that acts some steps later; before the first one, nothing is done."""
    names = [f"{name}_due_{k}" for k in range(steps)]
    raw = rows.inputs[name]
    chosen = name in rows.choices
    nothing = NO_CHOICE if chosen else 0.0
    known = np.concatenate([_past(rows, raw, steps - k, nothing)[:, None] for k in range(steps + 1)], axis=1)
    fields = tuple(Field(n, (), "whole" if chosen else "plain", nothing) for n in names)
    moved = (*((a, before(b)) for a, b in pairwise(names)), (names[-1], var(name)))
    rule = Rule((), moved, "step")
    if chosen:
        pairs = tuple(
            (var(f"{name}_is_{c}"), call("where", call("eq", var(names[0]), float(c)), 1.0, 0.0))
            for c in range(rows.choices[name])
        )
    else:
        pairs = ((var(name), var(names[0])),)
    return Memory(
        f"{name}, {steps} steps late", fields, known[:, :steps], known[:, 1:], pairs, (rule,), bits=15.0 + 5.0 * steps
    )


def _past(rows: Rows, column: np.ndarray, steps: int, nothing: float) -> np.ndarray:
    """The column so many steps ago, and what stands for nothing before an episode."""
    if not steps:
        return column
    found = np.full_like(column, nothing)
    found[steps:] = np.where(rows.time[steps:] >= steps, column[:-steps], nothing)
    return found


def lag(rows: Rows, name: str, left: float) -> Memory:
    """An actuator that follows an action, `left` of its old value remaining after a step; one for each choice."""
    wanted = [choice_name(name, c) for c in range(rows.choices[name])] if name in rows.choices else [name]
    fields = [f"{name}_lagged_{c}" if name in rows.choices else f"{name}_lagged" for c in range(len(wanted))]
    asked = np.stack([rows.inputs[column] for column in wanted], axis=1)
    start, end = np.zeros_like(asked), np.zeros_like(asked)
    for t in range(int(rows.time.max()) + 1):
        here = np.flatnonzero(rows.time == t)
        start[here] = end[here - 1] if t else 0.0
        end[here] = left * start[here] + (1 - left) * asked[here]
    pairs = list(zip(wanted, fields, strict=True))
    return Memory(
        f"{name}{LAGGED}",
        tuple(Field(field, ()) for field in fields),
        start,
        end,
        tuple((var(column), var(field)) for column, field in pairs),
        rates=tuple((field, Rate((var(column), var(field)), (1 - left, left - 1))) for column, field in pairs),
        bits=30.0,
    )


def timers(rows: Rows) -> Iterator[Memory]:
    """Counters that go round, and pass an action on in part of their round only."""
    for period in PERIODS:
        value = (rows.time % period).astype(float)[:, None]
        after = ((rows.time + 1) % period).astype(float)[:, None]
        name = "timer"
        tick = Rule((), ((name, var(name) + 1.0),), "step")
        round_off = Rule((call("gt", var(name), number(period - 0.5)),), ((name, number(0.0)),), "step")
        yield Memory(f"a timer of {period} steps", (Field(name, (), "whole"),), value, after, (), (tick, round_off))


def switches(rows: Rows) -> Iterator[Memory]:
    """Switches that go on beyond one value of a field and off beyond another."""
    for f in rows.fields:
        if f.kind != "plain" or not f.columns:
            continue
        x = rows.before[:, rows.at(f.name)]
        levels = np.quantile(x, np.linspace(0.08, 0.92, LEVELS))
        for i, low in enumerate(levels):
            for high in levels[i + 1 :]:
                yield switch(rows, f.name, float(low), float(high))


def switch(rows: Rows, name: str, low: float, high: float) -> Memory:
    """On below `low`, off above `high`, as it was between; set before motion."""
    x = rows.before[:, rows.at(name)]
    mode, old, now = "mode", np.zeros(len(rows)), np.zeros(len(rows))
    for t in range(int(rows.time.max()) + 1):
        here = np.flatnonzero(rows.time == t)
        old[here] = now[here - 1] if t else 0.0
        now[here] = np.where(x[here] < low, 1.0, np.where(x[here] > high, 0.0, old[here]))
    rules = (
        Rule((call("lt", var(name), number(low, free=True)),), ((mode, number(1.0)),), "first"),
        Rule((call("gt", var(name), number(high, free=True)),), ((mode, number(0.0)),), "first"),
    )
    # Motion sees the mode as it is after the switch.
    return Memory(f"a switch by {name}", (Field(mode, (), "whole"),), now[:, None], now[:, None], (), rules, bits=40.0)
