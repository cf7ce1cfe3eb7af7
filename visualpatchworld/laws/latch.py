"""Latches: what is carried while something holds it, and goes its own way otherwise."""

import numpy as np


def latch(holds, held, free):
    """The held state where something holds, the free one elsewhere."""
    return type(free)(*(np.where(holds, a, b) for a, b in zip(held, free)))  # noqa: B905
