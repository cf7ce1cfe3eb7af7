"""Columns without a velocity of their own: copies and derived ones,
noise, coordinates of hidden velocity, and those of first order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from visualpatchworld.induction.events import begins_anew
from visualpatchworld.induction.inputs import bends_of, bent
from visualpatchworld.induction.pairing import GivenRoles, Series
from visualpatchworld.induction.reading import Coordinate, Derived, Names, Reading, Role
from visualpatchworld.induction.regress import solve
from visualpatchworld.world.trajectory import Trajectory

MOST_TERMS = 5  # of a column that follows from others
EXACT = 1e-5  # of the column's spread may be left
NEAR = 5e-3  # the same for sums of few terms: an engine may compute a column at a slightly other moment
NEAR_TERMS = 3
FAR_OFF = 6.0  # medians of what is left: rows beyond do not say what a column is
NOISE = 0.95  # of a column's spread that nothing predicts
HIDDEN = 0.15  # a coordinate with a hidden velocity leaves at least this part of its changes to it

Note = Callable[[int, Role, str | None, str], None]  # a column's role: of what, and how that shows


class Expression(NamedTuple):
    """Code over `state`, the same for people, and what it leaves of the column's spread."""

    code: str
    shown: str
    left: float
    shifted: bool = False  # whether each episode adds a number of its own


def derived_expression(
    trajectories: Sequence[Trajectory],
    column: int,
    coordinates: Sequence[Coordinate],
    parameters: Sequence[int],
    noise: Float[np.ndarray, " O"],
    dt: float = 0.0,
) -> Expression | None:
    """How a column follows from these coordinates, or None if no short sum gives it.

    Some engines compute a column before the last of their physics steps is done: coordinates are tried a part of a step
    earlier, too.
    """
    if not coordinates:
        return None
    for most, exact, shifted in ((MOST_TERMS, EXACT, False), (NEAR_TERMS, NEAR, False), (MOST_TERMS, EXACT, True)):
        for parts in (0, 1, 2, 4, 5):
            lag = dt / parts if parts else 0.0
            found = _derived_at(trajectories, column, coordinates, parameters, noise, lag, most, exact, shifted)
            if found is not None:
                return found
    return None


def _derived_at(
    trajectories: Sequence[Trajectory],
    column: int,
    coordinates: Sequence[Coordinate],
    parameters: Sequence[int],
    noise: Float[np.ndarray, " O"],
    lag: float,
    most: int,
    exact: float,
    shifted: bool,
) -> Expression | None:
    reading = Reading((), tuple(coordinates), tuple((f"parameter_{c}", c) for c in parameters))
    states = np.concatenate([reading.states(t) for t in trajectories])
    target = np.concatenate([t.observations[:, column] for t in trajectories])
    spread = float(np.std(target))
    values = dict(zip(reading.state_names, states.T, strict=True))
    earlier = {c.name: f"(state.{c.name} - {lag:g} * state.{c.velocity})" for c in coordinates if c.velocity and lag}
    for c in coordinates:
        if c.name in earlier and c.velocity:
            values[c.name] = values[c.name] - lag * values[c.velocity]
    columns: dict[str, np.ndarray] = {"1": np.ones(len(target))}
    columns |= {f"state.{name}": value for name, value in values.items()}
    angles: dict[str, np.ndarray] = {}
    for i, c in enumerate(coordinates):
        angles[f"state.{c.name}"] = values[c.name]
        for d in coordinates[i + 1 :]:
            angles[f"state.{c.name} + state.{d.name}"] = values[c.name] + values[d.name]
            angles[f"state.{c.name} - state.{d.name}"] = values[c.name] - values[d.name]
    if len(angles) > 30:
        angles = dict(list(angles.items())[:30])
    for code, value in angles.items():
        columns[f"np.cos({code})"] = np.cos(value)
        columns[f"np.sin({code})"] = np.sin(value)
    speeds = [c.velocity for c in coordinates if c.velocity]
    for i, name in enumerate(speeds):
        for code, value in angles.items():
            columns[f"state.{name} * np.cos({code})"] = values[name] * np.cos(value)
            columns[f"state.{name} * np.sin({code})"] = values[name] * np.sin(value)
        for other in speeds[i:]:
            columns[f"state.{name} * state.{other}"] = values[name] * values[other]
    for i, c in enumerate(coordinates):
        columns[f"state.{c.name} ** 2"] = values[c.name] ** 2
        for d in coordinates[i + 1 :]:
            columns[f"state.{c.name} * state.{d.name}"] = values[c.name] * values[d.name]
            columns[f"np.hypot(state.{c.name}, state.{d.name})"] = np.hypot(values[c.name], values[d.name])
    codes = list(columns)
    design = np.stack([columns[code] for code in codes], axis=-1)
    if shifted:
        lengths = [len(t.observations) for t in trajectories]
        design, target = _centred(design, lengths), _centred(target, lengths)
        spread = float(np.std(target))
    enough = max(exact * spread, 4 * noise[column])
    fit = _short_sum(design[::2], target[::2], enough, most)
    if fit is None:
        return None
    chosen, beta = fit
    left = float(np.sqrt(np.mean((target[1::2] - design[1::2][:, chosen] @ beta) ** 2)))
    if left > 3 * enough:
        return None
    if exact == NEAR:
        beta = _of_most_rows(design[:, chosen], target, beta)
    parts = [_part(value, codes[i]) for value, i in zip(beta, chosen, strict=True)]
    code = " + ".join(parts).replace("+ -", "- ")
    for name, moment in earlier.items():
        code = re.sub(rf"\bstate\.{name}\b", moment, code)
    return Expression(code, code.replace("state.", "").replace("np.", ""), left / (spread or 1.0), shifted)


