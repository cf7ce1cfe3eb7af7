"""Terms: the small expressions that sums are made of, as code of the program and as columns of
a regression; and the scope in which they are written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from visualpatchworld.induction.reading import Coordinate, Reading

INNER = "{inner}"  # where a term's own constant goes

WIDE = 10  # with more state fields than this, products of others are left out
FEW = 4  # state fields up to which rarer products and rates are tried
OFTEN = 10  # steps that begin at the least value of a field that is clipped there


@dataclass(frozen=True)
class Term:
    """One summand without its factor: code over `state`, `new` and
    `action`, the law it belongs to, and what its factor is called.

    `new.FIELD` is the value that the same step has just given to a field: worlds that update one field after another
    use it.

    A term may hold one constant of its own (a frequency, a threshold): `grid` has the values that are tried, `inner`
    the one taken.
    """

    code: str
    law: str
    label: str
    cost: float = 1.0
    of: tuple[str, ...] = ()
    grid: tuple[float, ...] = ()
    inner: float | None = None
    inner_label: str = ""
    smooth: bool = True  # whether a small change of the inner constant changes anything smoothly
    reach: tuple[float, float] | None = None  # the range of the grid that the inner constant was taken from

    def at(self, inner: float) -> Term:
        """The term with its own constant set."""
        return replace(
            self, inner=float(inner), grid=(), reach=(min(self.grid), max(self.grid)) if self.grid else self.reach
        )

    @property
    def within_reach(self) -> bool:
        """Whether its own constant is about where it was looked
        for; far outside a term degenerates into another one.
        """
        if self.inner is None or self.reach is None:
            return True
        slack = 0.5 * (self.reach[1] - self.reach[0])
        return self.reach[0] - slack <= self.inner <= self.reach[1] + slack

    def with_new(self, fields: Sequence[str]) -> Term:
        """The term with the new values of these fields in place of the old ones."""
        return replace(self, code=re.sub(rf"\bstate\.({'|'.join(map(re.escape, fields))})\b", r"new.\1", self.code))

    def column(self, namespace: Mapping[str, Any], count: int) -> Float[np.ndarray, " N"]:
        """The term's value in every row."""
        values = dict(namespace) if self.inner is None else {**namespace, "inner_": self.inner}
        text = self.code.replace(INNER, "inner_")
        with np.errstate(all="ignore"):
            return np.broadcast_to(np.asarray(eval(text, {"np": np}, values), float), (count,))


class Rows(NamedTuple):
    """N steps: states before and after, the actions between, and the trajectory and time each step is from."""

    names: tuple[str, ...]  # of the columns of states
    before: Float[np.ndarray, "N S"]
    after: Float[np.ndarray, "N S"]
    actions: Float[np.ndarray, "N A"]
    episode: Int[np.ndarray, " N"]
    time: Int[np.ndarray, " N"]
    angles: tuple[int, ...] = ()  # columns of states that act through their sine and cosine


def rows_of(
    names: Sequence[str],
    states: Sequence[Float[np.ndarray, "T+1 S"]],
    actions: Sequence[Float[np.ndarray, "T A"]],
    angles: tuple[int, ...] = (),
) -> Rows:
    """Every step of these trajectories."""
    lengths = [len(acted) for acted in actions]
    return Rows(
        tuple(names),
        np.concatenate([s[:-1] for s in states]),
        np.concatenate([s[1:] for s in states]),
        np.concatenate(list(actions)),
        np.concatenate([np.full(n, i) for i, n in enumerate(lengths)]),
        np.concatenate([np.arange(n) for n in lengths]),
        angles,
    )


def joined(one: Rows, other: Rows) -> Rows:
    """All steps of both, as of different trajectories."""
    later = other.episode + int(one.episode.max(initial=-1)) + 1
    return Rows(
        one.names,
        np.concatenate([one.before, other.before]),
        np.concatenate([one.after, other.after]),
        np.concatenate([one.actions, other.actions]),
        np.concatenate([one.episode, later]),
        np.concatenate([one.time, other.time]),
        one.angles,
    )


