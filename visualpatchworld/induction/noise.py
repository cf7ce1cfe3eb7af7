"""How far observations may be off: rounding of what is stored, and noise that no law explains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from visualpatchworld.world.trajectory import Trajectory

MOST_DECIMALS = 7
DIGITS = range(3, 13)  # of numbers that text gives with as many digits, whatever their size
FLOAT32 = 2.0**-24
FLOAT64 = 2.0**-53


def rounding(values: Float[np.ndarray, " N"]) -> float:
    """The standard deviation of rounding in a column: of decimals or digits as text gives them, of single or of double precision."""
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


def robust_spread(values: Float[np.ndarray, " N"]) -> float:
    """The standard deviation that the middle half of the values suggests; outliers do not move it."""
    return float(1.4826 * np.median(np.abs(values - np.median(values)))) if len(values) else 0.0
