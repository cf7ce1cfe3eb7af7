"""Robust numbers: how far observations may be off by rounding, the shortest number
in a bracket, and regression that a minority of wrong rows does not bend.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.world.trajectory import Trajectory

MOST_DECIMALS = 7
DIGITS = range(3, 13)  # of numbers that text gives with as many digits, whatever their size
FLOAT32 = 2.0**-24
FLOAT64 = 2.0**-53


def rounding(values: Float[np.ndarray, " N"]) -> float:
    """The standard deviation of rounding in a column: of decimals or
    digits as text gives them, of single or of double precision.
    """
    size = float(np.sqrt(np.mean(values**2)))
    if size == 0:
        return 0.0
    for decimals in range(MOST_DECIMALS):
        scaled = values * 10.0**decimals
        if np.all(np.abs(scaled - np.round(scaled)) < 1e-9 * np.maximum(1, np.abs(scaled))):
            fine = len(np.unique(values)) > 50  # a few whole numbers are labels, not roundings
            return 10.0**-decimals / np.sqrt(12) if fine else FLOAT64 * size
    some = values[values != 0]
    place = np.floor(np.log10(np.abs(some)) + 1e-12)
    for digits in DIGITS if len(np.unique(values)) > 50 else ():
        unit = 10.0 ** (place - digits + 1)
        if np.all(np.abs(some - np.round(some / unit) * unit) <= 1e-14 * np.abs(some)):
            return float(np.sqrt(np.mean(unit**2) / 12))
    single = np.all(values.astype(np.float32).astype(float) == values)
    return (FLOAT32 if single else FLOAT64) * size / np.sqrt(3)


def roundings(trajectories: Sequence[Trajectory]) -> Float[np.ndarray, " O"]:
    """The rounding of every column."""
    seen = np.concatenate([trajectory.observations for trajectory in trajectories])
    return np.array([rounding(column) for column in seen.T])


def shortest_between(low: float, high: float) -> float:
    """The number with the fewest digits strictly inside a bracket, the middle one where there are several."""
    if low < 0 < high:
        return 0.0
    middle = (low + high) / 2
    for digits in range(1, 17):
        scale = 10.0 ** (digits - 1 - int(np.floor(np.log10(max(abs(low), abs(high), 1e-300)))))
        steps = (
            np.arange(np.ceil(low * scale - 1e-9), np.floor(high * scale + 1e-9) + 1)
            if (high - low) * scale < 1e4
            else np.array([])
        )
        inside = [step / scale for step in steps if low < step / scale < high]
        if inside:
            return float(min(inside, key=lambda value: abs(value - middle)))
        if (high - low) * scale >= 1e4:
            break
    return middle


def robust_spread(values: Float[np.ndarray, " N"]) -> float:
    """The standard deviation that the middle half of the values suggests; outliers do not move it."""
    return float(1.4826 * np.median(np.abs(values - np.median(values)))) if len(values) else 0.0


class LinearFit(NamedTuple):
    """Coefficients, what is left in every row, and which rows count as explained."""

    coefficients: Float[np.ndarray, " P"]
    left: Float[np.ndarray, " N"]
    kept: Bool[np.ndarray, " N"]


def solve(
    columns: Float[np.ndarray, "N P"], target: Float[np.ndarray, " N"], ridge: float = 0.0
) -> Float[np.ndarray, " P"]:
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
    """Regression by iterated weights towards the least sum of absolute
    errors, then least squares over the rows within `cut` spreads.
    """
    if not len(target):
        return LinearFit(np.zeros(columns.shape[1]), target, np.ones(0, bool))
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
