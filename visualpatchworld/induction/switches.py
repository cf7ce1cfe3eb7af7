"""Switches: fields of a few values that stay as they are until another field or an action passes a threshold."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.induction.motion import Limit, Number
from visualpatchworld.induction.reading import Coordinate, Reading
from visualpatchworld.induction.regress import shortest_between
from visualpatchworld.induction.terms import Rows

MOST_VALUES = 4
LEAST_ROWS = 2  # steps that show a switch turning from one value to another
MOST_TURNS = 0.4  # of the steps: what turns more often does not stay


def is_switch(coordinate: Coordinate, rows: Rows) -> bool:
    """Whether a coordinate has no velocity, takes a few values alone, and mostly stays at the one it has."""
    if coordinate.velocity is not None or coordinate.angle:
        return False
    k = rows.names.index(coordinate.name)
    values = np.unique(np.concatenate([rows.before[:, k], rows.after[:, k]]))
    turned = rows.after[:, k] != rows.before[:, k]
    return 2 <= len(values) <= MOST_VALUES and LEAST_ROWS <= turned.sum() <= MOST_TURNS * len(turned)


def turns_alone(reading: Reading, coordinate: Coordinate, rows: Rows) -> bool:
    """Whether thresholds of single fields or actions say of every value of a switch when it turns to it."""
    if not is_switch(coordinate, rows):
        return False
    k = rows.names.index(coordinate.name)
    turned = rows.after[:, k] != rows.before[:, k]
    values, counts = np.unique(rows.after[turned, k], return_counts=True)
    known = {limit.numbers[0].name for limit in turns(reading, coordinate, rows)}
    return all(
        _name(coordinate, float(value)) in known
        for value, count in zip(values, counts, strict=True)
        if count >= LEAST_ROWS
    )


def turns(reading: Reading, coordinate: Coordinate, rows: Rows) -> list[Limit]:
    """Limits that turn a switch from one value to another beyond a
    threshold that parts the steps in which it turns from all others.
    """
    k = rows.names.index(coordinate.name)
    was, became = rows.before[:, k], rows.after[:, k]
    found = []
    for value in np.unique(became[became != was]):
        turned = (became == value) & (was != value)
        if turned.sum() < LEAST_ROWS:
            continue
        # Where another value was turned to instead, nothing says which of two thresholds comes first.
        free = (was != value) & ((became == was) | turned)
        options = [
            (gap / (spread or 1.0), code, side, edge)
            for code, column, spread in _columns(reading, coordinate, rows)
            for side, edge, gap in _edges(column[free], turned[free])
        ]
        for _, code, side, edge in sorted(options, reverse=True):
            found.append(_turn(coordinate, float(value), code, side, edge))
    return found


def _columns(reading: Reading, own: Coordinate, rows: Rows) -> Iterator[tuple[str, Float[np.ndarray, " N"], float]]:
    """What may turn a switch, as code: fields before the step and after it, and actions; each with its spread."""
    for name in reading.state_names:
        if name != own.name:
            k = rows.names.index(name)
            spread = float(np.std(rows.before[:, k]))
            yield f"state.{name}", rows.before[:, k], spread
            yield name, rows.after[:, k], spread
    for a in range(rows.actions.shape[1]):
        yield f"action[{a}]", rows.actions[:, a], float(np.std(rows.actions[:, a]))


def _edges(values: Float[np.ndarray, " N"], turned: Bool[np.ndarray, " N"]) -> Iterator[tuple[str, float, float]]:
    """Thresholds with all steps that turn on one side and all
    others on the other, and how wide the gap between them is.
    """
    if turned.all():
        return
    for side, sign in ((">", 1.0), ("<", -1.0)):
        inside, beyond = float((sign * values[~turned]).max()), float((sign * values[turned]).min())
        if inside < beyond:
            yield side, sign * shortest_between(inside, beyond), beyond - inside


def _turn(own: Coordinate, value: float, code: str, side: str, edge: float) -> Limit:
    name = _name(own, value)
    shown = code.removeprefix("state.")
    number = Number(
        name,
        edge,
        doc=f"{own.name} becomes {value:g} where {shown} is {'above' if side == '>' else 'below'}",
        free=False,
    )
    line = f"{own.name} = np.where({code} {side} {name}, {value!r}, {own.name})"
    return Limit("coordinate", (line,), (number,), "switch", (own.name,))


def _name(own: Coordinate, value: float) -> str:
    return f"{own.name}_to_{value:g}".replace("-", "minus_").replace(".", "_").replace("+", "").upper()
