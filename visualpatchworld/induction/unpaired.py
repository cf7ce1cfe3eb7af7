"""Columns without a velocity of their own: copies and derived ones, noise, coordinates of hidden velocity, and those of first order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from visualpatchworld.induction.derive import Expression, derived_expression
from visualpatchworld.induction.inputs import bends_of, bent
from visualpatchworld.induction.pairing import Series, Told
from visualpatchworld.induction.reading import Coordinate, Derived, Names, Role
from visualpatchworld.induction.regress import solve
from visualpatchworld.world.trajectory import Trajectory

NOISE = 0.95  # of a column's spread that nothing predicts
HIDDEN = 0.15  # a coordinate with a hidden velocity leaves at least this part of its changes to it

Note = Callable[[int, Role, str | None, str], None]  # a column's role: of what, and how that shows


@dataclass
class Placed:
    """What became of the columns: coordinates, derived columns, and parameters that no column shows by itself."""

    coordinates: list[Coordinate]
    derived: list[Derived] = field(default_factory=list)
    parameters: list[tuple[str, int]] = field(default_factory=list)


def copies(
    seen: Float[np.ndarray, "N O"], noise: Float[np.ndarray, " O"], live: Sequence[int], note: Note, told: Told, labels: Sequence[str]
) -> list[Derived]:
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


def place_unpaired(
    trajectories: Sequence[Trajectory],
    unpaired: Sequence[Series],
    coordinates: Sequence[Coordinate],
    parameters: Sequence[int],
    noise: Float[np.ndarray, " O"],
    step: float,
    told: Told,
    note: Note,
    names: Names,
) -> Placed:
    """A role for each of these: derived from the coordinates where they are, else noise, or one more coordinate."""
    placed = Placed(list(coordinates))
    evolving: list[Series] = []
    for series in unpaired:
        found: list[Expression | None] = [None]
        if told.get(series.columns[0], ("", None))[0] in ("", "derived"):
            found = [derived_expression(trajectories, column, coordinates, parameters, noise, step) for column in series.columns]
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
        _place_evolving(trajectories, series, told, note, names, placed)
    return placed


def _place_evolving(trajectories: Sequence[Trajectory], series: Series, told: Told, note: Note, names: Names, placed: Placed) -> None:
    opened = _openness(trajectories, series)
    forced = told.get(series.columns[0], ("", None))[0]
    if len(series.columns) == 1 and forced == "" and opened.without > NOISE and opened.with_last > NOISE:
        note(series.columns[0], "noise", None, f"nothing seen before predicts it: {opened.without:.2f} of its spread stays open")
        return
    name = names.coordinate(series.columns, series.angle)
    speed, why = None, "evolves, and no column is its velocity"
    if opened.hidden:
        speed = names.velocity(None, name)
        left = f"{opened.with_last:.2g} of the spread of its change is left, {opened.without:.2g} without"
        why = f"goes on moving as it moved before ({left}); no column is its velocity"
    placed.coordinates.append(Coordinate(name, series.columns, series.angle, speed, None, series.wraps, series.turn_from))
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
    """What part of a field's change stays open without and with its last change, and whether it has a hidden velocity."""

    without: float
    with_last: float
    hidden: bool


def _openness(trajectories: Sequence[Trajectory], series: Series) -> _Openness:
    changes, features, last = [], [], []
    every = np.concatenate([t.observations for t in trajectories])
    wide = [c for c in range(every.shape[1]) if 2 < np.ptp(every[:, c]) < 60]  # whatever may be an angle may act through sine and cosine
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
    varied = np.std(design, axis=0) > 0
    edges = [edge for edge, live in zip(edges, varied[len(varied) - len(edges) :], strict=True) if live]
    design = design[:, varied]
    design = (design - design.mean(axis=0)) / design.std(axis=0)
    plain = design.shape[1] - len(edges)
    if plain <= 12 or plain**2 < len(design) / 2:
        smooth = design[:, :plain]
        design = np.concatenate([design, smooth**2, *(smooth[:, [i]] * smooth[:, i + 1 :] for i in range(plain - 1))], axis=1)
    # Rows between those that are learned from, since a sum of squares does not reach far beyond; by chance, since actions may be held.
    judge = np.random.default_rng(0).random(len(change)) < 1 / 3
    value = np.concatenate([values[2:] for values in series.values if len(values) >= 4])
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