def namespace(
    names: Sequence[str],
    states: Float[np.ndarray, "N S"],
    actions: Float[np.ndarray, "N A"],
    after: Float[np.ndarray, "N S"] | None = None,
) -> dict[str, Any]:
    """What code of a term may speak of: `state` with arrays as its
    fields, `action`, and `new` where the states after are given.
    """
    known: dict[str, Any] = {"state": SimpleNamespace(**dict(zip(names, states.T, strict=True))), "action": actions.T}
    if after is not None:
        known["new"] = SimpleNamespace(**dict(zip(names, after.T, strict=True)))
    return known


def _at_rows(space: Mapping[str, Any], rows: Int[np.ndarray, " P"]) -> dict[str, Any]:
    return {
        name: part[:, rows]
        if name == "action"
        else SimpleNamespace(**{field: values[rows] for field, values in vars(part).items()})
        for name, part in space.items()
    }


class Samples(NamedTuple):
    """Where along a step the terms are looked at, and with what
    weights: their mean is taken as the term's mean over the step.
    """

    weights: tuple[float, ...]
    spaces: tuple[dict[str, Any], ...]
    count: int
    # Where terms are averaged over windows of steps: the first row of each.
    windows: Int[np.ndarray, " M"] | None = None
    length: int = 1
    picked: Int[np.ndarray, " P"] | None = None  # where only some rows or windows are looked at

    def column(self, term: Term) -> Float[np.ndarray, " N"]:
        """The term's mean over the step, in every row (or over the steps of every window)."""
        values = np.asarray(
            sum(
                weight * term.column(space, self.count) for weight, space in zip(self.weights, self.spaces, strict=True)
            ),
            float,
        )
        pooled = self.pooled(values)
        return pooled if self.picked is None else pooled[self.picked]

    def only(self, rows: Int[np.ndarray, " P"]) -> Samples:
        """The same at these rows (or windows) alone."""
        if self.windows is not None:
            return self._replace(picked=rows)
        return self._replace(spaces=tuple(_at_rows(space, rows) for space in self.spaces), count=len(rows))

    def pooled(self, values: Float[np.ndarray, " N"]) -> Float[np.ndarray, " M"]:
        """Means over the windows; the values themselves where there are none."""
        if self.windows is None:
            return values
        total = np.concatenate([[0.0], np.cumsum(values)])
        return (total[self.windows + self.length] - total[self.windows]) / self.length


def samples_at_start(rows: Rows) -> Samples:
    """Terms as they are when the step begins: exact for integrators that look there alone."""
    return Samples((1.0,), (namespace(rows.names, rows.before, rows.actions, rows.after),), len(rows.before))


def samples_along(rows: Rows, pairs: Sequence[tuple[int, int]], dt: float) -> Samples:
    """Terms at the start, the middle and the end, weighted as Simpson
    does; `pairs` are columns of coordinates and their velocities.
    """
    middle = (rows.before + rows.after) / 2
    for place, speed in pairs:
        moved = rows.after[:, place] - rows.before[:, place]
        middle[:, place] += dt * (rows.before[:, speed] - rows.after[:, speed]) / 8
        middle[:, speed] = 1.5 * moved / dt - (rows.before[:, speed] + rows.after[:, speed]) / 4
    spaces = tuple(namespace(rows.names, states, rows.actions) for states in (rows.before, middle, rows.after))
    return Samples((1 / 6, 4 / 6, 1 / 6), spaces, len(rows.before))


