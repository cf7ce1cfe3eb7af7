"""Factors that rewards are made of: 1 where something is as it should be, less the further it is from that."""

import numpy as np


def wrap(angle):
    """The angle within half a turn of zero."""
    return np.mod(angle + np.pi, 2 * np.pi) - np.pi


def bell(distance, width):
    """1 at no distance, falling off as a Gaussian."""
    return np.exp(-0.5 * (distance / width) ** 2)


def dome(distance, width):
    """1 at no distance, falling off as a parabola, and 0 from `width` on."""
    return np.maximum(1.0 - (distance / width) ** 2, 0.0)


def tail(distance, width):
    """1 at no distance, with a long tail."""
    return 1.0 / (1.0 + (distance / width) ** 2)
