"""Places that a reward names and nobody else does: how far a field,
or two of them together, are from numbers that are searched for.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
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
BOUNDS = (0.15, 0.3, 0.5, 0.75)  # of the largest distance, that distances may count as at most
BOUND_GAIN = 0.2  # of what is left without a bound may be left with one
OUTSIDE = 1.0  # of a field's range: a place may lie so far beyond
LEAST_ROWS_PER_COLUMN = 2
ROUNDS = 4  # in which places are moved in turns


class _Place(NamedTuple):
    """Fields, the place that they are measured from, and the most that their distance counts as."""

    fields: tuple[str, ...]
    at: tuple[float, ...]
    most: float = np.inf

    def text(self) -> str:
        apart = [
            f"({field} - {float(f'{c:.9g}')!r})".replace("- -", "+ ").replace(" - 0.0)", ")")
            for field, c in zip(self.fields, self.at, strict=True)
        ]
        apart = [part if " " in part else part[1:-1] for part in apart]
        bare = [part.removeprefix("(").removesuffix(")") for part in apart]
        far = f"np.abs({apart[0]})" if len(apart) == 1 else f"np.hypot({', '.join(bare)})"
        return far if self.most == np.inf else f"np.minimum({far}, {float(f'{self.most:.9g}')!r})"

    def distance(self, values: Mapping[str, Float[np.ndarray, " N"]]) -> Float[np.ndarray, " N"]:
        parts = [values[field] - c for field, c in zip(self.fields, self.at, strict=True)]
        return np.minimum(np.sqrt(np.sum(np.square(parts), axis=0)), self.most)

    def within(self, values: Mapping[str, Float[np.ndarray, " N"]]) -> bool:
        """Whether it is a place that was nearly seen, and its bound one that distances reach: far away a distance is a
        straight line.
        """
        edges = [(float(values[f].min()), float(values[f].max())) for f in self.fields]
        near = all(
            low - OUTSIDE * (high - low) <= c <= high + OUTSIDE * (high - low)
            for c, (low, high) in zip(self.at, edges, strict=True)
        )
        bare = self._replace(most=np.inf).distance(values)
        return near and (self.most == np.inf or float(bare.min()) < self.most < float(bare.max()))

    @property
    def numbers(self) -> tuple[float, ...]:
        return self.at if self.most == np.inf else (*self.at, self.most)

    def with_numbers(self, numbers: Sequence[float]) -> _Place:
        count = len(self.at)
        return self._replace(at=tuple(numbers[:count]), most=numbers[count] if len(numbers) > count else np.inf)


Left = Callable[[Sequence[_Place]], float]


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
    if len(rows) < LEAST_ROWS_PER_COLUMN * len(others):
        return []
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, min(MOST_ROWS, len(rows))).astype(int))]
    values = {name: column[rows] for name, column in values.items() if np.ptp(column[rows]) > 0}
    basis = _basis(np.stack([column[rows] for column in others], axis=-1))
    goal, size = _beside(target[rows], basis), max(float(np.std(target[rows])), 1e-300)
    found: list[_Place] = []

    def left(places: Sequence[_Place]) -> float:
        design = [_beside(place.distance(values), basis) for place in places]
        design = np.stack([np.zeros(len(goal)), *design], axis=-1)
        rest = goal - design @ np.linalg.lstsq(design, goal, rcond=1e-12)[0]
        return float(np.sqrt(np.mean(rest**2))) / size

    now = left(found)
    while len(found) < MOST_PLACES and now > EXACT and not clock.over:
        trials = [_refined(place, found, left) for place in _best_on_grid(values, basis, found, goal, (np.inf,))]
        if min((left([*found, place]) for place in trials), default=0.0) > EXACT:
            trials += [_refined(place, found, left) for place in _best_on_grid(values, basis, found, goal, BOUNDS)]
        trials = [place for place in trials if place.within(values)]
        # A bound is one more constant: it must leave clearly less.
        gain = {True: 1.0, False: 1 / BOUND_GAIN}
        best = min(trials, key=lambda place: left([*found, place]) * gain[place.most == np.inf], default=None)
        if best is None or left([*found, best]) > USEFUL * now:
            break
        found = _in_turns([*found, best], left)
        now = left(found)
    for k in range(len(found)) if now > EXACT and not clock.over else ():
        place, beside = found[k], [*found[:k], *found[k + 1 :]]
        far = float(place.distance(values).max())
        bounded = [_refined(place._replace(most=part * far), beside, left) for part in BOUNDS if place.most == np.inf]
        best = min(bounded, key=lambda trial: left([*beside, trial]), default=place)
        if left([*beside, best]) < BOUND_GAIN * now and best.within(values):
            found = _in_turns([*found[:k], best, *found[k + 1 :]], left)
            now = left(found)
    return [place.text() for place in _shortest(found, values, left)]


def _in_turns(places: Sequence[_Place], left: Left) -> list[_Place]:
    """The places, each moved beside the others as they are now, until next to nothing is left."""
    found = list(places)
    for _ in range(ROUNDS):
        for k, place in enumerate(found):
            found[k] = _refined(place, [*found[:k], *found[k + 1 :]], left)
        if len(found) == 1 or left(found) <= EXACT:
            break
    return found


def _basis(columns: Float[np.ndarray, "N P"]) -> Float[np.ndarray, "N Q"]:
    norms = np.linalg.norm(columns, axis=0)
    left, sizes, _ = np.linalg.svd(columns[:, norms > 0] / norms[norms > 0], full_matrices=False)
    return left[:, sizes > 1e-10 * sizes.max(initial=0.0)]


def _beside(columns: np.ndarray, basis: Float[np.ndarray, "N Q"]) -> np.ndarray:
    """What columns have that the basis has not."""
    return columns - basis @ (basis.T @ columns)


def named_distances(expression: str) -> list[str]:
    """The distances from places in a reward, of the state that a step ends in, as expressions over `state`."""
    found = re.findall(r"np\.hypot\([^()]*\)|np\.abs\(\([^()]*\)\)", expression)
    return [text.replace("next_state.", "state.") for text in dict.fromkeys(found) if "next_state." in text]


def _best_on_grid(
    values: Mapping[str, np.ndarray],
    basis: np.ndarray,
    found: Sequence[_Place],
    goal: np.ndarray,
    parts: Sequence[float],
) -> list[_Place]:
    """The few places that explain most of what the basis and the places found so far leave; distances count as no more
    than these parts of the largest one.
    """
    known = [_beside(place.distance(values), basis) for place in found]
    taken = _basis(np.stack(known, axis=-1)) if known else basis[:, :0]
    rest = _beside(goal, taken)
    best: list[tuple[float, _Place]] = []
    names = list(values)
    choices = [(name,) for name in names] + list(itertools.combinations(names[:MOST_FIELDS], 2))
    for fields in choices:
        axes = [np.linspace(values[f].min(), values[f].max(), ALONE if len(fields) == 1 else TOGETHER) for f in fields]
        grid = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=-1)
        squares = sum((values[f][:, None] - grid[None, :, k]) ** 2 for k, f in enumerate(fields))
        far = np.sqrt(squares)
        for part in parts:
            most = part * far.max(axis=0)
            columns = _beside(_beside(np.minimum(far, most), basis), taken)
            gains = (rest @ columns) ** 2 / np.maximum(np.sum(columns**2, axis=0), 1e-12)
            k = int(np.argmax(gains))
            best.append((float(gains[k]), _Place(fields, tuple(grid[k].tolist()), float(most[k]))))
    return [place for _, place in sorted(best, key=lambda entry: -entry[0])[:REFINED]]


def _refined(place: _Place, others: Sequence[_Place], left: Left) -> _Place:
    """The place moved to where least is left beside the others."""
    result = minimize(
        lambda numbers: left([*others, place.with_numbers(numbers.tolist())]),
        np.array(place.numbers),
        method="Nelder-Mead",
        options={"xatol": 1e-11, "fatol": 1e-13, "maxiter": 400},
    )
    return place.with_numbers([float(c) for c in result.x])


def _shortest(found: Sequence[_Place], values: Mapping[str, np.ndarray], left: Left) -> list[_Place]:
    """The places in as few decimals of their fields' ranges as they need."""
    enough = max(EXACT, 1.02 * left(found))
    for digits in range(1, 10):
        short = []
        for place in found:
            decimals = [digits - int(np.floor(np.log10(np.ptp(values[field])))) - 1 for field in place.fields]
            numbers = [round(c, d) + 0.0 for c, d in zip(place.numbers, [*decimals, max(decimals)], strict=False)]
            short.append(place.with_numbers(numbers))
        if left(short) <= enough:
            return short
    return list(found)
