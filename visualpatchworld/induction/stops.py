"""Stops that act as forces: soft ones that push a coordinate back, and dry friction that holds a body still."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.induction.clock import NO_LIMIT, Clock
from visualpatchworld.induction.draft import Draft, Stretches
from visualpatchworld.induction.march import roll_columns
from visualpatchworld.induction.motion import Limit, Number, Rates, gained, summands
from visualpatchworld.induction.reading import Coordinate, Reading
from visualpatchworld.induction.terms import Rows
from visualpatchworld.laws.chain import stop_body, stop_links

LEAST_ROWS = 4  # beyond an end
MOST_ROWS = 300  # that constants are fitted to
PURE = 0.6  # of the steps beyond an end are events
TIMES = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0, 8.0, 16.0)  # in steps: how long a stop takes to bring its body back
GIVES = tuple(10.0**k for k in range(-5, 6))
KEEPS = (0.02, 0.1, 0.3)
RATIOS = (0.3, 1.0)  # of damping: how much of what just keeps a stop from swinging
DIGITS = (1, 2, 3, 4)
SLACK = 0.01  # of a coordinate's range: how far off an end may have been read from the steps alone
FAR, SCANNED = 0.3, 121  # of a coordinate's range, to either side of an end; and ends that are tried there
NARROWER, NARROWINGS = 30.0, 6  # how often, and how much closer each time
STARTS, ROUNDS, TRIES = 8, 40, 6  # of refining
NUDGE = 1e-6
NEAR = 1e-4  # how far a short number may be from the end that was fitted
STICKING, HALTING = "stick", "halt"  # names of laws
LEAST_HALTS = 2  # steps in which a body comes to a stand instead of turning back

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
        texts = {
            word: f"{upper}_{word}_END" if np.isfinite(end) else f"{'-' * (end < 0)}np.inf"
            for word, end in ends.items()
        }
        last = "GIVE" if way is not None else "KEEP"
        numbers = [
            Number(texts[word], end, doc=f"beyond it {name} is pushed back", free=True)
            for word, end in ends.items()
            if np.isfinite(end)
        ]
        numbers += [
            Number(f"{upper}_STOP_STIFFNESS", self.stiffness, "1/s^2", "acceleration of the stop per depth"),
            Number(f"{upper}_STOP_BRAKING", self.braking, "1/s", "the same per speed"),
            Number(
                f"{upper}_STOP_{last}",
                self.give,
                doc="what the stop gives way to force" if way else "part of other forces that it leaves",
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
    clock: Clock = NO_LIMIT,
) -> list[Limit]:
    """Soft stops of coordinates that events gather beyond an end
    of; `off` is what the present draft misses each step by.
    """
    found = []
    stopped = {name for limit in taken if limit.law == "soft stop" for name in limit.of}
    changing = {of for of, _ in rates.changes}
    for coordinate in reading.coordinates:
        if (
            coordinate.velocity is None
            or coordinate.velocity not in changing
            or coordinate.name in stopped
            or clock.over
        ):
            continue
        ends = _ends(coordinate, rows, off, tolerance)
        if ends:
            stop = _fitted(coordinate, ends, reading, rates, rows, tolerance, build, taken, clock)
            found += [stop.limit(rates)] if stop is not None else []
    return found


def _ends(
    coordinate: Coordinate, rows: Rows, off: Float[np.ndarray, "N S"], tolerance: Float[np.ndarray, " S"]
) -> list[_End]:
    """Where steps turn from usual ones to events that send the coordinate back."""
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
    clock: Clock,
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

    def missed(places: Float[np.ndarray, "V C"]) -> Float[np.ndarray, "V N S"]:
        given = roll_columns(draft.program, steps, {name: places[:, c, None] for c, name in enumerate(names)})
        off = (given - steps.truths)[:, :, 0] / tolerance
        return np.where(np.isfinite(off), np.clip(off, -1e9, 1e9), 1e9)

    def bits(places: Float[np.ndarray, "V C"]) -> Float[np.ndarray, " V"]:
        return np.sum(np.log2(1 + np.max(np.abs(missed(places)), axis=-1)), axis=-1)

    span = float(np.ptp(rows.before[:, rows.names.index(coordinate.name)]))
    sides = [(edge, _round_near(edge, SLACK * span)) for edge in place[: len(edges)].tolist()]
    grid = np.array(list(product(TIMES, RATIOS, gives, *sides)))
    scanned = np.repeat(place[None], len(grid), axis=0)
    scanned[:, : len(edges)] = grid[:, 3:]
    scanned[:, -3] = 1 / (grid[:, 0] * reading.dt) ** 2
    scanned[:, -2] = 2 * grid[:, 1] / (grid[:, 0] * reading.dt)
    scanned[:, -1] = grid[:, 2]
    ordered = scanned[np.argsort(bits(scanned))]
    kinds = np.unique(ordered[:, [*range(len(edges)), -1]], axis=0, return_index=True)[1]
    starts = ordered[np.sort(kinds)[:STARTS]]  # which differ in their ends or in how they give way
    if clock.over:
        return None
    refined = np.array([_refined(start, missed, clock) for start in starts])
    best = refined[int(np.argmin(bits(refined)))]
    for k in range(
        len(edges) if not clock.over else 0
    ):  # an end that few steps show may have been read far off: the other one tells how the stop pushes
        for width in FAR * span / NARROWER ** np.arange(NARROWINGS):
            moved = np.repeat(best[None], SCANNED, axis=0)
            moved[:, k] += np.linspace(-width, width, SCANNED)
            left = bits(moved)
            best = moved[int(np.argmin(left))] if left.min() < bits(best[None])[0] else best
    options = np.array([best, *(_shortened(best, len(edges), digits) for digits in DIGITS)])
    left = bits(options)
    chosen = next((k for k in range(1, len(options)) if left[k] <= 1.02 * left[0] + 1), 0)
    values = dict(zip(names, options[chosen].tolist(), strict=True))
    return first.with_constants(replace(draft, program=draft.program.edited(values)))


def _refined(
    place: Float[np.ndarray, " C"],
    missed: Callable[[Float[np.ndarray, "V C"]], Float[np.ndarray, "V N S"]],
    clock: Clock,
) -> Float[np.ndarray, " C"]:
    """Constants moved to where most steps are missed by least;
    steps that are missed by far more than most count little.
    """
    off, damping = missed(place[None])[0], 1e-3

    def cost(off: Float[np.ndarray, "N S"], usual: float) -> float:
        return float(np.sum(np.log1p((np.max(np.abs(off), axis=-1) / usual) ** 2)))

    for _ in range(ROUNDS):
        if clock.over:
            break
        nudges = NUDGE * np.where(place == 0, 1.0, np.abs(place))
        slopes = np.moveaxis(missed(place + np.diag(nudges)) - off, 0, -1) / NUDGE
        worst = np.max(np.abs(off), axis=-1)
        usual = max(float(np.median(worst)), 1e-3)
        weights = 1 / np.sqrt(1 + (worst / usual) ** 2)[:, None]
        rows, right = (slopes * weights[..., None]).reshape(-1, len(place)), (off * weights).ravel()
        gram = rows.T @ rows
        size, before = np.maximum(np.diag(gram), 1e-300), cost(off, usual)
        for _ in range(TRIES):
            step = np.linalg.lstsq(gram + damping * np.diag(size), -rows.T @ right, rcond=1e-14)[0]
            tried = place * (1 + np.clip(step, -0.5, 9.0))
            then = missed(tried[None])[0]
            if cost(then, usual) < before:
                place, off, damping = tried, then, damping / 5
                break
            damping *= 5
        else:
            break
    return place


def _shortened(place: Float[np.ndarray, " C"], ends: int, digits: int) -> Float[np.ndarray, " C"]:
    """The constants with ends, which come first, as numbers of so many digits where those are near."""
    return np.array([_short(value, digits) if k < ends else value for k, value in enumerate(place.tolist())])


def _round_near(value: float, slack: float) -> float:
    """The number of fewest digits that is so near."""
    options = (float(f"{value:.{digits}g}") for digits in range(1, 7))
    return next((option for option in options if abs(option - value) <= slack), value)


def _short(value: float, digits: int) -> float:
    option = float(f"{value:.{digits}g}")
    return option if abs(option - value) <= NEAR * abs(value) else value


def sticking(reading: Reading, rates: Rates) -> tuple[Rates, tuple[Limit, ...]] | None:
    """The rates without their dry friction, and limits that take
    the same friction off the new speed, at most all of it.
    """
    changes, numbers, limits = dict(rates.changes), list(rates.numbers), []
    for coordinate in reading.coordinates:
        speed = coordinate.velocity
        if speed is None or speed not in changes:
            continue
        parts = summands(changes[speed])
        for part in parts:
            found = re.fullmatch(rf"(\w+) \* np\.sign\(state\.{speed}\)", part)
            number = next((n for n in numbers if found and n.name == found.group(1)), None)
            if number is None or number.value >= 0:
                continue
            changes[speed] = " + ".join(p for p in parts if p != part) or "0.0"
            numbers.remove(number)
            held = Number(
                number.name,
                -number.value,
                doc=f"dry friction of {speed}, which holds it still while the rest is weaker",
            )
            line = f"{speed} = np.sign({speed}) * np.maximum(np.abs({speed}) - DT * {number.name}, 0.0)"
            limits.append(Limit("velocity", (line,), (held,), STICKING, (speed,)))
    if not limits:
        return None
    of = {body for limit in limits for body in limit.of}
    laws = tuple((law, bodies) for law, bodies in rates.laws if not (law == "dry" and set(bodies) & of))
    name = "; ".join(
        text.replace("dry", "dry that holds") if text.partition(":")[0] in of else text
        for text in rates.name.split("; ")
    )
    return replace(rates, name=name, changes=tuple(changes.items()), numbers=tuple(numbers), laws=laws), tuple(limits)


def halts(
    coordinate: Coordinate,
    rows: Rows,
    given: Float[np.ndarray, "N S"],
    off: Float[np.ndarray, "N S"],
    tolerance: Float[np.ndarray, " S"],
) -> list[Limit]:
    """A velocity that stays at nothing for a step before it turns back: dry friction brings a body to a stand first."""
    speed = str(coordinate.velocity)
    k = rows.names.index(speed)
    back = (given[:, k] * rows.before[:, k] < 0) & (np.abs(off[:, k]) > tolerance[k])
    if (back & (np.abs(rows.after[:, k]) <= tolerance[k])).sum() < LEAST_HALTS:
        return []
    return [
        Limit("velocity", (f"{speed} = np.where(state.{speed} * {speed} < 0, 0.0, {speed})",), (), HALTING, (speed,))
    ]
