"""Places that a reward names and nobody else does: how far a field,
or two of them together, are from numbers that are searched for.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import minimize

from visualpatchworld.induction.clock import NO_LIMIT, Clock

MOST_FIELDS = 8  # of which every two are tried together
MOST_ROWS = 500  # that places are searched with
ALONE, TOGETHER = 81, 21  # places that are tried along a field: of one field, and of each of two
REFINED = 3  # places that are refined, of those that leave least
MOST_PLACES = 2
EXACT = 1e-6  # of the target's spread
USEFUL = 0.7  # of what was left may be left with one more place


class _Place(NamedTuple):
    """Fields and the place that they are measured from."""

    fields: tuple[str, ...]
    at: tuple[float, ...]

    def text(self, digits: int = 9) -> str:
        apart = [
            f"({field} - {float(f'{c:.{digits}g}')!r})".replace("- -", "+ ")
            for field, c in zip(self.fields, self.at, strict=True)
        ]
        return f"np.abs({apart[0]})" if len(apart) == 1 else f"np.hypot({', '.join(part[1:-1] for part in apart)})"

    def distance(self, values: Mapping[str, Float[np.ndarray, " N"]], digits: int = 17) -> Float[np.ndarray, " N"]:
        parts = [values[field] - float(f"{c:.{digits}g}") for field, c in zip(self.fields, self.at, strict=True)]
        return np.sqrt(np.sum(np.square(parts), axis=0))


def find_distances(
    values: Mapping[str, Float[np.ndarray, " N"]],
    others: Sequence[Float[np.ndarray, " N"]],
    target: Float[np.ndarray, " N"],
    fit: Bool[np.ndarray, " N"],
    clock: Clock = NO_LIMIT,
) -> list[str]:
    """Distances, as code, that beside a sum of the other columns explain the target; none where they do not help.

    Every field is tried alone and with every other one, at places on a grid; the best are moved to where least is left.
    """
    rows = np.flatnonzero(fit)
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, min(MOST_ROWS, len(rows))).astype(int))]
    values = {name: column[rows] for name, column in values.items() if np.ptp(column[rows]) > 0}
    goal, size = target[rows], max(float(np.std(target[rows])), 1e-300)
    base = np.stack([column[rows] for column in others], axis=-1)
    found: list[_Place] = []

    def left(places: Sequence[_Place]) -> float:
        design = np.concatenate([base, *(place.distance(values)[:, None] for place in places)], axis=1)
        scale = np.linalg.norm(design, axis=0)
        design = design[:, scale > 0] / scale[scale > 0]
        rest = goal - design @ np.linalg.lstsq(design, goal, rcond=1e-12)[0]
        return float(np.sqrt(np.mean(rest**2))) / size

    now = left(found)
    while len(found) < MOST_PLACES and now > EXACT and not clock.over:
        trials = [_refined(place, found, left) for place in _best_on_grid(values, base, found, goal)]
        best = min(trials, key=lambda place: left([*found, place]), default=None)
        if best is None or left([*found, best]) > USEFUL * now:
            break
        found.append(best)
        for k, place in enumerate(found):  # each beside the others as they are now
            found[k] = _refined(place, [*found[:k], *found[k + 1 :]], left)
        now = left(found)
    return [_shortest(place, [*found[:k], *found[k + 1 :]], left).text() for k, place in enumerate(found)]


def named_distances(expression: str) -> list[str]:
    """The distances from places in a reward, of the state that a step ends in, as expressions over `state`."""
    found = re.findall(r"np\.hypot\([^()]*\)|np\.abs\(\([^()]*\)\)", expression)
    return [text.replace("next_state.", "state.") for text in dict.fromkeys(found) if "next_state." in text]


def _best_on_grid(
    values: Mapping[str, np.ndarray], base: np.ndarray, found: Sequence[_Place], goal: np.ndarray
) -> list[_Place]:
    """The few places that explain most of what the other columns and the places found so far leave."""
    taken = np.concatenate([base, *(place.distance(values)[:, None] for place in found)], axis=1)
    norms = np.linalg.norm(taken, axis=0)
    left, sizes, _ = np.linalg.svd(taken[:, norms > 0] / norms[norms > 0], full_matrices=False)
    basis = left[:, sizes > 1e-10 * sizes.max(initial=0.0)]
    rest = goal - basis @ (basis.T @ goal)
    best: list[tuple[float, _Place]] = []
    names = list(values)
    choices = [(name,) for name in names] + list(itertools.combinations(names[:MOST_FIELDS], 2))
    for fields in choices:
        axes = [np.linspace(values[f].min(), values[f].max(), ALONE if len(fields) == 1 else TOGETHER) for f in fields]
        grid = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=-1)
        squares = sum((values[f][:, None] - grid[None, :, k]) ** 2 for k, f in enumerate(fields))
        columns = np.sqrt(squares)
        columns = columns - basis @ (basis.T @ columns)
        sizes = np.maximum(np.sum(columns**2, axis=0), 1e-12)
        gains = (rest @ columns) ** 2 / sizes
        k = int(np.argmax(gains))
        best.append((float(gains[k]), _Place(fields, tuple(grid[k].tolist()))))
    return [place for _, place in sorted(best, key=lambda entry: -entry[0])[:REFINED]]


def _refined(place: _Place, others: Sequence[_Place], left) -> _Place:
    """The place moved to where least is left beside the others."""
    result = minimize(
        lambda at: left([*others, place._replace(at=tuple(at.tolist()))]),
        np.array(place.at),
        method="Nelder-Mead",
        options={"xatol": 1e-11, "fatol": 1e-13, "maxiter": 400},
    )
    return place._replace(at=tuple(float(c) for c in result.x))


def _shortest(place: _Place, others: Sequence[_Place], left) -> _Place:
    """The place in as few digits as it needs."""
    enough = max(EXACT, 1.02 * left([*others, place]))
    for digits in range(1, 10):
        short = place._replace(at=tuple(float(f"{c:.{digits}g}") if abs(c) > 1e-7 else 0.0 for c in place.at))
        if left([*others, short]) <= enough:
            return short
    return place
