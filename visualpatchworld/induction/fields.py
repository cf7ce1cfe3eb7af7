"""Reading the fields: what every column of the observation is, from observations and actions alone, the most certain first."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, get_args

import numpy as np
from jaxtyping import Float

from visualpatchworld.errors import VpwError
from visualpatchworld.induction.derive import derived_expression
from visualpatchworld.induction.events import repeated
from visualpatchworld.induction.noise import robust_spread, roundings
from visualpatchworld.induction.reading import Coordinate, Derived, FieldRole, Integrator, Reading, Role
from visualpatchworld.induction.regress import robust_fit, solve
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace

PAIR = 0.05  # a velocity leaves at most this part of its coordinate's motion
HIDDEN = 0.15  # a coordinate with a hidden velocity leaves at least this part of its changes to it
CIRCLE = 0.02  # a cosine and a sine leave at most this part of their squares' spread
DECIDED = 0.03  # how close the weight of an integrator must come to count as that integrator's
RESERVED = ("state", "action", "np", "step", "move", "rates", "nudged", "observe", "read", "reward", "terminated", "valid", "wrapped")


class BadField(VpwError):
    """A correction of a field that cannot be followed."""


class _Pair(NamedTuple):
    coordinate: int  # a candidate's place in the list
    column: int
    slope: float  # seconds per step, if both are in the same unit
    weight: float  # of the velocity before the step
    left: float  # part of the motion that is left


@dataclass(frozen=True)
class _Candidate:
    columns: tuple[int, ...]
    series: tuple[Float[np.ndarray, " T"], ...]
    angle: bool
    wraps: bool
    turn_from: float = -np.pi


def read_fields(
    trajectories: Sequence[Trajectory],
    action_space: ActionSpace | None = None,
    names: Sequence[str] | None = None,
    dt: float | None = None,
    corrections: Mapping[str, str] | None = None,
) -> Reading:
    """The reading of a world's observations; `corrections` are roles by field, such as `{"theta": "angle", "w": "velocity:theta"}`."""
    width = trajectories[0].observations.shape[1]
    given = bool(names) and len(names or ()) == width
    labels = list(names) if given and names else [f"x{i}" for i in range(width)]
    told = _parsed(corrections or {}, labels)
    seen = np.concatenate([trajectory.observations for trajectory in trajectories])
    noise = roundings(trajectories)
    roles: dict[int, FieldRole] = {}

    def note(column: int, role: Role, of: str | None, evidence: str) -> None:
        roles[column] = FieldRole(labels[column], role, of, evidence)

    parameters = _find_constants(trajectories, seen, noise, note, told)
    live = [i for i in range(width) if i not in roles and i not in parameters]
    for column in [c for c in live if told.get(c, ("", None))[0] == "noise"]:
        note(column, "noise", None, "as corrected")
    live = [i for i in live if i not in roles]
    circles = _circles(seen, live, told)
    derived = _copies(seen, noise, [i for i in live if not any(i in circle for circle in circles)], note, told, labels)
    live = [i for i in live if i not in roles]

    candidates = [_circle_candidate(trajectories, circle) for circle in circles]
    candidates += [_plain_candidate(trajectories, i, told) for i in live if not any(i in circle for circle in circles)]
    pairs = _velocity_pairs(trajectories, candidates, live, circles, noise, dt, told)
    for n, pair in enumerate(pairs):
        if pair.slope < 0 and len(candidates[pair.coordinate].columns) == 2:
            # The other way round the angle grows with its velocity.
            candidates[pair.coordinate] = _circle_candidate(trajectories, candidates[pair.coordinate].columns[::-1])
            pairs[n] = pair._replace(slope=-pair.slope)
    step, weight, integrator = _time_step(trajectories, candidates, pairs, dt)
    if pairs:
        worst = max(pair.left for pair in pairs)
        given_dt = " (given)" if dt else ""
        found = f"dt = {step:.6g}{given_dt}, weight of the old velocity {weight:.3f}: {integrator}; rest {worst:.1g} of the motion"
    else:
        found = ""

    pairs, bases = _relative(trajectories, candidates, pairs, live, circles, noise, told, step)
    maker = _Names(labels, given)
    velocity_of = {pair.coordinate: pair for pair in pairs}
    speeds = {pair.column for pair in pairs}
    coordinates: list[Coordinate] = []
    later: list[_Candidate] = []
    called: dict[int, str] = {}
    for k in sorted(range(len(candidates)), key=lambda k: k in bases):
        candidate = candidates[k]
        if len(candidate.columns) == 1 and candidate.columns[0] in speeds:
            continue
        if k not in velocity_of:
            later.append(candidate)
            continue
        pair = velocity_of[k]
        columns = candidate.columns
        scale = 1.0 if abs(pair.slope / step - 1) < 0.02 else pair.slope / step
        name = maker.coordinate(columns, candidate.angle)
        speed = maker.velocity(pair.column, name)
        relative = called[bases[k]] if k in bases else None
        shown = f"shows {name} + {relative}; " if relative else ""
        coordinates.append(
            Coordinate(name, columns, candidate.angle, speed, pair.column, candidate.wraps, candidate.turn_from, relative, scale)
        )
        called[k] = name
        _note_coordinate(note, columns, name, candidate, f"{shown}moves by the field '{labels[pair.column]}'; {found}")
        units = "" if scale == 1.0 else f", in units of {scale:.6g}"
        note(pair.column, "velocity", name, f"leaves {pair.left:.1g} of the motion of {name}{units}; {found}")

    coordinates, extra = _place_rest(trajectories, later, coordinates, parameters, labels, noise, note, maker, told, step)
    derived += extra
    for column in parameters:
        note(column, "constant", "episode", "stays the same within an episode and differs between episodes")
    kept = tuple((maker.plain(column), column) for column in parameters)
    for name, column in kept:
        derived = [replace(one, expression=re.sub(rf"\bparameter_{column}\b", name, one.expression)) for one in derived]
    coordinates = sorted(coordinates, key=lambda c: (c.relative_to is not None, c.columns))
    fields = tuple(roles[column] for column in range(width))
    still = {c: float(f"{np.mean(seen[:, c]):.6g}") for c in range(width) if roles[c].role in ("constant", "noise") and c not in parameters}
    return Reading(fields, tuple(coordinates), kept, tuple(derived), step, integrator, still, weight)


