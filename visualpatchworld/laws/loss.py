"""Losses: what takes speed from a body, whatever drives it."""

import numpy as np

from visualpatchworld.laws.constant import positive


def drag(velocity, dt, *, drag=positive("1/s", "share of the velocity lost per second", 0.001, 8)):
    """The body loses a share of its velocity."""
    return tuple((1.0 - dt * drag) * speed for speed in velocity)


def rub(velocity, dt, *, friction=positive("L/s^2", "deceleration while it slides", 0.0001, 5)):
    """The body loses the same bit of speed each step, until it lies still."""
    total = np.sqrt(sum(speed**2 for speed in velocity) + 1e-12)
    left = np.maximum(0.0, 1.0 - dt * friction / total)
    return tuple(left * speed for speed in velocity)
