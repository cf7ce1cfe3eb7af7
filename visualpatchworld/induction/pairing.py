"""Columns as time series that may be coordinates, and which
column is the velocity of which, with time step and integrator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.induction.events import begins_anew, repeated
from visualpatchworld.induction.reading import Integrator
from visualpatchworld.induction.regress import robust_fit, robust_spread
from visualpatchworld.world.trajectory import Trajectory

CIRCLE = 0.02  # a cosine and a sine leave at most this part of their squares' spread
PAIR = 0.05  # a velocity leaves at most this part of its coordinate's motion
ROUNDED, MOST_ROUNDED = (
    1.5,
    0.5,
)  # times what rounding alone leaves of a pair, which is itself less than this of the motion
DECIDED = 0.03  # how close the weight of an integrator must come to count as that integrator's
JUMP = 8.0  # times the usual change of a velocity in a step
MOSTLY_SMOOTH = 0.8  # of the steps are without jumps where those are events
EVEN = 1e-12  # of its largest: what moves more evenly moves by itself, not by a velocity that changes
RESTING = 1e-6  # of a coordinate's typical motion: less in a step is rest
LEAST_MOVING = 10  # steps with motion that show a velocity
MOSTLY = 0.5  # of the steps: what moves in fewer is looked at in these alone
MOVES = 0.02  # of a coordinate's motion: what a velocity must itself make of it
SAME = 0.05  # how far apart two time steps may be that count as one

# By column: the role that a user gave it, and the column that it is of.
GivenRoles = Mapping[int, tuple[str, int | None]]


@dataclass(frozen=True)
class Series:
    """A possible coordinate: its columns, and its values in every trajectory."""

    columns: tuple[int, ...]
    values: tuple[Float[np.ndarray, " T"], ...]
    angle: bool
    wraps: bool
    turn_from: float = -np.pi

    @property
    def moved(self) -> Float[np.ndarray, " N"]:
        """How far it goes in every step."""
        return np.concatenate([np.diff(part) for part in self.values])


def circles(seen: Float[np.ndarray, "N O"], live: Sequence[int], given: GivenRoles) -> list[tuple[int, int]]:
    """Pairs of columns whose squares add up to one, the surest first; a column is in one pair at most."""
    tame = [i for i in live if np.abs(seen[:, i]).max() < 1.2 and given.get(i, ("cos", None))[0] in ("cos", "sin")]
    found = []
    for n, i in enumerate(tame):
        for j in tame[n + 1 :]:
            total = seen[:, i] ** 2 + seen[:, j] ** 2
            spread = min(float(np.std(seen[:, i] ** 2)), float(np.std(seen[:, j] ** 2)))
            if spread > 0 and (left := float(np.sqrt(np.mean((total - 1) ** 2))) / spread) < CIRCLE:
                found.append((left, (i, j)))
    taken: set[int] = set()
    chosen = []
    for _, pair in sorted(found):
        if not taken & set(pair):
            taken |= set(pair)
            chosen.append(tuple(pair[::-1]) if given.get(pair[0], ("cos", None))[0] == "sin" else pair)
    return sorted(chosen)


def on_circle(trajectories: Sequence[Trajectory], circle: tuple[int, ...]) -> Series:
    """The angle whose cosine and sine these columns are."""
    angles = tuple(
        np.unwrap(np.arctan2(t.observations[:, circle[1]], t.observations[:, circle[0]])) for t in trajectories
    )
    return Series(circle, angles, True, False)


def plain(trajectories: Sequence[Trajectory], column: int, given: GivenRoles) -> Series:
    """A column as it is, or unwrapped where it jumps by whole turns."""
    raw = [t.observations[:, column] for t in trajectories]
    everything = np.concatenate(raw)
    low, high = float(everything.min()), float(everything.max())
    jumps = np.concatenate([np.abs(np.diff(part)) for part in raw])
    far = jumps > 1.5 * np.pi
    inside = (low >= -np.pi - 0.2 and high <= np.pi + 0.2) or (low >= -0.2 and high <= 2 * np.pi + 0.2)
    # A wrap jumps by nearly a whole turn, and nothing is seen between the usual steps and such jumps.
    wraps = bool(inside and far.any() and (jumps[~far] < np.pi / 2).all() and high - low > 1.8 * np.pi)
    angle = wraps or given.get(column, ("", None))[0] == "angle"
    values = tuple(np.unwrap(part) if wraps else part for part in raw)
    return Series((column,), values, angle, wraps, 0.0 if low >= -0.2 else -np.pi)


def away_from_edges(series: Series) -> Bool[np.ndarray, " N"]:
    """Steps that do not end at a value that is met again and again: a wall.

    Without them the coordinate follows its velocity.
    """
    after = np.concatenate([part[1:] for part in series.values])
    before = np.concatenate([part[:-1] for part in series.values])
    free = ~(repeated(after) & (after != before)) & ~(repeated(after) & repeated(before))
    return free if not series.angle and free.mean() > 0.2 else np.ones(len(after), bool)


class Pair(NamedTuple):
    """A coordinate and the column of its velocity."""

    coordinate: int  # its place in the list of series
    column: int
    slope: float  # seconds per step, if both are in the same unit
    weight: float  # of the velocity before the step
    left: float  # part of the motion that is left


class TimeStep(NamedTuple):
    """Seconds per step, the weight of the old velocity in a
    coordinate's motion, and the integrator that has this weight.
    """

    seconds: float
    weight: float | None
    integrator: Integrator


class Observed(NamedTuple):
    """What pairs are looked for in: trajectories, the columns that may
    be velocities, rounding of every column, and what a user gave.
    """

    trajectories: Sequence[Trajectory]
    columns: Sequence[int]
    noise: Float[np.ndarray, " O"]
    given: GivenRoles

    def ends(self, column: int) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
        """A column before and after every step."""
        old = np.concatenate([t.observations[:-1, column] for t in self.trajectories])
        new = np.concatenate([t.observations[1:, column] for t in self.trajectories])
        return old, new


def velocity_pairs(observed: Observed, series: Sequence[Series], dt: float | None) -> list[Pair]:
    """Pairs of coordinate and velocity, greedily by what is left; a velocity has no velocity of its own."""
    found = [pair for k, one in enumerate(series) for pair in _possible_pairs(observed, k, one)]

    def order(pair: Pair) -> tuple:
        backward = pair.slope < 0 and len(series[pair.coordinate].columns) == 1
        odd = dt is not None and abs(pair.slope / dt - 1) > SAME
        # A velocity follows its coordinate in nearly every world; this only settles what the data leave open.
        return (
            backward,
            odd,
            round(np.log10(max(pair.left, 1e-9))),
            series[pair.coordinate].columns[0] > pair.column,
            pair.left,
        )

    chosen: list[Pair] = []
    busy: set[int] = set()  # columns that are velocities
    owners: set[int] = set()  # columns of coordinates that have one
    for pair in sorted(found, key=order):
        columns = set(series[pair.coordinate].columns)
        if pair.column in busy or columns & busy or columns & owners or pair.column in owners:
            continue
        chosen.append(pair)
        busy.add(pair.column)
        owners |= columns
    return sorted(chosen, key=lambda pair: series[pair.coordinate].columns)


def _possible_pairs(observed: Observed, k: int, one: Series) -> list[Pair]:
    moved = one.moved
    # A jump to the other end of a range is so long that beside it any column leaves little.
    jumps = begins_anew(
        np.concatenate([part[:-1] for part in one.values]), np.concatenate([part[1:] for part in one.values])
    )
    spread = float(np.std(moved[~jumps]))
    if (
        spread <= EVEN * float(np.abs(moved).max())
        or observed.given.get(one.columns[0], ("coordinate", None))[0] == "velocity"
    ):
        return []
    fine = float(np.sqrt(2 * np.sum(observed.noise[list(one.columns)] ** 2)))
    free = away_from_edges(one) & ~jumps
    # What rests most of the time shows its velocity while it moves; at rest anything is in proportion to nothing.
    moving = np.abs(moved) > RESTING * spread + 4 * fine
    if moving.sum() < LEAST_MOVING:
        return []
    free = free & moving if (free & moving).mean() < MOSTLY else free
    every = free
    found = []
    for column in observed.columns:
        role, of = observed.given.get(column, ("velocity", None))
        if column in one.columns or role != "velocity" or (of is not None and of not in one.columns):
            continue
        old, new = observed.ends(column)
        free = every & _without_jumps(old, new)
        if free.sum() < LEAST_MOVING:
            continue
        fit = robust_fit(np.stack([(old + new) / 2, (old - new) / 2], axis=-1)[free], moved[free], floor=fine)
        slope = float(fit.coefficients[0])
        left = robust_spread(fit.left) / spread
        sure = of is not None
        # Of what stays in most rows any column leaves little: a velocity also moves it.
        if not sure and abs(slope) * float(np.std((old + new)[free] / 2)) < MOVES * spread:
            continue
        rounded = float(np.hypot(fine, slope * observed.noise[column]))
        close = left < PAIR or left * spread < ROUNDED * rounded < MOST_ROUNDED * spread
        if (close or sure) and slope != 0 and fit.kept.mean() > 0.5:
            weight = (1 + float(fit.coefficients[1]) / slope) / 2
            if -0.3 < weight < 1.3 or sure:
                found.append(Pair(k, column, slope, weight, left))
    return found


def relative_pairs(
    observed: Observed, series: list[Series], pairs: Sequence[Pair], step: float
) -> tuple[list[Pair], dict[int, int], list[Series]]:
    """Absolute angles whose velocity columns are relative: the
    angle moves by the motion of another one and by one more column.

    The answer has a pair for each such angle, by angle the one that it counts from, and the series with those angles as
    differences. An angle that was found so may carry the next.
    """
    counted, bases, more = list(series), dict[int, int](), list(pairs)
    absolute = list(series)
    while True:
        paired, speeds = {pair.coordinate for pair in more}, {pair.column for pair in more}
        free = observed._replace(columns=[column for column in observed.columns if column not in speeds])
        options = []
        for k in (k for k, one in enumerate(series) if k not in paired and one.angle):
            ways = [absolute[k]]
            if len(absolute[k].columns) == 2:
                ways.append(on_circle(observed.trajectories, absolute[k].columns[::-1]))
            for base in paired:
                if not absolute[base].angle:
                    continue
                for way in ways:
                    apart = tuple(a - b for a, b in zip(way.values, absolute[base].values, strict=True))
                    for pair in velocity_pairs(free, [replace(way, values=apart)], None):
                        if abs(pair.slope / step - 1) < SAME:
                            options.append((pair.left, k, base, way, replace(way, values=apart), pair))
        if not options:
            break
        _, k, base, way, apart, pair = min(options, key=lambda option: option[0])
        absolute[k], counted[k], bases[k] = way, apart, base
        more.append(pair._replace(coordinate=k))
    return more, bases, counted


def time_step(observed: Observed, series: Sequence[Series], pairs: Sequence[Pair], dt: float | None) -> TimeStep:
    """The time step is what most pairs agree on; the others are in other units."""
    if not pairs:
        return TimeStep(dt or 1.0, None, "unknown" if dt else "none")
    slopes = np.array([abs(pair.slope) for pair in pairs])
    votes = (np.abs(slopes[:, None] / slopes - 1) < 0.02).sum(axis=0)
    agreed = np.flatnonzero(votes == votes.max()).tolist()
    best = min(agreed, key=lambda i: (_digits(slopes[i], pairs[i].left), pairs[i].left))
    step = float(slopes[best])
    short = _short(step, lambda value: _left_with(observed, series, pairs[best], value), pairs[best].left)
    step = dt or short or step
    same = [pair for pair in pairs if abs(abs(pair.slope) / step - 1) < SAME] or [pairs[best]]
    weights = [_weight(observed, series, pair, step if len(same) > 1 or not dt else abs(pair.slope)) for pair in same]
    weight = float(np.median(weights))
    integrator: Integrator = (
        "explicit" if abs(weight - 1) < DECIDED else "semi-implicit" if abs(weight) < DECIDED else "unknown"
    )
    return TimeStep(step, weight, integrator)


def _parts(observed: Observed, series: Sequence[Series], pair: Pair) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    one = series[pair.coordinate]
    free = away_from_edges(one)
    old, new = observed.ends(pair.column)
    free = free & _without_jumps(old, new)
    return (one.moved * np.sign(pair.slope))[free], old[free], new[free]


def _without_jumps(old: Float[np.ndarray, " N"], new: Float[np.ndarray, " N"]) -> Bool[np.ndarray, " N"]:
    """Steps in which a velocity changes no more than in most: a
    bounce weighs so much that it alone would tell the integrator.
    """
    change = np.abs(new - old)
    usual = change <= JUMP * float(np.median(change))
    return usual if usual.mean() > MOSTLY_SMOOTH else np.ones(len(old), bool)


def _weight(observed: Observed, series: Sequence[Series], pair: Pair, step: float) -> float:
    moved, old, new = _parts(observed, series, pair)
    return float(robust_fit((old - new)[:, None], moved / step - new).coefficients[0])


def _left_with(observed: Observed, series: Sequence[Series], pair: Pair, step: float) -> float:
    moved, old, new = _parts(observed, series, pair)
    fit = robust_fit((old - new)[:, None], moved / step - new)
    return robust_spread(fit.left) * step / (float(np.std(moved)) or 1.0)


def _digits(value: float, left: float) -> int:
    """How many digits the value needs: a time step is a rounder number than a gear."""
    return next((n for n in range(1, 5) if abs(float(f"{value:.{n}g}") / value - 1) < max(1e-4, left)), 5)


def _short(value: float, left_with: Callable[[float], float], left: float) -> float | None:
    """A short number, or one over a whole number, that leaves as little as the value itself."""
    options = [float(f"{value:.{digits}g}") for digits in (1, 2, 3)]
    options.insert(2, 1 / max(round(1 / value), 1))
    for option in options:
        if abs(option / value - 1) < 0.02 and left_with(option) <= 1.05 * left + 1e-9:
            return option
    return None