def parse_corrections(text: str) -> dict[str, str]:
    """`theta=angle,w=velocity:theta` as a mapping."""
    parts = [part.partition("=") for part in text.split(",") if part.strip()]
    for name, equals, role in parts:
        if not equals or not role.strip():
            raise BadField(f"A field is corrected as NAME=ROLE, not as '{name}'.")
    return {name.strip(): role.strip() for name, _, role in parts}


def _parsed(corrections: Mapping[str, str], labels: Sequence[str]) -> dict[int, tuple[str, int | None]]:
    told = {}
    for name, text in corrections.items():
        role, _, of = text.partition(":")
        for field in (name, of) if of else (name,):
            if field not in labels:
                raise BadField(f"There is no field '{field}'; there are {', '.join(labels)}.")
        if role not in get_args(Role):
            raise BadField(f"A field is one of {', '.join(get_args(Role))}, not '{role}'.")
        told[labels.index(name)] = (role, labels.index(of) if of else None)
    return told


def _find_constants(trajectories, seen, noise, note, told) -> list[int]:
    """Columns that never change get their role; those that change between episodes alone are returned."""
    parameters = []
    for column in range(seen.shape[1]):
        size = max(float(np.abs(seen[:, column]).max()), 1e-12)
        slack = max(1e-9 * size, 4 * noise[column])
        if told.get(column, ("constant", None))[0] != "constant":
            continue
        if np.ptp(seen[:, column]) <= slack:
            note(column, "constant", None, f"is {seen[0, column]:.6g} in all {len(seen)} rows")
        elif len(trajectories) > 1 and all(np.ptp(t.observations[:, column]) <= slack for t in trajectories):
            parameters.append(column)
    return parameters


def _circles(seen: Float[np.ndarray, "N O"], live: Sequence[int], told) -> list[tuple[int, int]]:
    """Pairs of columns whose squares add up to one, the surest first; a column is in one pair at most."""
    tame = [i for i in live if np.abs(seen[:, i]).max() < 1.2 and told.get(i, ("cos", None))[0] in ("cos", "sin")]
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
            chosen.append(tuple(pair[::-1]) if told.get(pair[0], ("cos", None))[0] == "sin" else pair)
    return sorted(chosen)


