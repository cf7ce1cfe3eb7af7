"""Event rows: steps at limits and contacts, found as those that no smooth law of all fields explains; set aside before any structure."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.induction.regress import robust_fit
from visualpatchworld.induction.terms import Rows

WAVES = 80  # random smooth features
CUT = 10.0
MOST_SET_ASIDE = 0.4  # more rows than this are no events: the smooth fit is just poor


def usual_rows(target: Float[np.ndarray, " N"], rows: Rows, floor: float, seed: int = 0) -> Bool[np.ndarray, " N"]:
    """Rows that a flexible robust fit of the response explains about as well as most; the others are events."""
    inputs = np.concatenate([rows.before, rows.actions], axis=1)
    inputs = inputs[:, np.std(inputs, axis=0) > 0]
    if not inputs.shape[1] or len(target) < 40:
        return np.ones(len(target), bool)
    inputs = (inputs - np.median(inputs, axis=0)) / np.std(inputs, axis=0)
    inputs = np.clip(inputs, -4, 4)
    rng = np.random.default_rng(seed)
    waves = min(WAVES, len(target) // 8)
    turns = rng.normal(size=(inputs.shape[1], waves)) * rng.choice([0.3, 0.7, 1.2], size=waves)
    smooth = np.cos(inputs @ turns + rng.uniform(0, 2 * np.pi, waves))
    design = np.concatenate([np.ones((len(target), 1)), inputs, inputs**2, smooth], axis=1)
    free = ~at_edges(rows)
    free = free if free.sum() > max(40, 0.2 * len(free)) else np.ones(len(target), bool)
    fit = robust_fit(design[free], target[free], floor=floor, ridge=1e-9, cut=CUT)
    kept = free.copy()
    kept[free] = fit.kept
    return kept if fit.kept.mean() > 1 - MOST_SET_ASIDE else free


def at_edges(rows: Rows) -> Bool[np.ndarray, " N"]:
    """Steps that end at a value of a field that is met again and again: a wall or a clip."""
    found = np.zeros(len(rows.before), bool)
    for column in range(rows.before.shape[1]):
        found |= repeated(rows.after[:, column]) & (rows.after[:, column] != rows.before[:, column])
        # What stays at such a value is held there, unless it is at rest in all fields.
        still = (rows.after == rows.before).all(axis=1)
        found |= repeated(rows.after[:, column]) & ~still
    return found


def repeated(values: Float[np.ndarray, " N"], least: int = 5) -> Bool[np.ndarray, " N"]:
    """Rows with a value that stands exactly in many rows of an otherwise continuous column."""
    span = float(np.ptp(values))
    if span == 0:
        return np.zeros(len(values), bool)
    grid = np.round(values / (1e-9 * max(span, float(np.abs(values).max()))))
    _, place, count = np.unique(grid, return_inverse=True, return_counts=True)
    if len(count) < max(20, 0.1 * len(values)):
        return np.zeros(len(values), bool)
    return (count >= max(least, 0.004 * len(values)))[place]
