"""the arrays: field (angle), drive (action[0]).

Verdict: explained; 25-step error 5e-08 of the spread of motion on held-out stretches (90 % below 0.01).
Held-out error (median, of each field's spread of change): 7.9e-08 after 1, 2.2e-08 after 5, 2.7e-08 after 25 steps.
Found from a log by visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

DT = 0.05  # s, one physics step
ANGLE_PULL = 15.0  # +- 2e-08  field: sin(angle)
ANGLE_GAIN = 3.0  # +- 2e-08  drive: action[0]


class State(NamedTuple):
    angle: float
    angle_speed: float


def step(state, action):
    """One step."""
    angle_speed = state.angle_speed + DT * (ANGLE_PULL * np.sin(state.angle) + ANGLE_GAIN * action[0])
    angle = state.angle + DT * angle_speed
    return state._replace(angle=angle, angle_speed=angle_speed)


def observe(state):
    """What is seen of a state."""
    return (
        np.cos(state.angle),  # x0
        np.sin(state.angle),  # x1
        state.angle_speed,  # x2
    )


def read(observation):
    """A state that gives this observation."""
    angle = np.arctan2(observation[1], observation[0])
    angle_speed = observation[2]
    return State(angle=angle, angle_speed=angle_speed)


def wrap(angle):
    """The angle within half a turn of zero."""
    return np.mod(angle + np.pi, 2 * np.pi) - np.pi


def reward(state, action, next_state):
    """What a step is worth."""
    return -wrap(state.angle) ** 2 - 0.1 * state.angle_speed ** 2 - 0.001 * action[0] ** 2