def _copies(seen, noise, live, note, told, labels) -> list[Derived]:
    """Columns that are one other column in another unit: the later one is derived."""
    derived = []
    for column in live[::-1]:
        for other in live:
            if other >= column or told.get(column, ("derived", None))[0] != "derived":
                break
            design = np.stack([seen[:, other], np.ones(len(seen))], axis=-1)
            factor, shift = solve(design, seen[:, column])
            left = float(np.std(seen[:, column] - design @ [factor, shift]))
            if left <= max(1e-7 * float(np.std(seen[:, column])), 4 * (noise[column] + abs(factor) * noise[other])):
                expression = f"{factor:.8g} * COLUMN_{other}" + (f" + {shift:.8g}" if abs(shift) > 4 * left + 1e-12 else "")
                note(column, "derived", labels[other], f"is {factor:.6g} times '{labels[other]}'{f' and {shift:.6g}' if shift else ''}")
                derived.append(Derived(column, expression))
                break
    return derived


def _circle_candidate(trajectories: Sequence[Trajectory], circle: tuple[int, ...]) -> _Candidate:
    series = tuple(np.unwrap(np.arctan2(t.observations[:, circle[1]], t.observations[:, circle[0]])) for t in trajectories)
    return _Candidate(circle, series, True, False)


def _plain_candidate(trajectories: Sequence[Trajectory], column: int, told) -> _Candidate:
    raw = [t.observations[:, column] for t in trajectories]
    everything = np.concatenate(raw)
    low, high = float(everything.min()), float(everything.max())
    jumps = np.concatenate([np.abs(np.diff(part)) for part in raw])
    far = jumps > 1.5 * np.pi
    inside = (low >= -np.pi - 0.2 and high <= np.pi + 0.2) or (low >= -0.2 and high <= 2 * np.pi + 0.2)
    # A wrap jumps by nearly a whole turn, and nothing is seen between the usual steps and such jumps.
    wraps = bool(inside and far.any() and (jumps[~far] < np.pi / 2).all() and high - low > 1.8 * np.pi)
    angle = wraps or told.get(column, ("", None))[0] == "angle"
    series = tuple(np.unwrap(part) if wraps else part for part in raw)
    return _Candidate((column,), series, angle, wraps, 0.0 if low >= -0.2 else -np.pi)


def _velocity_pairs(trajectories, candidates, live, circles, noise, dt, told) -> list[_Pair]:
    """Which column is the velocity of which coordinate, greedily by what is left; a velocity has no velocity of its own."""
    circular = {column for circle in circles for column in circle}
    found = []
    for k, candidate in enumerate(candidates):
        moved = np.concatenate([np.diff(part) for part in candidate.series])
        spread = float(np.std(moved)) or float(np.abs(moved).max())
        if spread == 0:
            continue
        fine = float(np.sqrt(2 * np.sum(noise[list(candidate.columns)] ** 2)))
        free = _away_from_edges(candidate)
        for column in live:
            role, of = told.get(column, ("velocity", None))
            if column in candidate.columns or column in circular or role != "velocity":
                continue
            if of is not None and of not in candidate.columns:
                continue
            own = told.get(candidate.columns[0], ("coordinate", None))
            if own[0] == "velocity":
                continue
            old = np.concatenate([t.observations[:-1, column] for t in trajectories])
            new = np.concatenate([t.observations[1:, column] for t in trajectories])
            fit = robust_fit(np.stack([(old + new) / 2, (old - new) / 2], axis=-1)[free], moved[free], floor=fine)
            slope = float(fit.coefficients[0])
            left = robust_spread(fit.left) / spread
            sure = of is not None
            if (left < PAIR or sure) and slope != 0 and fit.kept.mean() > 0.5:
                weight = (1 + float(fit.coefficients[1]) / slope) / 2
                if -0.3 < weight < 1.3 or sure:
                    found.append(_Pair(k, column, slope, weight, left))
    chosen: list[_Pair] = []
    busy: set[int] = set()  # columns that are velocities
    owners: set[int] = set()  # columns of coordinates that have one

    def order(pair: _Pair) -> tuple:
        backward = pair.slope < 0 and len(candidates[pair.coordinate].columns) == 1
        odd = dt is not None and abs(pair.slope / dt - 1) > 0.05
        # A velocity follows its coordinate in nearly every world; this only settles what the data leave open.
        return (backward, odd, round(np.log10(max(pair.left, 1e-9))), candidates[pair.coordinate].columns[0] > pair.column, pair.left)

    for pair in sorted(found, key=order):
        columns = set(candidates[pair.coordinate].columns)
        if pair.column in busy or columns & busy or columns & owners or pair.column in owners:
            continue
        chosen.append(pair)
        busy.add(pair.column)
        owners |= columns
    return sorted(chosen, key=lambda pair: candidates[pair.coordinate].columns)


