"""A first guess from remembered pictures: kernel regression from what a patch looks like to numbers that go with it."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from visualpatchworld.scene.tool.part import Measures

NUM_DIRECTIONS = 40  # in which patches differ most
WIDTH = 1.0  # of the kernel, times the spread of the remembered codes
RIDGE = 1e-2
CODE_DIGITS = 3


def memorize(patches: Float[np.ndarray, "N D"], extras: Float[np.ndarray, "N E"], targets: Float[np.ndarray, "N Y"]) -> Measures:
    """What is kept of patches, a few numbers beside each, and the targets that go with them."""
    mean = patches.mean(axis=0)
    directions = np.linalg.svd(patches - mean, full_matrices=False)[2][:NUM_DIRECTIONS]
    codes = (patches - mean) @ directions.T
    spread = float(np.sqrt((codes**2).sum(axis=1).mean()))
    codes = np.round(np.column_stack([codes / spread, extras]), CODE_DIGITS)
    middle, scale = targets.mean(axis=0), targets.std(axis=0) + 1e-9
    weights = np.linalg.solve(_kernel(codes, codes) + RIDGE * np.eye(len(codes)), (targets - middle) / scale)
    return {"mean": mean, "directions": directions / spread, "codes": codes, "weights": weights, "middle": middle, "scale": scale}


def recall(memory: Measures, patch: Float[np.ndarray, " D"], extras: Float[np.ndarray, " E"]) -> Float[np.ndarray, " Y"]:
    """The targets of a patch, as those of similar ones suggest."""
    code = np.concatenate([memory["directions"] @ (patch - memory["mean"]), extras])
    return (_kernel(code[None], memory["codes"]) @ memory["weights"])[0] * memory["scale"] + memory["middle"]


def _kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    squared = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    return np.exp(-squared / (2 * WIDTH**2))
