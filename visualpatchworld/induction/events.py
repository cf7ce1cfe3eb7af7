"""Event rows: steps at limits and contacts, found as those that no
smooth law of all fields explains; set aside before any structure.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.induction.inputs import MOST_CHOICES, bends_of, bent, remembered_action
from visualpatchworld.induction.regress import robust_fit
from visualpatchworld.induction.terms import Rows

WAVES = 80  # random smooth features
CUT = 10.0
CELLS = 4  # steps per cell of a grid, at least
PILE = 150  # parts of a column's range, of which the outermost may hold a pile
OPPOSITE = -0.25  # errors of neighbouring steps that are so opposite are noise of observations
MOST_SET_ASIDE = 0.4  # more rows than this are no events: the smooth fit is just poor

# Of a field's range: what a jump to its other end is longer than, and what all other steps are shorter than.
FAR_JUMP, USUAL_STEP = 0.5, 0.25
MOST_JUMPS = 0.25  # of the steps


class SmoothFit(NamedTuple):
    """What a flexible robust fit of a response leaves, and the rows that it explains about as well as most."""

    left: Float[np.ndarray, " N"]
    kept: Bool[np.ndarray, " N"]
    freedom: float  # part of the rows that the fit's own constants did not use up


def smooth_fit(target: Float[np.ndarray, " N"], rows: Rows, floor: float, seed: int = 0) -> SmoothFit:
    """A robust regression on linear, square and random smooth functions of all fields and actions."""
    every = np.ones(len(target), bool)
    straight = [k for k in range(rows.before.shape[1]) if k not in rows.angles]
    turning = rows.before[:, list(rows.angles)]
    inputs = np.concatenate([rows.before[:, straight], np.sin(turning), np.cos(turning), rows.actions], axis=1)
    inputs = inputs[:, np.std(inputs, axis=0) > 0]
    if not inputs.shape[1] or len(target) < 40:
        return SmoothFit(target - target.mean(), every, 1.0)
    inputs = (inputs - np.median(inputs, axis=0)) / np.std(inputs, axis=0)
    inputs = np.clip(inputs, -4, 4)
    rng = np.random.default_rng(seed)
    waves = min(WAVES, len(target) // 8)
    turns = rng.normal(size=(inputs.shape[1], waves)) * rng.choice([0.3, 0.7, 1.2], size=waves)
    smooth = np.cos(inputs @ turns + rng.uniform(0, 2 * np.pi, waves))
    pieces = bent(rows.actions, bends_of(rows.actions))
    pieces = pieces / np.maximum(np.std(pieces, axis=0), 1e-12) if pieces.shape[1] < len(target) // 8 else pieces[:, :0]
    columns = [np.ones((len(target), 1)), inputs, inputs**2, smooth, pieces, _by_choice(inputs, rows.actions)]
    design = np.concatenate(columns, axis=1)
    edges = at_edges(rows)
    blurred = at_blurred_edges(rows) & ~edges
    if blurred.any():
        # Such rows bend a fit so much that noise shows only without them.
        fit = _fit_free(target, design, ~(edges | blurred), floor)
        if noise_left(fit.left, rows, fit.kept, floor):
            return fit
    return _fit_free(target, design, ~edges, floor)


def _by_choice(inputs: Float[np.ndarray, "N P"], actions: Float[np.ndarray, "N A"]) -> Float[np.ndarray, "N M"]:
    """The inputs once more for each of a few whole numbers that an
    action may be: every choice may do something else to every field.
    """
    parts = [np.zeros((len(inputs), 0))]
    for column in actions.T:
        values = np.unique(column)
        if (
            2 <= len(values) <= MOST_CHOICES
            and (values == np.round(values)).all()
            and len(values) * inputs.shape[1] < len(inputs) // 8
        ):
            for value in values[1:]:
                chosen = (column == value)[:, None].astype(float)
                parts += [chosen, chosen * inputs]
    return np.concatenate(parts, axis=1)


def _fit_free(
    target: Float[np.ndarray, " N"], design: Float[np.ndarray, "N P"], free: Bool[np.ndarray, " N"], floor: float
) -> SmoothFit:
    """The robust regression over the rows that are free, or over all where too few are."""
    free = free if free.sum() > max(40, 0.2 * len(free)) else np.ones(len(free), bool)
    fit = robust_fit(design[free], target[free], floor=floor, ridge=1e-9, cut=CUT)
    kept = free.copy()
    kept[free] = fit.kept
    if fit.kept.mean() <= 1 - MOST_SET_ASIDE:
        kept = free
    return SmoothFit(target - design @ fit.coefficients, kept, max(1 - design.shape[1] / max(free.sum(), 1), 0.2))


def usual_rows(target: Float[np.ndarray, " N"], rows: Rows, floor: float) -> Bool[np.ndarray, " N"]:
    """Rows that a flexible robust fit of the response explains about as well as most; the others are events."""
    return smooth_fit(target, rows, floor).kept


def observation_noise(target: Float[np.ndarray, " N"], rows: Rows, floor: float) -> float:
    """The part of a response that noise of observations makes, or 0 where there is no sign of such noise.

    An error of one observation raises a change and lowers the next: noise shows in errors of neighbours that are
    opposite. What a law misses does not do that.
    """
    fit = smooth_fit(target, rows, floor)
    return noise_left(fit.left, rows, fit.kept, floor) / np.sqrt(fit.freedom)


def noise_left(left: Float[np.ndarray, " N"], rows: Rows, kept: Bool[np.ndarray, " N"], floor: float) -> float:
    """The size of what is left where its neighbours are opposite, as noise of observations makes them; else 0."""
    spread = 1.4826 * float(np.median(np.abs(left[kept]))) if kept.any() else 0.0
    fine = kept & (np.abs(left) < 5 * spread)
    next_one = np.flatnonzero((np.diff(rows.episode) == 0) & (np.diff(rows.time) == 1) & fine[1:] & fine[:-1])
    if len(next_one) < 30 or spread <= 2 * floor:
        return 0.0
    a, b = left[next_one], left[next_one + 1]
    likeness = float(np.mean(a * b) / np.sqrt(np.mean(a**2) * np.mean(b**2)))
    return float(np.sqrt(np.mean(left[fine] ** 2))) if likeness < OPPOSITE else 0.0


def at_edges(rows: Rows, of: Collection[str] | None = None) -> Bool[np.ndarray, " N"]:
    """Steps that end at a value of a field (of one of these, where
    they are named) that is met again and again: a wall or a clip.
    """
    found = np.zeros(len(rows.before), bool)
    # What stays at such a value is held there, unless it is at rest in all fields; and also then, if it rests whatever
    # is done.
    still = (rows.after == rows.before).all(axis=1)
    if still.any() and rows.actions.shape[1] and np.ptp(rows.actions[still], axis=0).any():
        still = np.zeros(len(still), bool)
    moving = _moving(rows)
    if in_cells(rows):
        # Whoever runs into a wall of a grid stays where he is; other steps tell what an action does, if it ever does
        # anything.
        stayed = (rows.after == rows.before).all(axis=1)
        _, choice = np.unique(rows.actions, axis=0, return_inverse=True)
        moves = np.bincount(choice.ravel(), weights=~stayed) > 0
        return stayed & moves[choice.ravel()]
    for column in moving if of is None else [k for k in moving if rows.names[k] in of]:
        before, after = rows.before[:, column], rows.after[:, column]
        often = repeated(after) & _met_again(after, before)
        found |= often & ((after != before) | ~still)
        came = often & (after == 0) & (before != 0)
        if _anywhere(rows, came, [other for other in moving if other != column]):
            # What comes to a stand again and again is held there: only steps that go on moving the same way tell the
            # forces.
            found |= np.sign(before) * np.sign(after) <= 0
    return found


def in_cells(rows: Rows) -> bool:
    """Whether a choice of actions moves all that moves from one whole number to another, of which there are few."""
    moving = _moving(rows)
    seen = np.concatenate([rows.before[:, moving], rows.after[:, moving]])
    chosen = rows.actions.shape[1] > 0 and bool((rows.actions == np.round(rows.actions)).all())
    if not moving or not chosen or not (seen == np.round(seen)).all():
        return False
    return len(np.unique(seen, axis=0)) < len(rows.before) / CELLS


def _met_again(after: Float[np.ndarray, " N"], before: Float[np.ndarray, " N"]) -> Bool[np.ndarray, " N"]:
    """Rows with a value that was come to more than once; what comes
    to rest anywhere and stays there for a while is at no wall.
    """
    _, place = np.unique(_grid(after), return_inverse=True)
    arrivals = np.bincount(place, weights=after != before)
    return (arrivals >= 2)[place]


def at_blurred_edges(rows: Rows) -> Bool[np.ndarray, " N"]:
    """Steps that end at a wall or a clip that is seen with noise;
    where nothing is noisy, such values are only near each other.
    """
    found = np.zeros(len(rows.before), bool)
    for column in _moving(rows):
        found |= piled(rows.after[:, column])
    return found


def _moving(rows: Rows) -> list[int]:
    """The columns that change within an episode and are no remembered
    actions: what it keeps, such as a goal, is at no edge.
    """
    changes = np.abs(rows.after - rows.before).max(axis=0, initial=0.0)
    changing = np.flatnonzero(changes > 1e-9 * np.ptp(rows.after, axis=0))
    return [int(k) for k in changing if not remembered_action(rows.names[k])]


def _anywhere(rows: Rows, came: Bool[np.ndarray, " N"], others: list[int], least: int = 5) -> bool:
    """Whether these steps are several and end at many values of every other field; at a wall they end at one or two."""
    return int(came.sum()) >= least and all(len(np.unique(rows.after[came, other])) > 2 for other in others)


def begins_anew(before: Float[np.ndarray, " N"], after: Float[np.ndarray, " N"]) -> Bool[np.ndarray, " N"]:
    """Steps in which a field jumps to the other end of its range, as a clock
    does; none where they are many or other steps are nearly as long.
    """
    moved = np.abs(after - before)
    span = float(max(before.max(), after.max()) - min(before.min(), after.min())) if len(before) else 0.0
    far = moved > FAR_JUMP * span
    few = far.mean() <= MOST_JUMPS if far.any() else False
    return far if few and (moved[~far] < USUAL_STEP * span).all() else np.zeros(len(before), bool)


def piled(values: Float[np.ndarray, " N"], least: int = 8) -> Bool[np.ndarray, " N"]:
    """Rows at an end of the range where far more lie than next to it: a wall or a clip that is seen with noise."""
    found = np.zeros(len(values), bool)
    width = float(np.ptp(values)) / PILE
    for away in (values.max() - values, values - values.min()) if width > 0 else ():
        here, *near = (int(((away >= k * width) & (away < (k + 1) * width)).sum()) for k in range(3))
        if here >= max(least, 0.005 * len(values)) and here >= 5 * max(*near, 1):
            found |= away < width
    return found


def repeated(values: Float[np.ndarray, " N"], least: int = 5) -> Bool[np.ndarray, " N"]:
    """Rows with a value that stands exactly in many rows of an otherwise continuous column."""
    if np.ptp(values) == 0:
        return np.zeros(len(values), bool)
    _, place, count = np.unique(_grid(values), return_inverse=True, return_counts=True)
    if len(count) < max(20, 0.1 * len(values)):
        return np.zeros(len(values), bool)
    return (count >= max(least, 0.004 * len(values)))[place]


def _grid(values: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    """Whole numbers that are the same for values which differ by rounding alone."""
    size = max(float(np.ptp(values)), float(np.abs(values).max()), 1e-300)
    return np.round(values / (1e-9 * size))