def _time_step(trajectories, candidates, pairs, dt) -> tuple[float, float | None, Integrator]:
    if not pairs:
        return (dt or 1.0), None, "unknown" if dt else "none"
    slopes = np.array([abs(pair.slope) for pair in pairs])
    # The time step is what most pairs agree on; the others are in other units.
    votes = (np.abs(slopes[:, None] / slopes - 1) < 0.02).sum(axis=0)
    best = min(np.flatnonzero(votes == votes.max()), key=lambda i: (_digits(slopes[i], pairs[i].left), pairs[i].left))
    step = float(slopes[best])
    short = _short(step, lambda value: _left_with(trajectories, candidates, pairs[best], value), pairs[best].left)
    step = dt or short or step
    same = [pair for pair in pairs if abs(abs(pair.slope) / step - 1) < 0.05] or [pairs[best]]
    weights = [_weight(trajectories, candidates, pair, step if len(same) > 1 or not dt else abs(pair.slope)) for pair in same]
    weight = float(np.median(weights))
    integrator: Integrator = "explicit" if abs(weight - 1) < DECIDED else "semi-implicit" if abs(weight) < DECIDED else "unknown"
    return step, weight, integrator


def _away_from_edges(candidate: _Candidate) -> np.ndarray:
    """Steps that do not end at a value that is met again and again: a wall. Without them the coordinate follows its velocity."""
    after = np.concatenate([part[1:] for part in candidate.series])
    before = np.concatenate([part[:-1] for part in candidate.series])
    free = ~(repeated(after) & (after != before)) & ~(repeated(after) & repeated(before))
    return free if not candidate.angle and free.mean() > 0.2 else np.ones(len(after), bool)


def _parts(trajectories, candidates, pair) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    candidate = candidates[pair.coordinate]
    free = _away_from_edges(candidate)
    moved = np.concatenate([np.diff(part) for part in candidate.series])
    old = np.concatenate([t.observations[:-1, pair.column] for t in trajectories])
    new = np.concatenate([t.observations[1:, pair.column] for t in trajectories])
    return (moved * np.sign(pair.slope))[free], old[free], new[free]


def _weight(trajectories, candidates, pair, step) -> float:
    moved, old, new = _parts(trajectories, candidates, pair)
    return float(robust_fit((old - new)[:, None], moved / step - new).coefficients[0])


def _left_with(trajectories, candidates, pair, step) -> float:
    moved, old, new = _parts(trajectories, candidates, pair)
    fit = robust_fit((old - new)[:, None], moved / step - new)
    return robust_spread(fit.left) * step / (float(np.std(moved)) or 1.0)


def _digits(value: float, left: float) -> int:
    """How many digits the value needs: a time step is a rounder number than a gear."""
    return next((n for n in range(1, 5) if abs(float(f"{value:.{n}g}") / value - 1) < max(1e-4, left)), 5)


def _short(value: float, left_with, left: float) -> float | None:
    """A short number, or one over a whole number, that leaves as little as the value itself."""
    options = [float(f"{value:.{digits}g}") for digits in (1, 2, 3)]
    options.insert(2, 1 / max(round(1 / value), 1))
    for option in options:
        if abs(option / value - 1) < 0.02 and left_with(option) <= 1.05 * left + 1e-9:
            return option
    return None