def _of_most_rows(design: Float[np.ndarray, "N C"], target: Float[np.ndarray, " N"], beta: np.ndarray) -> np.ndarray:
    """The numbers by which most rows are met best, with as few digits as that takes: a column that is computed at another
    moment is far off in few rows, such as at a stop.
    """
    for _ in range(5):
        left = np.abs(target - design @ beta)
        usual = left <= FAR_OFF * float(np.median(left))
        beta = solve(design[usual], target[usual])

    def off(numbers: np.ndarray) -> float:
        return float(np.median(np.abs(target - design @ numbers)))

    rounded = (np.array([float(f"{value:.{digits}g}") for value in beta]) for digits in range(1, 10))
    return next((numbers for numbers in rounded if off(numbers) <= 1.1 * off(beta)), beta)


def _centred(values: np.ndarray, lengths: Sequence[int]) -> np.ndarray:
    """The values less their mean in each episode: what an episode adds all through falls out."""
    return np.concatenate([part - part.mean(axis=0) for part in np.split(values, np.cumsum(lengths)[:-1])])


def _short_sum(
    design: Float[np.ndarray, "N P"], target: Float[np.ndarray, " N"], enough: float, most: int
) -> tuple[list[int], np.ndarray] | None:
    """The first few columns of a forward search with a look back that leave no more than `enough`."""
    size = np.sqrt(np.mean(design**2, axis=0))
    scaled = design / np.where(size > 0, size, 1.0)
    chosen: list[int] = []
    left = target
    for _ in range(most):
        basis = np.linalg.qr(scaled[:, chosen])[0] if chosen else np.zeros((len(target), 0))
        rest = scaled - basis @ (basis.T @ scaled)
        norms = np.linalg.norm(rest, axis=0)
        gains = np.where(norms > 1e-7 * np.sqrt(len(target)), (left @ rest) ** 2 / np.maximum(norms, 1e-150) ** 2, 0)
        gains[chosen] = 0
        chosen.append(int(np.argmax(gains)))
        beta = solve(design[:, chosen], target)
        left = target - design[:, chosen] @ beta
        if np.sqrt(np.mean(left**2)) <= enough:
            # A term that came early may have become needless.
            for i in list(chosen):
                fewer = [j for j in chosen if j != i]
                trial = solve(design[:, fewer], target) if fewer else np.zeros(0)
                if fewer and np.sqrt(np.mean((target - design[:, fewer] @ trial) ** 2)) <= enough:
                    chosen, beta = fewer, trial
            return chosen, beta
    return None


