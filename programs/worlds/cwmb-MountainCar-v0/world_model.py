"""the arrays: drive (action[0]), field (x0), stop (x0).

Verdict: explained; 25-step error 2e-08 of the spread of motion on held-out stretches (90 % below 6e-08).
Held-out error (median, of each field's spread of change): 3.7e-07 after 1, 8.6e-08 after 5, 2.3e-08 after 25 steps.
Found from a log by visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

DT = 1.0  # s, one physics step
X0_GAIN = 0.001  # +- 9e-12  drive: (action[0] - 1)
X0_WAVE = 3.0  # +- 6e-09  of field
X0_WAVE_COS = -0.0025  # +- 1e-11  field: cos(WAVE * x0)
X0_LOW_WALL = -1.2  # x0 is stopped there
END_1 = 0.5  # between 0.4929196 and 0.5317044


class State(NamedTuple):
    x0: float
    x0_speed: float


def step(state, action):
    """One step."""
    x0_speed = state.x0_speed + DT * (X0_GAIN * (action[0] - 1) + X0_WAVE_COS * np.cos(X0_WAVE * state.x0))
    x0 = state.x0 + DT * x0_speed
    x0_speed = np.where((x0 < X0_LOW_WALL) & (x0_speed < 0), 0.0, x0_speed)
    x0 = np.maximum(x0, X0_LOW_WALL)
    return state._replace(x0=x0, x0_speed=x0_speed)


def terminated(state):
    """Whether the world comes to an end in this state."""
    return (state.x0 > END_1)


def reward(state, action, next_state):
    """What a step is worth."""
    return -1.0
