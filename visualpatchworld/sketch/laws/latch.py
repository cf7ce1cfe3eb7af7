"""Things that are carried while something holds them, and what becomes of them afterwards."""

import numpy as np

from visualpatchworld.sketch.laws.vector import rotate


def seen_from(point, place, heading):
    """A point as one sees it who stands at a place and looks along a heading."""
    return rotate((point[0] - place[0], point[1] - place[1]), -heading)


def fall(height, speed, gain, support):
    """Height and downward speed one step later of a thing that gains this much speed in a step, until it lies on its support."""
    below = height - speed - gain / 2
    return np.maximum(below, support), np.where(below > support, speed + gain, 0.0)