def _part(value: float, code: str) -> str:
    near = float(f"{value:.6g}")
    number = f"{near:g}" if abs(near - value) <= 1e-7 * abs(value) else f"{value:.9g}"
    if code == "1":
        return number
    return code if number == "1" else f"-{code}" if number == "-1" else f"{number} * {code}"


@dataclass
class Placed:
    """What became of the columns: coordinates, derived columns, and parameters that no column shows by itself."""

    coordinates: list[Coordinate]
    derived: list[Derived] = field(default_factory=list)
    parameters: list[tuple[str, int]] = field(default_factory=list)


def copies(
    seen: Float[np.ndarray, "N O"],
    noise: Float[np.ndarray, " O"],
    live: Sequence[int],
    note: Note,
    given: GivenRoles,
    labels: Sequence[str],
) -> list[Derived]:
    """Columns that are one other column in another unit: the later one is derived."""
    derived = []
    for column in live[::-1]:
        for other in live:
            if other >= column or given.get(column, ("derived", None))[0] != "derived":
                break
            design = np.stack([seen[:, other], np.ones(len(seen))], axis=-1)
            factor, shift = solve(design, seen[:, column])
            left = float(np.std(seen[:, column] - design @ [factor, shift]))
            if left <= max(1e-7 * float(np.std(seen[:, column])), 4 * (noise[column] + abs(factor) * noise[other])):
                expression = f"{factor:.8g} * COLUMN_{other}" + (
                    f" + {shift:.8g}" if abs(shift) > 4 * left + 1e-12 else ""
                )
                note(
                    column,
                    "derived",
                    labels[other],
                    f"is {factor:.6g} times '{labels[other]}'{f' and {shift:.6g}' if shift else ''}",
                )
                derived.append(Derived(column, expression))
                break
    return derived


def place_unpaired(
    trajectories: Sequence[Trajectory],
    unpaired: Sequence[Series],
    coordinates: Sequence[Coordinate],
    parameters: Sequence[int],
    noise: Float[np.ndarray, " O"],
    step: float,
    given: GivenRoles,
    note: Note,
    names: Names,
) -> Placed:
    """A role for each of these: derived from the coordinates where they are, else noise, or one more coordinate."""
    placed = Placed(list(coordinates))
    evolving: list[Series] = []
    for series in unpaired:
        found: list[Expression | None] = [None]
        if given.get(series.columns[0], ("", None))[0] in ("", "derived"):
            found = [
                derived_expression(trajectories, column, coordinates, parameters, noise, step)
                for column in series.columns
            ]
        if any(expression is None for expression in found):
            evolving.append(series)
            continue
        for column, expression in zip(series.columns, found, strict=True):
            assert expression is not None
            code, rest = expression.code, f"rest {expression.left:.1g} of its spread"
            if expression.shifted:
                name = names.shift(column)
                placed.parameters.append((name, column))
                note(column, "derived", None, f"is {expression.shown} and {name}, the same within an episode; {rest}")
                code = f"state.{name} + {code}".replace("+ -", "- ")
            else:
                note(column, "derived", None, f"follows from the other fields: {expression.shown}; {rest}")
            placed.derived.append(Derived(column, code))
    for series in evolving:
        _place_evolving(trajectories, series, given, note, names, placed)
    return placed


def _place_evolving(
    trajectories: Sequence[Trajectory], series: Series, given: GivenRoles, note: Note, names: Names, placed: Placed
) -> None:
    opened = _openness(trajectories, series)
    forced = given.get(series.columns[0], ("", None))[0]
    if len(series.columns) == 1 and forced == "" and opened.without > NOISE and opened.with_last > NOISE:
        note(
            series.columns[0],
            "noise",
            None,
            f"nothing seen before predicts it: {opened.without:.2f} of its spread stays open",
        )
        return
    name = names.coordinate(series.columns, series.angle)
    speed, why = None, "evolves, and no column is its velocity"
    if opened.hidden:
        speed = names.velocity(None, name)
        left = f"{opened.with_last:.2g} of the spread of its change is left, {opened.without:.2g} without"
        why = f"goes on moving as it moved before ({left}); no column is its velocity"
    placed.coordinates.append(
        Coordinate(name, series.columns, series.angle, speed, None, series.wraps, series.turn_from)
    )
    note_coordinate(note, series, name, why)


