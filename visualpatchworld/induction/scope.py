"""What a rate may be made of: the fields of the State and their ranges, and actions as they act."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from visualpatchworld.induction.events import begins_anew
from visualpatchworld.induction.reading import Coordinate, Reading
from visualpatchworld.induction.regress import shortest_between
from visualpatchworld.induction.terms import Rows, Term

WIDE = 10  # with more state fields than this, products of others are left out
FEW = 4  # state fields up to which rarer products and rates are tried
DEGREES = (60.0, 3600.0)  # the least range, and the largest value, of an angle in degrees
CASES = 8  # values up to which a field is one of several cases, and no clock
OFTEN = 10  # steps that begin at the least value of a field that is clipped there


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
            anew = c.name in self.periods or self.in_degrees(c)
            return c.angle or anew or (high - low < 60 and max(abs(low), abs(high)) > 0.02)

        return [c for c in self.reading.coordinates if may_turn(c)]

    def in_degrees(self, c: Coordinate) -> bool:
        """Whether a coordinate would be an angle in degrees, were it one."""
        low, high = self.spans[c.name]
        return not c.angle and DEGREES[0] <= high - low and max(-low, high) <= DEGREES[1]

    @cached_property
    def periods(self) -> Mapping[str, float]:
        """After how much a field begins anew, of those that do: an hour of the day, a heading."""
        found = {}
        for c in self.reading.coordinates:
            k = self.rows.names.index(c.name)
            before, after = self.rows.before[:, k], self.rows.after[:, k]
            anew = begins_anew(before, after)
            if c.angle or not anew.any() or len(np.unique(before)) <= CASES:
                continue
            moved = np.abs(after - before)
            longest, least = float(moved[~anew].max()), float(moved[anew].min())
            span = float(max(before.max(), after.max()) - min(before.min(), after.min()))
            even = longest - float(moved[~anew].min()) < 1e-9 * span
            found[c.name] = least + longest if even else shortest_between(span, least + longest)
        return found

    def wave(self, wave: str, c: Coordinate) -> str:
        """The sine or cosine of a coordinate."""
        if c.name in self.periods:
            return f"np.{wave}(2 * np.pi * state.{c.name} / {self.periods[c.name]:.9g})"
        return f"np.{wave}(np.radians(state.{c.name}))" if self.in_degrees(c) else f"np.{wave}(state.{c.name})"

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
    def stores(self) -> list[str]:
        """Fields on one side of zero that are no place of anything that moves: what is left of fuel, a charge."""
        return [c.name for c in self.others if c.velocity is None and not c.angle and self.one_sided(c.name)]

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
