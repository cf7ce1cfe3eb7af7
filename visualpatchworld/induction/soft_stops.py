"""Soft stops that act as forces: where a coordinate is pushed back, and how hard, found from the steps that a law does not explain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.induction.draft import Draft, Stretches
from visualpatchworld.induction.motion import Limit, Number, Rates, gained
from visualpatchworld.induction.reading import Coordinate, Reading
from visualpatchworld.induction.settle import roll_columns, settle
from visualpatchworld.induction.terms import Rows
from visualpatchworld.laws.limits import stop_body, stop_links

LEAST_ROWS = 4  # beyond an end
MOST_ROWS = 300  # that constants are fitted to
PURE = 0.6  # of the steps beyond an end are events
TIMES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # in steps: how long a stop takes to bring its body back
GIVES = tuple(10.0**k for k in range(-5, 6))
KEEPS = (0.02, 0.1, 0.3)
RATIOS = (0.3, 1.0)  # of damping: how much of what just keeps a stop from swinging
DIGITS = (1, 2, 3, 4)
ROUNDS = 40  # of refining
NEAR = 1e-4  # how far a short number may be from the end that was fitted

Build = Callable[[Sequence[Limit]], Draft]


class _End(NamedTuple):
    """An end of a coordinate's range: which side, where, and the steps that reach beyond it."""

    side: int
    edge: float
    beyond: Bool[np.ndarray, " N"]


class _Stop(NamedTuple):
    """A soft stop of a coordinate with its constants."""

    coordinate: Coordinate
    low: float
    high: float
    stiffness: float
    braking: float
    give: float

    def limit(self, rates: Rates) -> Limit:
        name, velocity = self.coordinate.name, str(self.coordinate.velocity)
        upper = name.upper()
        way = next((way for way in rates.ways if way.coordinate == name), None)
        ends = {"LOW": self.low, "HIGH": self.high}
        texts = {word: f"{upper}_{word}_END" if np.isfinite(end) else f"{'-' * (end < 0)}np.inf" for word, end in ends.items()}
        last = "GIVE" if way is not None else "KEEP"
        numbers = [
            Number(texts[word], end, doc=f"beyond it {name} is pushed back", free=True) for word, end in ends.items() if np.isfinite(end)
        ]
        numbers += [
            Number(f"{upper}_STOP_STIFFNESS", self.stiffness, "1/s^2", "acceleration of the stop per depth"),
            Number(f"{upper}_STOP_BRAKING", self.braking, "1/s", "the same per speed"),
            Number(
                f"{upper}_STOP_{last}", self.give, doc="what the stop gives way to force" if way else "part of other forces that it leaves"
            ),
        ]
        given = f"{texts['LOW']}, {texts['HIGH']}, {upper}_STOP_STIFFNESS, {upper}_STOP_BRAKING, {upper}_STOP_{last}"
        if way is not None:
            line = f"forces = stop_links(forces, mass, {way.shares}, state.{name}, {way.speed}, {given})"
            return Limit("force", (line,), tuple(numbers), "soft stop", (name,), (stop_links,))
        line = f"{gained(velocity)} = stop_body({gained(velocity)}, state.{name}, state.{velocity}, {given})"
        return Limit("force", (line,), tuple(numbers), "soft stop", (name,), (stop_body,))

    def with_constants(self, draft: Draft) -> _Stop:
        """The stop with the constants of a draft that holds it."""
        values, upper = draft.program.constants, self.coordinate.name.upper()
        return self._replace(
            low=values.get(f"{upper}_LOW_END", self.low),
            high=values.get(f"{upper}_HIGH_END", self.high),
            stiffness=values[f"{upper}_STOP_STIFFNESS"],
            braking=values[f"{upper}_STOP_BRAKING"],
            give=values.get(f"{upper}_STOP_GIVE", values.get(f"{upper}_STOP_KEEP", self.give)),
        )


def soft_stops(
    reading: Reading,
    rates: Rates,
    rows: Rows,
    off: Float[np.ndarray, "N S"],
    tolerance: Float[np.ndarray, " S"],
    build: Build,
    taken: Sequence[Limit],
) -> list[Limit]:
    """Soft stops of coordinates that events gather beyond an end of; `off` is what the present draft misses each step by."""
    found = []
    stopped = {name for limit in taken if limit.law == "soft stop" for name in limit.of}
    changing = {of for of, _ in rates.changes}
    for coordinate in reading.coordinates:
        if coordinate.velocity is None or coordinate.velocity not in changing or coordinate.name in stopped:
            continue
        ends = _ends(coordinate, rows, off, tolerance)
        if ends:
            stop = _fitted(coordinate, ends, reading, rates, rows, tolerance, build, taken)
            found += [stop.limit(rates)] if stop is not None else []
    return found


