"""Pairs of numbers as vectors of the plane."""

import numpy as np


def rotate(vector, angle):
    """The vector turned by an angle in radians."""
    c, s = np.cos(angle), np.sin(angle)
    return (c * vector[0] - s * vector[1], s * vector[0] + c * vector[1])


def rotate_back(vector, angle):
    """The vector turned by an angle in radians the other way."""
    c, s = np.cos(angle), np.sin(angle)  # of an angle that others have, too: a compiler computes them once
    return (c * vector[0] + s * vector[1], c * vector[1] - s * vector[0])
