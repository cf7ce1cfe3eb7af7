"""single_pendulum.npz: field (theta), quadratic (theta_dot), viscous (theta_dot), dry (theta_dot).

Verdict: valid-inside; stretches of 4000 rows that were not fitted to leave 0.0004 of theta, 0.037 of theta_dot, their starts taken as unknowns; simulated freely, each field is off by 0.0034 of its spread after 25 steps and 0.0043 of its spread after 916 steps.
Held-out error (median, of each field's spread of change): 0.031 after 1, 0.016 after 5, 0.0076 after 25 steps.
Found from a log by visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

DT = 0.001  # s, one physics step
THETA_PULL = 64.0501332  # +- 0.0003  field: sin(theta)
THETA_DRAG_SQUARE = -0.005288439055  # +- 4e-05  quadratic: abs(theta_dot) * theta_dot
THETA_WEIGHT = -0.05442283507  # +- 0.0006  field: cos(theta)
THETA_DRAG = 0.01367018351  # +- 0.0006  viscous: theta_dot
THETA_FRICTION = -0.1933827282  # +- 0.002  dry: sign(theta_dot)


class State(NamedTuple):
    theta: float
    theta_dot: float


def rates(state, action):
    """How fast each field changes."""
    theta_dot_rate = (
        THETA_PULL * np.sin(state.theta)
        + THETA_DRAG_SQUARE * np.abs(state.theta_dot) * state.theta_dot
        + THETA_WEIGHT * np.cos(state.theta)
        + THETA_DRAG * state.theta_dot
        + THETA_FRICTION * np.sign(state.theta_dot)
    )
    return (state.theta_dot, theta_dot_rate,)


def nudged(state, slope, time):
    """The state after a time of even change."""
    return state._replace(theta=state.theta + time * slope[0], theta_dot=state.theta_dot + time * slope[1])


def step(state, action):
    """One step."""
    k1 = rates(state, action)
    k2 = rates(nudged(state, k1, DT / 2), action)
    k3 = rates(nudged(state, k2, DT / 2), action)
    k4 = rates(nudged(state, k3, DT), action)
    theta = state.theta + DT / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
    theta_dot = state.theta_dot + DT / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])
    return state._replace(theta=theta, theta_dot=theta_dot)