def _ends(coordinate: Coordinate, rows: Rows, off: Float[np.ndarray, "N S"], tolerance: Float[np.ndarray, " S"]) -> list[_End]:
    """Where steps turn from usual ones to events that push the coordinate back."""
    i, j = rows.names.index(coordinate.name), rows.names.index(str(coordinate.velocity))
    events = np.any(np.abs(off) > tolerance, axis=1)
    found = []
    for side in (1, -1):
        # What the law without the stop would reach, or where the step began.
        reach = np.maximum(side * rows.before[:, i], side * (rows.after[:, i] - off[:, i]))
        order = np.argsort(-reach, kind="stable")
        gains = np.cumsum(np.where(events[order], 1.0, -1.0))
        count = int(np.argmax(gains)) + 1
        beyond = np.zeros(len(reach), bool)
        beyond[order[:count]] = True
        hit = beyond & events
        if hit.sum() < LEAST_ROWS or hit.sum() < PURE * count or count == len(reach):
            continue
        if np.median(side * off[hit, j]) >= 0:
            continue
        found.append(_End(side, side * float(reach[order[count - 1]] + reach[order[count]]) / 2, beyond))
    return found


def _fitted(
    coordinate: Coordinate,
    ends: Sequence[_End],
    reading: Reading,
    rates: Rates,
    rows: Rows,
    tolerance: Float[np.ndarray, " S"],
    build: Build,
    taken: Sequence[Limit],
) -> _Stop | None:
    """The constants of a stop with these ends: scanned on a coarse grid, then refined on the steps beyond them."""
    beyond = np.flatnonzero(np.any([end.beyond for end in ends], axis=0))
    beyond = beyond[np.unique(np.linspace(0, len(beyond) - 1, min(MOST_ROWS, len(beyond))).astype(int))]
    steps = Stretches(rows.before[beyond], rows.actions[beyond][:, None], rows.after[beyond][:, None])
    edges = {end.side: end.edge for end in ends}
    chained = any(way.coordinate == coordinate.name for way in rates.ways)
    gives = GIVES if chained else KEEPS
    first = _Stop(coordinate, edges.get(-1, -np.inf), edges.get(1, np.inf), 1.0, 1.0, gives[0])
    limit = first.limit(rates)
    try:
        draft = build([*taken, limit])
    except (ValueError, NameError):  # two laws of one name
        return None
    names = [number.name for number in limit.numbers]
    place = np.array([float(number.value) for number in limit.numbers])

    def bits(places: Float[np.ndarray, "V C"]) -> Float[np.ndarray, " V"]:
        given = roll_columns(draft.program, steps, {name: places[:, c, None] for c, name in enumerate(names)})
        missed = np.abs(given - steps.truths)[:, :, 0] / tolerance
        missed = np.where(np.isfinite(missed), missed, 1e9)
        return np.sum(np.log2(1 + np.max(missed, axis=-1)), axis=-1)

    grid = np.array(list(product(TIMES, RATIOS, gives)))
    scanned = np.repeat(place[None], len(grid), axis=0)
    scanned[:, -3] = 1 / (grid[:, 0] * reading.dt) ** 2
    scanned[:, -2] = 2 * grid[:, 1] / (grid[:, 0] * reading.dt)
    scanned[:, -1] = grid[:, 2]
    best = scanned[int(np.argmin(bits(scanned)))]
    started = replace(draft, program=draft.program.edited(dict(zip(names, best.tolist(), strict=True))))
    settled = settle(started.program, names, steps, rounds=ROUNDS)
    options = [best, np.array([settled.values[name] for name in names])]
    options += [_shortened(options[1], len(edges), digits) for digits in DIGITS]
    left = bits(np.array(options))
    taken_one = next((k for k in (2, 3, 4, 5) if left[k] <= 1.02 * left[1] + 1), int(np.argmin(left[:2])))
    values = dict(zip(names, options[taken_one].tolist(), strict=True))
    return first.with_constants(replace(draft, program=draft.program.edited(values)))


def _shortened(place: Float[np.ndarray, " C"], ends: int, digits: int) -> Float[np.ndarray, " C"]:
    """The constants with ends, which come first, as numbers of so many digits where those are near."""
    return np.array([_short(value, digits) if k < ends else value for k, value in enumerate(place.tolist())])


def _short(value: float, digits: int) -> float:
    option = float(f"{value:.{digits}g}")
    return option if abs(option - value) <= NEAR * abs(value) else value
