"""the arrays: drive (action[0]), viscous (angle_speed), viscous (angle_2_speed), drive (action[1]), field (x4), spring (x4), field (x5), spring (x5), coupling (angle_2_speed, angle), coupling (angle_speed, x5), coupling (angle_speed, x9), coupling (angle_2_speed, x9) and 4 further terms.

EMPIRICAL: no law explains this world; what follows is the best that was found, and may be wrong anywhere.

Verdict: unexplained; 25-step error 0.1 of the spread of motion on held-out stretches (90 % below 0.5); most is left of x9: 0.79 of its spread after 25 steps.
Held-out error (median, of each field's spread of change): 0.0063 after 1, 0.019 after 5, 0.05 after 25 steps.
Found from a log by visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

DT = 0.02  # s, one physics step
ANGLE_GAIN_1 = 199.830932  # drive: action[0]
ANGLE_DRAG = -0.999  # viscous: angle_speed
ANGLE_2_DRAG = -1.0  # viscous: angle_2_speed
ANGLE_2_GAIN_2 = 199.9650138  # drive: action[1]
X4_PUSH = 10.0  # field
X4_SPRING = -100.0  # spring: x4
X5_PUSH = -10.0  # field
X5_SPRING = -100.0  # spring: x5
X8_ANGLE_2_SPEED_SIN_ANGLE = 0.1000119004  # coupling: angle_2_speed * sin(angle)
X8_ANGLE_SPEED_SIN_X5 = -1.002089786  # coupling: angle_speed * sin(x5)
X8_ANGLE_SPEED_SIN_X9 = -1.003330432  # coupling: angle_speed * sin(x9)
X8_ANGLE_2_SPEED_SIN_X9 = -0.9992878843  # coupling: angle_2_speed * sin(x9)
X8_ANGLE_2_SPEED_COS_X9 = 0.1001778569  # coupling: angle_2_speed * cos(x9)
X9_ANGLE_SPEED_SIN_X5 = -25.24079095  # coupling: angle_speed * sin(x5)
X9_BY_ANGLE_SPEED = -2.419138366  # coupling: angle_speed
X9_ANGLE_2_SPEED_SIN_ANGLE = -0.1080803595  # coupling: angle_2_speed * sin(angle)
X9_ANGLE_SPEED_SIN_X8 = 0.9637769898  # coupling: angle_speed * sin(x8)
X9_ANGLE_2_SPEED_SIN_X8 = 1.16892255  # coupling: angle_2_speed * sin(x8)
X9_ANGLE_2_SPEED_COS_ANGLE_2 = -0.05158738919  # coupling: angle_2_speed * cos(angle_2)


class State(NamedTuple):
    angle: float
    angle_2: float
    x4: float
    x5: float
    x8: float
    x9: float
    angle_speed: float
    angle_2_speed: float


def rates(state, action):
    """How fast each field changes."""
    angle_2_speed_rate = ANGLE_2_DRAG * state.angle_2_speed + ANGLE_2_GAIN_2 * action[1]
    x8_rate = (
        X8_ANGLE_2_SPEED_SIN_ANGLE * state.angle_2_speed * np.sin(state.angle)
        + X8_ANGLE_SPEED_SIN_X5 * state.angle_speed * np.sin(state.x5)
        + X8_ANGLE_SPEED_SIN_X9 * state.angle_speed * np.sin(state.x9)
        + X8_ANGLE_2_SPEED_SIN_X9 * state.angle_2_speed * np.sin(state.x9)
        + X8_ANGLE_2_SPEED_COS_X9 * state.angle_2_speed * np.cos(state.x9)
    )
    x9_rate = (
        X9_ANGLE_SPEED_SIN_X5 * state.angle_speed * np.sin(state.x5)
        + X9_BY_ANGLE_SPEED * state.angle_speed
        + X9_ANGLE_2_SPEED_SIN_ANGLE * state.angle_2_speed * np.sin(state.angle)
        + X9_ANGLE_SPEED_SIN_X8 * state.angle_speed * np.sin(state.x8)
        + X9_ANGLE_2_SPEED_SIN_X8 * state.angle_2_speed * np.sin(state.x8)
        + X9_ANGLE_2_SPEED_COS_ANGLE_2 * state.angle_2_speed * np.cos(state.angle_2)
    )
    return (
        state.angle_speed, state.angle_2_speed,
        ANGLE_GAIN_1 * action[0] + ANGLE_DRAG * state.angle_speed, angle_2_speed_rate, X4_PUSH + X4_SPRING * state.x4,
        X5_PUSH + X5_SPRING * state.x5, x8_rate, x9_rate,
    )


def nudged(state, slope, time):
    """The state after a time of even change."""
    return state._replace(
        angle=state.angle + time * slope[0],
        angle_2=state.angle_2 + time * slope[1],
        angle_speed=state.angle_speed + time * slope[2],
        angle_2_speed=state.angle_2_speed + time * slope[3], x4=state.x4 + time * slope[4], x5=state.x5 + time * slope[5],
        x8=state.x8 + time * slope[6], x9=state.x9 + time * slope[7],
    )


def step(state, action):
    """One step."""
    k1 = rates(state, action)
    k2 = rates(nudged(state, k1, DT / 2), action)
    k3 = rates(nudged(state, k2, DT / 2), action)
    k4 = rates(nudged(state, k3, DT), action)
    angle = state.angle + DT / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
    angle_2 = state.angle_2 + DT / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])
    angle_speed = state.angle_speed + DT / 6 * (k1[2] + 2 * k2[2] + 2 * k3[2] + k4[2])
    angle_2_speed = state.angle_2_speed + DT / 6 * (k1[3] + 2 * k2[3] + 2 * k3[3] + k4[3])
    x4 = state.x4 + DT / 6 * (k1[4] + 2 * k2[4] + 2 * k3[4] + k4[4])
    x5 = state.x5 + DT / 6 * (k1[5] + 2 * k2[5] + 2 * k3[5] + k4[5])
    x8 = state.x8 + DT / 6 * (k1[6] + 2 * k2[6] + 2 * k3[6] + k4[6])
    x9 = state.x9 + DT / 6 * (k1[7] + 2 * k2[7] + 2 * k3[7] + k4[7])
    return state._replace(angle=angle, angle_2=angle_2, angle_speed=angle_speed, angle_2_speed=angle_2_speed, x4=x4, x5=x5, x8=x8, x9=x9)


def observe(state):
    """What is seen of a state."""
    return (
        np.cos(state.angle),  # x0
        np.cos(state.angle_2),  # x1
        np.sin(state.angle),  # x2
        np.sin(state.angle_2),  # x3
        state.x4,  # x4
        state.x5,  # x5
        state.angle_speed,  # x6
        state.angle_2_speed,  # x7
        state.x8,  # x8
        state.x9,  # x9
        0.0,  # x10, the same in every row
    )


def read(observation):
    """A state that gives this observation."""
    angle = np.arctan2(observation[2], observation[0])
    angle_2 = np.arctan2(observation[3], observation[1])
    x4 = observation[4]
    x5 = observation[5]
    x8 = observation[8]
    x9 = observation[9]
    angle_speed = observation[6]
    angle_2_speed = observation[7]
    return State(angle=angle, angle_2=angle_2, x4=x4, x5=x5, x8=x8, x9=x9, angle_speed=angle_speed, angle_2_speed=angle_2_speed)


def reward(state, action, next_state):
    """What a step is worth."""
    return -0.4 * np.abs(state.x9) - action[0] ** 2 - action[1] ** 2 - 0.12 * np.abs(next_state.x8) + 1.3 * (next_state.x4 - state.x4) + 7.0 * state.x5 ** 2 + 1.6 * state.x4 ** 2 - 0.63 * np.abs(state.x8) - 2.5 * state.x9 ** 2 + 0.09 * next_state.x9 - 1.08 * np.abs(state.x4) + 0.2 * (next_state.x9 - state.x9) - 0.0007 * np.abs(state.angle_2_speed) - 0.16 * state.x5
