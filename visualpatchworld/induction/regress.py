"""Linear regression that a minority of wrong rows does not bend, and stepwise choice of a few columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float


class LinearFit(NamedTuple):
    """Coefficients, what is left in every row, and which rows count as explained."""

    coefficients: Float[np.ndarray, " P"]
    left: Float[np.ndarray, " N"]
    kept: Bool[np.ndarray, " N"]


def solve(columns: Float[np.ndarray, "N P"], target: Float[np.ndarray, " N"], ridge: float = 0.0) -> Float[np.ndarray, " P"]:
    """Least squares with columns brought to one size first; `ridge` is relative to that size."""
    size = np.sqrt(np.mean(columns**2, axis=0))
    size = np.where(size > 0, size, 1.0)
    scaled = columns / size
    if ridge:
        count = len(target)
        gram = scaled.T @ scaled + ridge * count * np.eye(scaled.shape[1])
        return np.linalg.solve(gram, scaled.T @ target) / size
    return np.linalg.lstsq(scaled, target, rcond=1e-13)[0] / size


def robust_fit(
    columns: Float[np.ndarray, "N P"],
    target: Float[np.ndarray, " N"],
    *,
    floor: float = 0.0,
    ridge: float = 0.0,
    cut: float = 8.0,
    rounds: int = 12,
) -> LinearFit:
    """Regression by iterated weights towards the least sum of absolute errors, then least squares over the rows within `cut` spreads."""
    weights = np.ones(len(target))
    left = target
    coefficients = np.zeros(columns.shape[1])
    for _ in range(rounds):
        root = np.sqrt(weights)
        coefficients = solve(columns * root[:, None], target * root, ridge)
        left = target - columns @ coefficients
        typical = max(float(np.median(np.abs(left))), floor, 1e-300)
        weights = 1 / np.maximum(np.abs(left) / typical, 0.5)
    kept = within(left, floor, cut)
    for _ in range(3):
        if kept.sum() <= columns.shape[1]:
            break
        coefficients = solve(columns[kept], target[kept], ridge)
        left = target - columns @ coefficients
        again = within(left, floor, cut)
        if (again == kept).all():
            break
        kept = again
    return LinearFit(coefficients, left, kept)


def within(
    left: Float[np.ndarray, " N"], floor: float = 0.0, cut: float = 8.0, usual: Bool[np.ndarray, " N"] | None = None
) -> Bool[np.ndarray, " N"]:
    """Rows whose error is like that of the others (of the `usual` ones, where given): within `cut` robust spreads."""
    spread = 1.4826 * float(np.median(np.abs(left if usual is None or not usual.any() else left[usual])))
    return np.abs(left) <= cut * max(spread, floor)