def _place_rest(
    trajectories, later, coordinates, parameters, labels, noise, note, maker, told, step
) -> tuple[list[Coordinate], list[Derived]]:
    """Columns without a velocity: derived from others, noise, of hidden velocity, or of first order."""
    derived: list[Derived] = []
    kept: list[_Candidate] = []
    for candidate in later:
        forced = told.get(candidate.columns[0], ("", None))[0]
        known = [*coordinates]
        expressions = []
        if forced in ("", "derived"):
            for column in candidate.columns:
                found = derived_expression(trajectories, column, known, parameters, noise, step)
                expressions.append(found)
        if expressions and all(expression is not None for expression in expressions):
            for column, expression in zip(candidate.columns, expressions, strict=True):
                assert expression is not None
                note(
                    column, "derived", None, f"follows from the other fields: {expression.shown}; rest {expression.left:.1g} of its spread"
                )
                derived.append(Derived(column, expression.code))
            continue
        kept.append(candidate)
    ends = [*coordinates]
    for candidate in kept:
        forced = told.get(candidate.columns[0], ("", None))[0]
        others = np.arange(trajectories[0].observations.shape[1])
        predictable, memory, remembered = _memory(trajectories, candidate, others)
        if len(candidate.columns) == 1 and forced == "" and predictable > 0.95 and remembered > 0.95:
            note(candidate.columns[0], "noise", None, f"nothing seen before predicts it: {predictable:.2f} of its spread stays open")
            continue
        name = maker.coordinate(candidate.columns, candidate.angle)
        if memory:
            speed = maker.velocity(None, name)
            ends.append(Coordinate(name, candidate.columns, candidate.angle, speed, None, candidate.wraps, candidate.turn_from))
            left = f"{remembered:.2g} of the spread of its change is left, {predictable:.2g} without"
            why = f"goes on moving as it moved before ({left}); no column is its velocity"
        else:
            ends.append(Coordinate(name, candidate.columns, candidate.angle, None, None, candidate.wraps, candidate.turn_from))
            why = "evolves, and no column is its velocity"
        _note_coordinate(note, candidate.columns, name, candidate, why)
    return ends, derived


def _memory(trajectories, candidate: _Candidate, columns) -> tuple[float, bool, float]:
    """What part of a field's change stays open without and with its last change, and whether it has a hidden velocity."""
    changes, features, last = [], [], []
    turning = candidate.angle or max(np.ptp(series) for series in candidate.series) > 2
    every = np.concatenate([t.observations for t in trajectories])
    wide = [int(c) for c in columns if 2 < np.ptp(every[:, c]) < 60]  # whatever may be an angle may act through sine and cosine
    for t, series in zip(trajectories, candidate.series, strict=True):
        if len(series) < 4:
            continue
        moved = np.diff(series)
        seen = t.observations[1:-1, columns]
        bent = seen[:, wide]
        seen = np.concatenate([seen, np.sin(bent), np.cos(bent)], axis=1)
        if turning and len(candidate.columns) == 2:
            seen = np.concatenate([seen, np.sin(series[1:-1])[:, None], np.cos(series[1:-1])[:, None]], axis=1)
        acted = np.concatenate([t.actions[1:], t.actions[:-1]], axis=1)
        changes.append(moved[1:])
        features.append(np.concatenate([seen, acted], axis=1))
        last.append(moved[:-1])
    if not changes:
        return 1.0, False, 1.0
    change, design, before = np.concatenate(changes), np.concatenate(features), np.concatenate(last)
    design = design[:, np.std(design, axis=0) > 0]
    design = (design - design.mean(axis=0)) / design.std(axis=0)
    if design.shape[1] <= 12 or design.shape[1] ** 2 < len(design) / 2:
        design = np.concatenate([design, design**2, *(design[:, [i]] * design[:, i + 1 :] for i in range(design.shape[1] - 1))], axis=1)
    # Rows between those that are learned from, since a sum of squares does not reach far beyond; by chance, since actions may be held.
    judge = np.random.default_rng(0).random(len(change)) < 1 / 3
    value = np.concatenate([s[2:] for s in candidate.series if len(s) >= 4])
    spread = float(np.std(value[judge])) or 1.0  # of the very rows that judge: their own chance cancels

    def open_part(target: np.ndarray, size: float, *extra: np.ndarray) -> float:
        whole = np.concatenate([np.ones((len(change), 1)), design, *(e[:, None] for e in extra)], axis=1)
        beta = solve(whole[~judge], target[~judge], 1e-8)
        return float(np.sqrt(np.mean(np.clip(target[judge] - whole[judge] @ beta, -5 * size, 5 * size) ** 2))) / size

    still = float(np.std(change)) or 1.0
    without, with_last = open_part(change, still), open_part(change, still, before)
    value_open = open_part(value, spread, before)
    # What the fields of a moment leave little of needs no velocity: over a step a smooth law of first order bends, too.
    hidden = with_last < 0.6 * without and with_last < 0.7 and without > HIDDEN
    if value_open > 0.95 and not candidate.angle:
        return value_open, False, value_open
    return min(without, 0.9), hidden, with_last


