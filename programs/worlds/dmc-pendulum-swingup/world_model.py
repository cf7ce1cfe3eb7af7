"""dmc:pendulum/swingup: field (angle), viscous (velocity), drive (action[0]).

Verdict: explained; 25-step error 1e-10 of the spread of motion on held-out stretches (90 % below 2e-10).
Held-out error (median, of each field's spread of change): 4.1e-11 after 1, 4.1e-11 after 5, 3.7e-11 after 25 steps.
Found from 2000 steps of the world by visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

DT = 0.02  # s, one physics step
ANGLE_PULL = 19.38735178  # field: sin(angle)
ANGLE_DRAG = -0.395256917  # viscous: velocity
ANGLE_GAIN = 3.95256917  # drive: action[0]


class State(NamedTuple):
    angle: float
    velocity: float


def step(state, action):
    """One step."""
    velocity = state.velocity + DT * (ANGLE_PULL * np.sin(state.angle) + ANGLE_DRAG * state.velocity + ANGLE_GAIN * action[0])
    angle = state.angle + DT * velocity
    return state._replace(angle=angle, velocity=velocity)


def observe(state):
    """What is seen of a state."""
    return (
        np.cos(state.angle),  # orientation_0
        np.sin(state.angle),  # orientation_1
        state.velocity,  # velocity
    )


def read(observation):
    """A state that gives this observation."""
    angle = np.arctan2(observation[1], observation[0])
    velocity = observation[2]
    return State(angle=angle, velocity=velocity)


def reward(state, action, next_state):
    """What a step is worth."""
    return np.where((np.cos(next_state.angle) > 0.990267), 1.0, 0.0)
