"""Sparse regression: the fewest columns of a library that make up a target."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from visualpatchworld.induction.clock import NO_LIMIT, Clock

EXACT = 1e-6  # of the target's spread: a residual that small is rounding of single precision


class Sum(NamedTuple):
    """Chosen columns, what each counts, and the root mean square that is left, in units of the target's spread."""

    columns: Int[np.ndarray, " C"]
    weights: Float[np.ndarray, " C"]
    left: float


def stepwise(
    library: Float[np.ndarray, "N M"], target: Float[np.ndarray, " N"], most: int, exact: float = EXACT, clock: Clock = NO_LIMIT
) -> Sum:
    """Forward selection with swaps and a backward pass: it stops as soon as the target is met exactly, or at `most` columns.

    Columns that others make up already are never chosen, so that what is found is one of the shortest ways to say it.
    """
    spread = max(float(np.sqrt(np.mean(target**2))), 1e-300)
    sizes = np.sqrt(np.mean(library**2, axis=0))
    scaled = library / np.where(sizes > 0, sizes, 1.0)
    best = _least_squares(scaled, target, np.array([], int), spread)
    while best.left > exact and len(best.columns) < most and not (clock.over and len(best.columns)):
        grown = _least_squares(scaled, target, np.append(best.columns, _next(scaled, target, best.columns)), spread)
        grown = _swapped(scaled, target, grown, spread)
        if grown.left > best.left * 0.999:
            break
        best = grown
    for column in best.columns.tolist():
        shorter = _least_squares(scaled, target, best.columns[best.columns != column], spread)
        if shorter.left <= max(exact, best.left * 1.001):
            best = shorter
    return Sum(best.columns, best.weights / sizes[best.columns], best.left)


def sparsest(
    library: Float[np.ndarray, "N M"], target: Float[np.ndarray, " N"], exact: float = EXACT, clock: Clock = NO_LIMIT
) -> Sum | None:
    """The fewest columns found by reweighting, where all columns together meet the target exactly; None where they do not.

    Columns of a library that overlap much lead a stepwise search astray; here all begin, and what others can do as well dies out.
    """
    spread = max(float(np.sqrt(np.mean(target**2))), 1e-300)
    sizes = np.sqrt(np.mean(library**2, axis=0))
    scaled = library / np.where(sizes > 0, sizes, 1.0)
    whole = _least_squares(scaled, target, np.arange(library.shape[1]), spread)
    if whole.left > exact or library.shape[1] >= len(target) / 2:
        return None
    weights = whole.weights
    for _ in range(60):
        if clock.over:
            return None
        power = np.sqrt(np.abs(weights))
        weights = power * np.linalg.lstsq(scaled * power, target, rcond=1e-10)[0]
    best = _least_squares(scaled, target, np.flatnonzero(np.abs(weights) > 1e-5 * np.abs(weights).max()), spread)
    if best.left > exact:
        return None
    for column in best.columns[np.argsort(np.abs(best.weights))].tolist():
        shorter = _least_squares(scaled, target, best.columns[best.columns != column], spread)
        best = shorter if shorter.left <= exact else best
    return Sum(best.columns, best.weights / sizes[best.columns], best.left)


def _next(library: np.ndarray, target: np.ndarray, chosen: np.ndarray) -> int:
    """The column that explains most of what the chosen ones leave; judged after they were taken out of it, too."""
    if len(chosen):
        basis = np.linalg.qr(library[:, chosen])[0]
        rest, target = library - basis @ (basis.T @ library), target - basis @ (basis.T @ target)
    else:
        rest = library
    size = np.sqrt(np.sum(rest**2, axis=0))
    gain = np.where(size > 1e-7 * np.sqrt(len(target)), np.abs(rest.T @ target) / np.maximum(size, 1e-300), -1.0)
    gain[chosen] = -1.0
    return int(np.argmax(gain))


def _swapped(library: np.ndarray, target: np.ndarray, found: Sum, spread: float) -> Sum:
    """Each column but the newest once more: is another one better in its place?"""
    for i in range(len(found.columns) - 1):
        others = np.delete(found.columns, i)
        changed = np.insert(others, i, _next(library, target, others))
        trial = _least_squares(library, target, changed, spread)
        if trial.left < found.left * 0.9:
            found = trial
    return found


def _least_squares(library: np.ndarray, target: np.ndarray, columns: np.ndarray, spread: float) -> Sum:
    weights = np.linalg.lstsq(library[:, columns], target, rcond=None)[0] if len(columns) else np.array([])
    left = float(np.sqrt(np.mean((target - library[:, columns] @ weights) ** 2))) / spread
    return Sum(columns.astype(int), weights, left)
