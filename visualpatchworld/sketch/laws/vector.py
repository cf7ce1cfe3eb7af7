"""Pairs of numbers as vectors of the plane."""

import numpy as np


def dot(a, b):
    """Inner product."""
    return a[0] * b[0] + a[1] * b[1]


def cross(a, b):
    """Signed area that two vectors span; a lever arm crossed with a force is its torque."""
    return a[0] * b[1] - a[1] * b[0]


def rotate(vector, angle):
    """The vector turned by an angle in radians."""
    c, s = np.cos(angle), np.sin(angle)
    return (c * vector[0] - s * vector[1], s * vector[0] + c * vector[1])