def samples_in_windows(samples: Samples, rows: Rows, usable: Bool[np.ndarray, " N"], length: int) -> Samples:
    """The same terms averaged over windows of steps: noise of
    observations counts once per window, a law in every step of it.
    """
    last = len(rows.episode) - length
    first = np.arange(0, max(last + 1, 0), max(1, length // 2))
    whole = (rows.episode[first] == rows.episode[first + length - 1]) & (
        rows.time[first + length - 1] - rows.time[first] == length - 1
    )
    bad = np.concatenate([[0], np.cumsum(~usable)])
    clear = bad[first + length] == bad[first]
    return samples._replace(windows=first[whole & clear], length=length)


@dataclass(frozen=True)
class Scope:
    """What terms for the rate of one coordinate (its velocity's, where it has one) are written with."""

    reading: Reading
    own: Coordinate
    rows: Rows
    inputs: Sequence[Term]  # actions as they are, and what follows from them without a constant inside
    shaped: Sequence[Term]  # ... with one: saturated, beyond a dead zone

    @property
    def place(self) -> str:
        return f"state.{self.own.name}"

    @property
    def speed(self) -> str:
        return f"state.{self.own.velocity}"

    @property
    def wide(self) -> bool:
        return len(self.reading.state_names) > WIDE

    @cached_property
    def spans(self) -> Mapping[str, tuple[float, float]]:
        """The least and the largest value of every field that was seen."""
        columns = zip(self.rows.names, self.rows.before.T, strict=True)
        return {name: (float(column.min()), float(column.max())) for name, column in columns}

    @cached_property
    def emptied(self) -> frozenset[str]:
        """Fields that often stand at their least value, as an empty tank does."""
        columns = zip(self.rows.names, self.rows.before.T, strict=True)
        return frozenset(name for name, column in columns if (column == self.spans[name][0]).sum() >= OFTEN)

    @cached_property
    def binary(self) -> list[str]:
        """Fields of two values, of which every function is a straight line."""
        return [n for n, column in zip(self.rows.names, self.rows.before.T, strict=True) if len(np.unique(column)) <= 2]

    @cached_property
    def others(self) -> list[Coordinate]:
        return [c for c in self.reading.coordinates if c is not self.own]

    @cached_property
    def turning(self) -> list[Coordinate]:
        """Coordinates whose sines and cosines can be told from a straight line in the range that was seen."""

        def may_turn(c: Coordinate) -> bool:
            low, high = self.spans[c.name]
            return c.angle or (high - low < 60 and max(abs(low), abs(high)) > 0.02)

        return [c for c in self.reading.coordinates if may_turn(c)]

    @cached_property
    def straight(self) -> list[str]:
        """Names of fields that are no angle."""
        angles = {c.name for c in self.reading.coordinates if c.angle}
        return [name for name in self.reading.state_names if name not in angles]

    @cached_property
    def seen(self) -> list[str]:
        """Of those, fields that are columns of the rows."""
        return [name for name in self.straight if name in self.spans]

    @cached_property
    def speeds(self) -> list[str]:
        return [c.velocity for c in self.reading.coordinates if c.velocity]

    @cached_property
    def singles(self) -> list[Term]:
        """Actions as they are, one at a time."""
        return [term for term in self.inputs if term.cost <= 1.01]

    @cached_property
    def bounded(self) -> list[Term]:
        """Actions that end at, or begin beyond, an amount of their own."""
        return [term for term in self.shaped if term.grid and term.law in ("saturation", "dead zone")]

    def span(self, name: str) -> tuple[float, float]:
        """The range of a field; nothing for one that no column shows."""
        return self.spans.get(name, (0.0, 0.0))

    def one_sided(self, name: str) -> bool:
        """Whether a field was only seen on one side of zero, so that it can be divided by."""
        low, high = self.span(name)
        return low > 0 or high < 0

    def two_sided(self, name: str) -> bool:
        low, high = self.span(name)
        return low < 0 < high


def plainly(c: Coordinate) -> bool:
    """Whether a coordinate itself may stand in a law, and not only its sine and cosine."""
    return not (c.angle and (c.wraps or len(c.columns) == 2))


def labelled(*words: str) -> str:
    """The name of a factor."""
    return "_".join(word for word in words if word).upper()
