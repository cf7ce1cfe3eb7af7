"""the arrays: drive (action[2], x5), spring (x5), drive (action[4], x5), drive (action[2], x8), drive (action[6], x5_speed), coupling (x15), drive (action[1], x10), drive (action[6], x12), drive (action[6], x9), viscous (x9_speed), drive (action[2], x12_speed), drive (action[5], x7_speed) and 17 further terms.

EMPIRICAL: no law explains this world; what follows is the best that was found, and may be wrong anywhere.

Verdict: unexplained; 13 steps are too few for 76 constants; 2-step error 5 of the spread of motion on held-out stretches (90 % below 6); plain motion predicts better: in the program x15 stands still and x7_speed, x8_speed, x11_speed, x12_speed stay the same, which leaves 2.
Held-out error (median, of each field's spread of change): 5.3 after 1 steps.
Found from a log by visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

DT = 0.05  # s, one physics step
X5_GAIN_3_COS_X5 = 139.8743804  # drive: action[2] * cos(x5)
X5_HARD = -488.5388253  # spring: x5 ** 3
X5_GAIN_5_X5 = 3205.457303  # drive: action[4] * x5
X5_GAIN_5_SIN_X5 = -3205.501823  # drive: action[4] * sin(x5)
X5_GAIN_3_SIN_X8 = -9.08  # drive: action[2] * sin(x8)
X5_GAIN_7_X5_SPEED = -1.053739808  # drive: action[6] * x5_speed
X5_BY_COS_X15 = 1.28  # coupling: cos(x15)
X5_GAIN_2_X10 = -1.74  # drive: action[1] * x10
X5_GAIN_7_COS_X12 = 0.166  # drive: action[6] * cos(x12)
X9_GAIN_7_COS_X9 = 150.4868466  # drive: action[6] * cos(x9)
X9_DRAG = -1.737041956  # viscous: x9_speed
X9_GAIN_3_X12_SPEED = 2.42  # drive: action[2] * x12_speed
X9_GAIN_6_X7_SPEED = 0.914  # drive: action[5] * x7_speed
X9_GAIN_8_X7_SPEED = -0.358  # drive: action[7] * x7_speed
X9_PULL_X5 = 1.82  # spring: sin(x9 - x5)
X9_GAIN_5_COS_X11 = -0.753  # drive: action[4] * cos(x11)
X9_GAIN_8_SIN_X8 = -0.178  # drive: action[7] * sin(x8)
X10_GAIN_8_SIN_X8 = -163.3363108  # drive: action[7] * sin(x8)
X10_EDGE = -0.4841297608  # of regional
X10_GAIN_6_BEYOND = -701.2454074  # regional: (x10 > EDGE) * action[5]
X10_GAIN_1_X8_SPEED = -3.65  # drive: action[0] * x8_speed
X10_GAIN_2_X11_SPEED = 7.8346865  # drive: action[1] * x11_speed
X10_GAIN_1_X11_SPEED = 3.06  # drive: action[0] * x11_speed
X10_GAIN_6_X7_SPEED = -0.558  # drive: action[5] * x7_speed
X10_GAIN_1_X7_SPEED = 0.499  # drive: action[0] * x7_speed
X10_GAIN_6_GAIN_7 = -1.46  # drive: action[5] * action[6]
X5_SPEED_SEEN_FROM = -6.57  # x5_speed was not seen beyond
X5_SPEED_SEEN_TO = 10.77  # x5_speed was not seen beyond
X5_SEEN_FROM = -0.6403  # x5 was not seen beyond
X5_SEEN_TO = 0.6223  # x5 was not seen beyond
X7_SEEN_FROM = -0.6279  # x7 was not seen beyond
X7_SEEN_TO = 0.7213  # x7 was not seen beyond
X8_SEEN_FROM = -1.417  # x8 was not seen beyond
X8_SEEN_TO = 0.1672  # x8 was not seen beyond
X9_SPEED_SEEN_FROM = -11.34  # x9_speed was not seen beyond
X9_SPEED_SEEN_TO = 8.883  # x9_speed was not seen beyond
X9_SEEN_FROM = -0.7032  # x9 was not seen beyond
X9_SEEN_TO = 0.685  # x9 was not seen beyond
X10_SPEED_SEEN_FROM = -9.469  # x10_speed was not seen beyond
X10_SPEED_SEEN_TO = 6.386  # x10_speed was not seen beyond
X10_SEEN_FROM = -1.308  # x10 was not seen beyond
X10_SEEN_TO = 0.1191  # x10 was not seen beyond
X11_SEEN_FROM = -0.5386  # x11 was not seen beyond
X11_SEEN_TO = 0.6969  # x11 was not seen beyond
X12_SEEN_FROM = -0.1469  # x12 was not seen beyond
X12_SEEN_TO = 1.438  # x12 was not seen beyond


class State(NamedTuple):
    x5: float
    x7: float
    x8: float
    x9: float
    x10: float
    x11: float
    x12: float
    x15: float
    x5_speed: float
    x7_speed: float
    x8_speed: float
    x9_speed: float
    x10_speed: float
    x11_speed: float
    x12_speed: float


def rates(state, action):
    """How fast each field changes."""
    x5_speed_rate = (
        X5_GAIN_3_COS_X5 * action[2] * np.cos(state.x5)
        + X5_HARD * state.x5 ** 3
        + X5_GAIN_5_X5 * action[4] * state.x5
        + X5_GAIN_5_SIN_X5 * action[4] * np.sin(state.x5)
        + X5_GAIN_3_SIN_X8 * action[2] * np.sin(state.x8)
        + X5_GAIN_7_X5_SPEED * action[6] * state.x5_speed
        + X5_BY_COS_X15 * np.cos(state.x15)
        + X5_GAIN_2_X10 * action[1] * state.x10
        + X5_GAIN_7_COS_X12 * action[6] * np.cos(state.x12)
    )
    x9_speed_rate = (
        X9_GAIN_7_COS_X9 * action[6] * np.cos(state.x9)
        + X9_DRAG * state.x9_speed
        + X9_GAIN_3_X12_SPEED * action[2] * state.x12_speed
        + X9_GAIN_6_X7_SPEED * action[5] * state.x7_speed
        + X9_GAIN_8_X7_SPEED * action[7] * state.x7_speed
        + X9_PULL_X5 * np.sin(state.x9 - state.x5)
        + X9_GAIN_5_COS_X11 * action[4] * np.cos(state.x11)
        + X9_GAIN_8_SIN_X8 * action[7] * np.sin(state.x8)
    )
    x10_speed_rate = (
        X10_GAIN_8_SIN_X8 * action[7] * np.sin(state.x8)
        + X10_GAIN_6_BEYOND * (state.x10 > X10_EDGE) * action[5]
        + X10_GAIN_1_X8_SPEED * action[0] * state.x8_speed
        + X10_GAIN_2_X11_SPEED * action[1] * state.x11_speed
        + X10_GAIN_1_X11_SPEED * action[0] * state.x11_speed
        + X10_GAIN_6_X7_SPEED * action[5] * state.x7_speed
        + X10_GAIN_1_X7_SPEED * action[0] * state.x7_speed
        + X10_GAIN_6_GAIN_7 * action[5] * action[6]
    )
    return (
        state.x5_speed, state.x7_speed, state.x8_speed, state.x9_speed, state.x10_speed, state.x11_speed, state.x12_speed, x5_speed_rate,
        0.0, 0.0, x9_speed_rate, x10_speed_rate, 0.0, 0.0,
    )


def nudged(state, slope, time):
    """The state after a time of even change."""
    return state._replace(
        x5=state.x5 + time * slope[0], x7=state.x7 + time * slope[1], x8=state.x8 + time * slope[2], x9=state.x9 + time * slope[3],
        x10=state.x10 + time * slope[4], x11=state.x11 + time * slope[5], x12=state.x12 + time * slope[6],
        x5_speed=state.x5_speed + time * slope[7],
        x7_speed=state.x7_speed + time * slope[8],
        x8_speed=state.x8_speed + time * slope[9],
        x9_speed=state.x9_speed + time * slope[10],
        x10_speed=state.x10_speed + time * slope[11],
        x11_speed=state.x11_speed + time * slope[12],
        x12_speed=state.x12_speed + time * slope[13],
    )


def step(state, action):
    """One step."""
    k1 = rates(state, action)
    k2 = rates(nudged(state, k1, DT / 2), action)
    k3 = rates(nudged(state, k2, DT / 2), action)
    k4 = rates(nudged(state, k3, DT), action)
    x5 = state.x5 + DT / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
    x7 = state.x7 + DT / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])
    x8 = state.x8 + DT / 6 * (k1[2] + 2 * k2[2] + 2 * k3[2] + k4[2])
    x9 = state.x9 + DT / 6 * (k1[3] + 2 * k2[3] + 2 * k3[3] + k4[3])
    x10 = state.x10 + DT / 6 * (k1[4] + 2 * k2[4] + 2 * k3[4] + k4[4])
    x11 = state.x11 + DT / 6 * (k1[5] + 2 * k2[5] + 2 * k3[5] + k4[5])
    x12 = state.x12 + DT / 6 * (k1[6] + 2 * k2[6] + 2 * k3[6] + k4[6])
    x5_speed = state.x5_speed + DT / 6 * (k1[7] + 2 * k2[7] + 2 * k3[7] + k4[7])
    x7_speed = state.x7_speed + DT / 6 * (k1[8] + 2 * k2[8] + 2 * k3[8] + k4[8])
    x8_speed = state.x8_speed + DT / 6 * (k1[9] + 2 * k2[9] + 2 * k3[9] + k4[9])
    x9_speed = state.x9_speed + DT / 6 * (k1[10] + 2 * k2[10] + 2 * k3[10] + k4[10])
    x10_speed = state.x10_speed + DT / 6 * (k1[11] + 2 * k2[11] + 2 * k3[11] + k4[11])
    x11_speed = state.x11_speed + DT / 6 * (k1[12] + 2 * k2[12] + 2 * k3[12] + k4[12])
    x12_speed = state.x12_speed + DT / 6 * (k1[13] + 2 * k2[13] + 2 * k3[13] + k4[13])
    x5_speed = np.clip(x5_speed, X5_SPEED_SEEN_FROM, X5_SPEED_SEEN_TO)
    x9_speed = np.clip(x9_speed, X9_SPEED_SEEN_FROM, X9_SPEED_SEEN_TO)
    x10_speed = np.clip(x10_speed, X10_SPEED_SEEN_FROM, X10_SPEED_SEEN_TO)
    x5 = np.clip(x5, X5_SEEN_FROM, X5_SEEN_TO)
    x7 = np.clip(x7, X7_SEEN_FROM, X7_SEEN_TO)
    x8 = np.clip(x8, X8_SEEN_FROM, X8_SEEN_TO)
    x9 = np.clip(x9, X9_SEEN_FROM, X9_SEEN_TO)
    x10 = np.clip(x10, X10_SEEN_FROM, X10_SEEN_TO)
    x11 = np.clip(x11, X11_SEEN_FROM, X11_SEEN_TO)
    x12 = np.clip(x12, X12_SEEN_FROM, X12_SEEN_TO)
    return state._replace(
        x5=x5, x7=x7, x8=x8, x9=x9, x10=x10, x11=x11, x12=x12, x5_speed=x5_speed, x7_speed=x7_speed, x8_speed=x8_speed, x9_speed=x9_speed,
        x10_speed=x10_speed, x11_speed=x11_speed, x12_speed=x12_speed,
    )


def observe(state):
    """What is seen of a state."""
    return (
        0.711662,  # x0, noise: its mean
        0.997613,  # x1, noise: its mean
        0.0225832,  # x2, noise: its mean
        -0.0247284,  # x3, noise: its mean
        -0.0120208,  # x4, noise: its mean
        state.x5,  # x5
        0.759604,  # x6, noise: its mean
        state.x7,  # x7
        state.x8,  # x8
        state.x9,  # x9
        state.x10,  # x10
        state.x11,  # x11
        state.x12,  # x12
        0.590568,  # x13, noise: its mean
        -0.157165,  # x14, noise: its mean
        state.x15,  # x15
        0.136428,  # x16, noise: its mean
        -0.201871,  # x17, noise: its mean
        -0.159244,  # x18, noise: its mean
        state.x5_speed,  # x19
        1.65663,  # x20, noise: its mean
        state.x7_speed,  # x21
        state.x8_speed,  # x22
        state.x9_speed,  # x23
        state.x10_speed,  # x24
        state.x11_speed,  # x25
        state.x12_speed,  # x26
    )


def read(observation):
    """A state that gives this observation."""
    x5 = observation[5]
    x7 = observation[7]
    x8 = observation[8]
    x9 = observation[9]
    x10 = observation[10]
    x11 = observation[11]
    x12 = observation[12]
    x15 = observation[15]
    x5_speed = observation[19]
    x7_speed = observation[21]
    x8_speed = observation[22]
    x9_speed = observation[23]
    x10_speed = observation[24]
    x11_speed = observation[25]
    x12_speed = observation[26]
    return State(x5=x5, x7=x7, x8=x8, x9=x9, x10=x10, x11=x11, x12=x12, x15=x15, x5_speed=x5_speed, x7_speed=x7_speed, x8_speed=x8_speed, x9_speed=x9_speed, x10_speed=x10_speed, x11_speed=x11_speed, x12_speed=x12_speed)


def reward(state, action, next_state):
    """What a step is worth."""
    return 1.3 * state.x8 ** 2 + 0.3 * state.x15 - 1.2 * action[7] ** 2 - 0.08 * next_state.x7_speed - 0.06 * (next_state.x8_speed - state.x8_speed) + 0.03 * (next_state.x10_speed - state.x10_speed) - 0.08 * next_state.x11_speed - 0.7 * np.abs(state.x7) - 0.3 * action[1] + 0.2 * action[4] ** 2 + 0.1 * action[3] - 0.05 * next_state.x11 + 0.06 * next_state.x11 ** 2 - 0.001 * (next_state.x12 - state.x12)
