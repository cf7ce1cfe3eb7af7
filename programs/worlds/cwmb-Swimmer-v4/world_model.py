"""the arrays: regional (x1), coupling (x0_speed, x1), drive (action[1], x1), drive (action[0], x1), drive (action[0], x4), drive (action[1], x2), viscous (x0_speed), drive (action[0], x0), quadratic (x1_speed, x2_speed), soft stop (x1), drive (action[1], x0), drive (action[0], x2) and 8 further terms.

EMPIRICAL: no law explains this world; what follows is the best that was found, and may be wrong anywhere.

Verdict: unexplained; 25-step error 0.5 of the spread of motion on held-out stretches (90 % below 1); most is left of x0: 6.8e+08 of its spread after 25 steps.
Held-out error (median, of each field's spread of change): 0.85 after 1, 0.94 after 5, 1.1 after 25 steps.
Found from a log by visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

DT = 0.04  # s, one physics step
X0_EDGE_X1 = -1.729755095  # of regional
X0_GAIN_1_BEYOND_X1 = -8.3044742  # regional: (x1 > EDGE_X1) * action[0]
X0_X0_SPEED_SQUARE_SIN_X1 = 2.393092043  # coupling: x0_speed ** 2 * sin(x1)
X0_GAIN_2_COS_X1 = 10.58270298  # drive: action[1] * cos(x1)
X0_GAIN_1_COS_X1 = -15.14441568  # drive: action[0] * cos(x1)
X0_GAIN_1_COS_X4 = -7.939  # drive: action[0] * cos(x4)
X0_GAIN_2_SIN_X2 = -4.311072817  # drive: action[1] * sin(x2)
X0_DRAG = -2.092200149  # viscous: x0_speed
X1_EMPTY_X0 = 0.8026362629  # of drive
X1_GAIN_1_PER_X0 = 49.83385407  # drive: action[0] / (x0 + EMPTY_X0)
X1_GAIN_2_COS_X2 = -11.47306947  # drive: action[1] * cos(x2)
X1_DRAG_SQUARE_X2_SPEED = -1.466414694  # quadratic: hypot(x1_speed, x2_speed) * x1_speed
X1_LOW_EDGE = -1.743316544  # of soft stop
X1_STOP_LOW = -1982.628548  # soft stop: minimum(x1 - LOW_EDGE, 0)
X1_GAIN_2_X2 = 10.29603528  # drive: action[1] * x2
X1_GAIN_2_COS_X0 = -21.6313272  # drive: action[1] * cos(x0)
X2_GAIN_2_COS_X2 = 30.34  # drive: action[1] * cos(x2)
X2_GAIN_1_COS_X2 = -18.52379264  # drive: action[0] * cos(x2)
X2_DRAG_SQUARE_X0_SPEED = -1.745217624  # quadratic: hypot(x2_speed, x0_speed) * x2_speed
X2_GAIN_2 = 24.63642557  # drive: action[1]
X2_GAIN_1_SIN_X2 = 7.97931  # drive: action[0] * sin(x2)
X2_GAIN_1_COS_X1 = -15.00294449  # drive: action[0] * cos(x1)
X2_GAIN_2_TAN_X0 = -3.175789261  # drive: tan(action[1]) * x0
X3_GAIN_1_SIN_X0 = -12.57967643  # drive: action[0] * sin(x0)
X3_HARD_X1 = -0.2205548983  # spring: (x3 - x1) ** 3
X3_GAIN_2_SIN_X2 = -8.576  # drive: action[1] * sin(x2)
X3_EMPTY_X1 = 1.769239085  # of drive
X3_GAIN_1_PER_X1 = 0.1547920945  # drive: action[0] / (x1 + EMPTY_X1)
X3_EDGE_X0 = 1.694303272  # of regional
X3_GAIN_2_BEYOND_X0 = -6.418523984  # regional: (x0 > EDGE_X0) * action[1]
X4_GAIN_1_X1 = 11.88418236  # drive: action[0] * x1
X4_DRAG_SQUARE = -3.911112044  # quadratic: abs(x4) * x4
X4_GAIN_2_COS_X2 = -3.708212338  # drive: action[1] * cos(x2)
X4_GAIN_1 = 32.74597122  # drive: action[0]
X4_GAIN_2_COS_X1 = -8.075267731  # drive: action[1] * cos(x1)
X4_GAIN_2_SIN_X2 = 2.692  # drive: action[1] * sin(x2)
X4_GAIN_1_X0 = -6.507607224  # drive: action[0] * x0
X4_X3_SQUARE = 2.079926405  # coupling: x3 ** 2
X4_X1_COS_X0 = -0.5585861078  # coupling: x1 * cos(x0)
X0_SPEED_SEEN_FROM = -1.507  # x0_speed was not seen beyond
X0_SPEED_SEEN_TO = 2.72  # x0_speed was not seen beyond
X0_SEEN_FROM = -0.2883  # x0 was not seen beyond
X0_SEEN_TO = 2.615  # x0 was not seen beyond
X1_SPEED_SEEN_FROM = -5.599  # x1_speed was not seen beyond
X1_SPEED_SEEN_TO = 2.976  # x1_speed was not seen beyond
X1_SEEN_FROM = -1.96  # x1 was not seen beyond
X1_SEEN_TO = 0.284  # x1 was not seen beyond
X2_SPEED_SEEN_FROM = -5.388  # x2_speed was not seen beyond
X2_SPEED_SEEN_TO = 5.227  # x2_speed was not seen beyond
X2_SEEN_FROM = -2.11  # x2 was not seen beyond
X2_SEEN_TO = 2.096  # x2 was not seen beyond
X3_SEEN_FROM = -1.099  # x3 was not seen beyond
X3_SEEN_TO = 1.51  # x3 was not seen beyond
X4_SEEN_FROM = -2.666  # x4 was not seen beyond
X4_SEEN_TO = 1.442  # x4 was not seen beyond


class State(NamedTuple):
    x0: float
    x1: float
    x2: float
    x3: float
    x4: float
    x0_speed: float
    x1_speed: float
    x2_speed: float


def rates(state, action):
    """How fast each field changes."""
    x0_speed_rate = (
        X0_GAIN_1_BEYOND_X1 * (state.x1 > X0_EDGE_X1) * action[0]
        + X0_X0_SPEED_SQUARE_SIN_X1 * state.x0_speed ** 2 * np.sin(state.x1)
        + X0_GAIN_2_COS_X1 * action[1] * np.cos(state.x1)
        + X0_GAIN_1_COS_X1 * action[0] * np.cos(state.x1)
        + X0_GAIN_1_COS_X4 * action[0] * np.cos(state.x4)
        + X0_GAIN_2_SIN_X2 * action[1] * np.sin(state.x2)
        + X0_DRAG * state.x0_speed
    )
    x1_speed_rate = (
        X1_GAIN_1_PER_X0 * action[0] / (state.x0 + X1_EMPTY_X0)
        + X1_GAIN_2_COS_X2 * action[1] * np.cos(state.x2)
        + X1_DRAG_SQUARE_X2_SPEED * np.hypot(state.x1_speed, state.x2_speed) * state.x1_speed
        + X1_STOP_LOW * np.minimum(state.x1 - X1_LOW_EDGE, 0)
        + X1_GAIN_2_X2 * action[1] * state.x2
        + X1_GAIN_2_COS_X0 * action[1] * np.cos(state.x0)
    )
    x2_speed_rate = (
        X2_GAIN_2_COS_X2 * action[1] * np.cos(state.x2)
        + X2_GAIN_1_COS_X2 * action[0] * np.cos(state.x2)
        + X2_DRAG_SQUARE_X0_SPEED * np.hypot(state.x2_speed, state.x0_speed) * state.x2_speed
        + X2_GAIN_2 * action[1]
        + X2_GAIN_1_SIN_X2 * action[0] * np.sin(state.x2)
        + X2_GAIN_1_COS_X1 * action[0] * np.cos(state.x1)
        + X2_GAIN_2_TAN_X0 * np.tan(action[1]) * state.x0
    )
    x3_rate = (
        X3_GAIN_1_SIN_X0 * action[0] * np.sin(state.x0)
        + X3_HARD_X1 * (state.x3 - state.x1) ** 3
        + X3_GAIN_2_SIN_X2 * action[1] * np.sin(state.x2)
        + X3_GAIN_1_PER_X1 * action[0] / (state.x1 + X3_EMPTY_X1)
        + X3_GAIN_2_BEYOND_X0 * (state.x0 > X3_EDGE_X0) * action[1]
    )
    x4_rate = (
        X4_GAIN_1_X1 * action[0] * state.x1
        + X4_DRAG_SQUARE * np.abs(state.x4) * state.x4
        + X4_GAIN_2_COS_X2 * action[1] * np.cos(state.x2)
        + X4_GAIN_1 * action[0]
        + X4_GAIN_2_COS_X1 * action[1] * np.cos(state.x1)
        + X4_GAIN_2_SIN_X2 * action[1] * np.sin(state.x2)
        + X4_GAIN_1_X0 * action[0] * state.x0
        + X4_X3_SQUARE * state.x3 ** 2
        + X4_X1_COS_X0 * state.x1 * np.cos(state.x0)
    )
    return (state.x0_speed, state.x1_speed, state.x2_speed, x0_speed_rate, x1_speed_rate, x2_speed_rate, x3_rate, x4_rate,)


def nudged(state, slope, time):
    """The state after a time of even change."""
    return state._replace(
        x0=state.x0 + time * slope[0], x1=state.x1 + time * slope[1], x2=state.x2 + time * slope[2],
        x0_speed=state.x0_speed + time * slope[3],
        x1_speed=state.x1_speed + time * slope[4],
        x2_speed=state.x2_speed + time * slope[5], x3=state.x3 + time * slope[6], x4=state.x4 + time * slope[7],
    )


def step(state, action):
    """One step."""
    k1 = rates(state, action)
    k2 = rates(nudged(state, k1, DT / 2), action)
    k3 = rates(nudged(state, k2, DT / 2), action)
    k4 = rates(nudged(state, k3, DT), action)
    x0 = state.x0 + DT / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
    x1 = state.x1 + DT / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])
    x2 = state.x2 + DT / 6 * (k1[2] + 2 * k2[2] + 2 * k3[2] + k4[2])
    x0_speed = state.x0_speed + DT / 6 * (k1[3] + 2 * k2[3] + 2 * k3[3] + k4[3])
    x1_speed = state.x1_speed + DT / 6 * (k1[4] + 2 * k2[4] + 2 * k3[4] + k4[4])
    x2_speed = state.x2_speed + DT / 6 * (k1[5] + 2 * k2[5] + 2 * k3[5] + k4[5])
    x3 = state.x3 + DT / 6 * (k1[6] + 2 * k2[6] + 2 * k3[6] + k4[6])
    x4 = state.x4 + DT / 6 * (k1[7] + 2 * k2[7] + 2 * k3[7] + k4[7])
    x0_speed = np.clip(x0_speed, X0_SPEED_SEEN_FROM, X0_SPEED_SEEN_TO)
    x1_speed = np.clip(x1_speed, X1_SPEED_SEEN_FROM, X1_SPEED_SEEN_TO)
    x2_speed = np.clip(x2_speed, X2_SPEED_SEEN_FROM, X2_SPEED_SEEN_TO)
    x3 = np.clip(x3, X3_SEEN_FROM, X3_SEEN_TO)
    x4 = np.clip(x4, X4_SEEN_FROM, X4_SEEN_TO)
    x0 = np.clip(x0, X0_SEEN_FROM, X0_SEEN_TO)
    x1 = np.clip(x1, X1_SEEN_FROM, X1_SEEN_TO)
    x2 = np.clip(x2, X2_SEEN_FROM, X2_SEEN_TO)
    return state._replace(x0=x0, x1=x1, x2=x2, x0_speed=x0_speed, x1_speed=x1_speed, x2_speed=x2_speed, x3=x3, x4=x4)


def reward(state, action, next_state):
    """What a step is worth."""
    return 0.45 * next_state.x3 + 0.48 * state.x3 - 0.01 * state.x2 * (next_state.x0_speed - state.x0_speed) + 0.05 * state.x3 * (next_state.x3 - state.x3) - 0.003 * state.x1 * (next_state.x1_speed - state.x1_speed) + 0.01 * (next_state.x0_speed - state.x0_speed) + 0.05 * state.x4 * (next_state.x3 - state.x3) + 0.02 * state.x2_speed * (next_state.x3 - state.x3) - 0.004 * state.x2_speed * (next_state.x0_speed - state.x0_speed) - state.x0 * (next_state.x0 - state.x0) - 0.2 * state.x2 * (next_state.x2 - state.x2) + 0.008 * action[1] ** 2 - 1.5 * state.x1 * (next_state.x0 - state.x0) - 0.6 * state.x2 * (next_state.x0 - state.x0)