def _note_coordinate(note, columns, name, candidate, why) -> None:
    if len(columns) == 2:
        note(columns[0], "cos", name, f"squares of the two add up to 1; {why}")
        note(columns[1], "sin", name, f"squares of the two add up to 1; {why}")
    elif candidate.angle:
        note(columns[0], "angle", None, ("jumps by a whole turn; " if candidate.wraps else "as corrected; ") + why)
    else:
        note(columns[0], "coordinate", None, why)


class _Names:
    """Python names for fields: the world's own where it gives them, plain words where not; each once."""

    def __init__(self, labels: Sequence[str], given: bool):
        self.labels, self.given = labels, given
        self.used: set[str] = set(RESERVED)

    def _unique(self, name: str) -> str:
        name = re.sub(r"\W+", "_", name).strip("_").lower() or "field"
        name = f"x_{name}" if name[0].isdigit() else name
        name = f"{name}_" if keyword.iskeyword(name) else name
        base, number = name, 2
        while name in self.used:
            name, number = f"{base}_{number}", number + 1
        self.used.add(name)
        return name

    def coordinate(self, columns: Sequence[int], angle: bool) -> str:
        label = self.labels[columns[0]]
        if len(columns) == 2:
            bare = re.sub(r"(?i)\b(cos|sin|cosine|sine)\b|_?(cos|sin)_?", " ", label).replace("(", " ").replace(")", " ").strip()
            return self._unique(bare if self.given and bare and not re.fullmatch(r"[\d\W_]*", bare) and bare != label else "angle")
        if self.given:
            return self._unique(label)
        return self._unique("angle" if angle else f"x{columns[0]}")

    def velocity(self, column: int | None, coordinate: str) -> str:
        return self._unique(self.labels[column] if self.given and column is not None else f"{coordinate}_speed")

    def plain(self, column: int) -> str:
        return self._unique(self.labels[column])


def as_it_is(reading: Reading) -> Reading:
    """The reading with every column a coordinate of first order, for worlds in which no field could be told to evolve."""
    maker = _Names([f.name for f in reading.fields], True)
    plain = tuple(Coordinate(maker.plain(column), (column,)) for column in range(len(reading.fields)))
    return replace(reading, coordinates=plain, parameters=(), derived=(), dt=1.0, integrator="none", constants={}, weight=None)


def with_angles(reading: Reading, names: Sequence[str]) -> Reading:
    """The reading with these coordinates known as angles, because they act through their sine and cosine alone."""
    columns = {c.columns[0]: c.name for c in reading.coordinates if c.name in names and len(c.columns) == 1}
    fields = tuple(
        replace(field, role="angle", evidence=f"acts through its sine and cosine alone; {field.evidence}")
        if i in columns and field.role == "coordinate"
        else field
        for i, field in enumerate(reading.fields)
    )
    return replace(reading, fields=fields)


def _relative(trajectories, candidates, pairs, live, circles, noise, told, step) -> tuple[list[_Pair], dict[int, int]]:
    """Absolute angles whose velocity columns are relative: the angle moves by another coordinate's velocity and one more column.

    The answer has a pair for each such candidate, and by candidate the one that it is relative to; its series becomes the difference.
    """
    paired = {pair.coordinate for pair in pairs}
    speeds = {pair.column for pair in pairs}
    circular = {column for circle in circles for column in circle}
    bases: dict[int, int] = {}
    more = list(pairs)
    for k, candidate in enumerate(candidates):
        if k in paired or not candidate.angle:
            continue
        options = []
        ways = [candidate]
        if len(candidate.columns) == 2:
            ways.append(_circle_candidate(trajectories, candidate.columns[::-1]))
        for base in pairs:
            for way in ways:
                series = tuple(a - b for a, b in zip(way.series, candidates[base.coordinate].series, strict=True))
                difference = replace(way, series=series)
                free = [c for c in live if c not in speeds and c not in circular]
                found = _velocity_pairs(trajectories, [difference], free, [], noise, None, told)
                options += [(pair.left, base.coordinate, difference, pair) for pair in found if abs(pair.slope / step - 1) < 0.05]
        if options:
            _, base, difference, pair = min(options, key=lambda option: option[0])
            candidates[k] = difference
            bases[k] = base
            more.append(pair._replace(coordinate=k))
            speeds.add(pair.column)
    return sorted(more, key=lambda pair: (pair.coordinate in bases, candidates[pair.coordinate].columns)), bases
