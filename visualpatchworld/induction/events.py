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
    fit = robust_fit(design, target, floor=floor, ridge=1e-9, cut=CUT)
    return fit.kept if fit.kept.mean() > 1 - MOST_SET_ASIDE else np.ones(len(target), bool)
