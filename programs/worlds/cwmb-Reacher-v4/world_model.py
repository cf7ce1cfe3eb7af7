"""the arrays: drive (action[0]), viscous (angle_speed), viscous (angle_2_speed), drive (action[1]), coupling (x8), coupling (angle_2_speed, angle_2), coupling (angle_2_speed, x9), coupling (angle_speed, x9), coupling (angle_2_speed, angle), coupling (angle_2_speed), coupling (angle_speed), coupling (angle_speed, x5) and 2 further terms.

EMPIRICAL: no law explains this world; what follows is the best that was found, and may be wrong anywhere.

Verdict: unexplained; 25-step error 0.08 of the spread of motion on held-out stretches (90 % below 0.5); most is left of x9: 18 of its spread after 25 steps.
Held-out error (median, of each field's spread of change): 0.003 after 1, 0.0095 after 5, 0.024 after 25 steps.
Found from a log by visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

DT = 0.02  # s, one physics step
ANGLE_GAIN_1 = 199.8337717  # drive: action[0]
ANGLE_DRAG = -0.9990372351  # viscous: angle_speed
ANGLE_2_DRAG = -1.000393958  # viscous: angle_2_speed
ANGLE_2_GAIN_2 = 199.9658471  # drive: action[1]
X4_BY_X8 = 0.0006157444124  # coupling: x8
X5_BY_X8 = -0.0002430423058  # coupling: x8
X8_ANGLE_2_SPEED_SIN_ANGLE_2 = -0.0006248  # coupling: angle_2_speed * sin(angle_2)
X8_ANGLE_2_SPEED_SIN_X9 = -0.9946424657  # coupling: angle_2_speed * sin(x9)
X8_ANGLE_SPEED_SIN_X9 = -1.001795327  # coupling: angle_speed * sin(x9)
X8_ANGLE_2_SPEED_SIN_ANGLE = 0.09884  # coupling: angle_2_speed * sin(angle)
X8_BY_ANGLE_2_SPEED = 0.09958124073  # coupling: angle_2_speed
X8_BY_ANGLE_SPEED = 0.1000585793  # coupling: angle_speed
X9_ANGLE_SPEED_SIN_X5 = -25.2358198  # coupling: angle_speed * sin(x5)
X9_BY_ANGLE_SPEED = -2.41840853  # coupling: angle_speed
X9_ANGLE_2_SPEED_SIN_ANGLE = -0.1059444043  # coupling: angle_2_speed * sin(angle)
X9_ANGLE_SPEED_SIN_X8 = 0.9934  # coupling: angle_speed * sin(x8)
X9_ANGLE_2_SPEED_SIN_X8 = 1.403101546  # coupling: angle_2_speed * sin(x8)
X9_ANGLE_2_SPEED_COS_ANGLE_2 = -0.06235  # coupling: angle_2_speed * cos(angle_2)
ANGLE_SPEED_SEEN_FROM = -13.1  # angle_speed was not seen beyond
ANGLE_SPEED_SEEN_TO = 8.881  # angle_speed was not seen beyond
ANGLE_2_SPEED_SEEN_FROM = -11.3  # angle_2_speed was not seen beyond
ANGLE_2_SPEED_SEEN_TO = 20.58  # angle_2_speed was not seen beyond
X4_SEEN_FROM = -0.204  # x4 was not seen beyond
X4_SEEN_TO = 0.1276  # x4 was not seen beyond
X5_SEEN_FROM = -0.195  # x5 was not seen beyond
X5_SEEN_TO = 0.1668  # x5 was not seen beyond
X8_SEEN_FROM = -0.1572  # x8 was not seen beyond
X8_SEEN_TO = 0.4356  # x8 was not seen beyond
X9_SEEN_FROM = -0.1594  # x9 was not seen beyond
X9_SEEN_TO = 0.2383  # x9 was not seen beyond


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
        X8_ANGLE_2_SPEED_SIN_ANGLE_2 * state.angle_2_speed * np.sin(state.angle_2)
        + X8_ANGLE_2_SPEED_SIN_X9 * state.angle_2_speed * np.sin(state.x9)
        + X8_ANGLE_SPEED_SIN_X9 * state.angle_speed * np.sin(state.x9)
        + X8_ANGLE_2_SPEED_SIN_ANGLE * state.angle_2_speed * np.sin(state.angle)
        + X8_BY_ANGLE_2_SPEED * state.angle_2_speed
        + X8_BY_ANGLE_SPEED * state.angle_speed
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
        ANGLE_GAIN_1 * action[0] + ANGLE_DRAG * state.angle_speed, angle_2_speed_rate, X4_BY_X8 * state.x8, X5_BY_X8 * state.x8, x8_rate,
        x9_rate,
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
    angle_speed = np.clip(angle_speed, ANGLE_SPEED_SEEN_FROM, ANGLE_SPEED_SEEN_TO)
    angle_2_speed = np.clip(angle_2_speed, ANGLE_2_SPEED_SEEN_FROM, ANGLE_2_SPEED_SEEN_TO)
    x4 = np.clip(x4, X4_SEEN_FROM, X4_SEEN_TO)
    x5 = np.clip(x5, X5_SEEN_FROM, X5_SEEN_TO)
    x8 = np.clip(x8, X8_SEEN_FROM, X8_SEEN_TO)
    x9 = np.clip(x9, X9_SEEN_FROM, X9_SEEN_TO)
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
    return -action[1] ** 2 - 0.9996 * action[0] ** 2 - 0.9995 * np.hypot(state.x8 + 8e-05, state.x9 + 8e-05) - 5.704 * state.x8 + 1.31 * state.x4 ** 2 + 1.6 * state.x5 ** 2 + 1.8954 * np.sin(state.angle + state.angle_2) ** 2 + 1.8953 * np.cos(state.angle + state.angle_2) ** 2 - 12.163 * state.x4 - 0.02 * state.x5 - 5.705 * np.abs((state.x8 - 0.1245))