def note_coordinate(note: Note, series: Series, name: str, why: str) -> None:
    """Notes the role of a coordinate's columns."""
    if len(series.columns) == 2:
        note(series.columns[0], "cos", name, f"squares of the two add up to 1; {why}")
        note(series.columns[1], "sin", name, f"squares of the two add up to 1; {why}")
    elif series.angle:
        note(series.columns[0], "angle", None, ("jumps by a whole turn; " if series.wraps else "as corrected; ") + why)
    else:
        note(series.columns[0], "coordinate", None, why)


@dataclass(frozen=True)
class _Openness:
    """What part of a field's change stays open without and with
    its last change, and whether it has a hidden velocity.
    """

    without: float
    with_last: float
    hidden: bool


def _openness(trajectories: Sequence[Trajectory], series: Series) -> _Openness:
    changes, features, last = [], [], []
    every = np.concatenate([t.observations for t in trajectories])
    # Whatever may be an angle may act through sine and cosine.
    wide = [c for c in range(every.shape[1]) if 2 < np.ptp(every[:, c]) < 60]
    edges = bends_of(np.concatenate([t.actions for t in trajectories]))
    for t, values in zip(trajectories, series.values, strict=True):
        if len(values) < 4:
            continue
        moved = np.diff(values)
        seen = t.observations[1:-1]
        turns = seen[:, wide]
        seen = np.concatenate([seen, np.sin(turns), np.cos(turns)], axis=1)
        if len(series.columns) == 2:
            seen = np.concatenate([seen, np.sin(values[1:-1])[:, None], np.cos(values[1:-1])[:, None]], axis=1)
        acted = np.concatenate([t.actions[1:], t.actions[:-1], bent(t.actions[1:], edges)], axis=1)
        changes.append(moved[1:])
        features.append(np.concatenate([seen, acted], axis=1))
        last.append(moved[:-1])
    if not changes:
        return _Openness(1.0, 1.0, False)
    change, design, before = np.concatenate(changes), np.concatenate(features), np.concatenate(last)
    value = np.concatenate([values[2:] for values in series.values if len(values) >= 4])
    jumps = begins_anew(value - change, value) | begins_anew(value - change - before, value - change)
    change, design, before, value = change[~jumps], design[~jumps], before[~jumps], value[~jumps]
    varied = np.std(design, axis=0) > 0
    edges = [edge for edge, live in zip(edges, varied[len(varied) - len(edges) :], strict=True) if live]
    design = design[:, varied]
    design = (design - design.mean(axis=0)) / design.std(axis=0)
    plain = design.shape[1] - len(edges)
    if plain <= 12 or plain**2 < len(design) / 2:
        smooth = design[:, :plain]
        design = np.concatenate(
            [design, smooth**2, *(smooth[:, [i]] * smooth[:, i + 1 :] for i in range(plain - 1))], axis=1
        )
    # Rows between those that are learned from, since a sum of squares does not reach far beyond; by chance, since
    # actions may be held.
    judge = np.random.default_rng(0).random(len(change)) < 1 / 3
    spread = float(np.std(value[judge])) or 1.0  # of the very rows that judge: their own chance cancels

    def open_part(target: np.ndarray, size: float, *extra: np.ndarray) -> float:
        whole = np.concatenate([np.ones((len(change), 1)), design, *(e[:, None] for e in extra)], axis=1)
        beta = solve(whole[~judge], target[~judge], 1e-8)
        return float(np.sqrt(np.mean(np.clip(target[judge] - whole[judge] @ beta, -5 * size, 5 * size) ** 2))) / size

    still = float(np.std(change)) or 1.0
    without, with_last = open_part(change, still), open_part(change, still, before)
    value_open = open_part(value, spread, before)
    if value_open > NOISE and not series.angle:
        return _Openness(value_open, value_open, False)
    # What the fields of a moment leave little of needs no velocity: over a step a smooth law of first order bends, too.
    hidden = with_last < 0.6 * without and with_last < 0.7 and without > HIDDEN
    return _Openness(min(without, 0.9), with_last, hidden)
