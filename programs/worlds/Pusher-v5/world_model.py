"""Pusher-v5: drive (state.action_4_1_ago, x4), drive (state.action_3_1_ago, x3), spring (x3, x18), drive (state.action_3_1_ago, x0), quadratic (x3_speed), field (x3_speed), drive (state.action_4_1_ago), spring (x4), viscous (x4_speed), viscous (x4_speed, x4), drive (state.action_5_1_ago), drive (state.action_6_1_ago, x6) and 13 further terms.

EMPIRICAL: no law explains this world; what follows is the best that was found, and may be wrong anywhere.

Verdict: unexplained; 25-step error 8 of the spread of motion on held-out stretches (90 % below 3e+11); noise of observations alone makes 8e-06; most is left of x6: inf of its spread after 25 steps; plain motion predicts better: in the program x1, x2, x5, x14, x15, x16 stand still and x0_speed stays the same, which leaves 1.
Held-out error (median, of each field's spread of change): 0.36 after 1, 0.53 after 5, 0.89 after 25 steps.
Found from 1432 steps of the world by visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

DT = 0.05  # s, one physics step
X3_GAIN_4_SIN_X3 = -12.64525775  # +- 0.09  drive: action_3_1_ago * sin(x3)
X3_GAIN_4_COS_X3 = 5.331417141  # +- 0.04  drive: action_3_1_ago * cos(x3)
X3_PULL_X18 = -5.548798909  # +- 0.05  spring: sin(x3 - x18)
X3_GAIN_4_X0 = -1.849935306  # +- 0.03  drive: action_3_1_ago * x0
X3_DRAG_SQUARE = -0.6057491606  # +- 0.004  quadratic: abs(x3_speed) * x3_speed
X3_PUSH = -0.7045891061  # +- 0.02  field
X4_GAIN_5 = 6.295491591  # +- 0.2  drive: action_4_1_ago
X4_HARD = -2.897570318  # +- 0.05  spring: x4 ** 3
X4_GAIN_5_COS_X4 = 18.55899902  # +- 0.2  drive: action_4_1_ago * cos(x4)
X4_DRAG = -2.642934742  # +- 0.01  viscous: x4_speed
X4_DRAG_BEND = 0.9734876208  # +- 0.03  viscous: x4 ** 2 * x4_speed
X6_GAIN_7_COS_X6 = 15.29163181  # +- 0.2  drive: action_6_1_ago * cos(x6)
X6_HARD = -1.47048093  # +- 0.02  spring: x6 ** 3
X6_GAIN_7 = 7.445811263  # +- 0.2  drive: action_6_1_ago
X6_DRAG = -1.837063858  # +- 0.01  viscous: x6_speed
X6_DRAG_BEND = 0.5161485638  # +- 0.02  viscous: x6 ** 2 * x6_speed
X6_GAIN_6_X6 = -1.543238676  # +- 0.02  drive: action_5_1_ago * x6
X17_GAIN_7_X0_SPEED = -2.103564474e-11  # +- 2e-10  drive: action_6_1_ago * x0_speed
X18_GAIN_7_X0_SPEED = 1.359198258e-10  # +- 6e-11  drive: action_6_1_ago * x0_speed
X0_SEEN_FROM = -2.702  # x0 was not seen beyond
X0_SEEN_TO = 2.166  # x0 was not seen beyond
X3_SPEED_SEEN_FROM = -16.72  # x3_speed was not seen beyond
X3_SPEED_SEEN_TO = 10.62  # x3_speed was not seen beyond
X3_SEEN_FROM = -2.615  # x3 was not seen beyond
X3_SEEN_TO = 0.3053  # x3 was not seen beyond
X4_SPEED_SEEN_FROM = -14.31  # x4_speed was not seen beyond
X4_SPEED_SEEN_TO = 14.31  # x4_speed was not seen beyond
X4_SEEN_FROM = -1.863  # x4 was not seen beyond
X4_SEEN_TO = 1.884  # x4 was not seen beyond
X6_SPEED_SEEN_FROM = -14.97  # x6_speed was not seen beyond
X6_SPEED_SEEN_TO = 14.79  # x6_speed was not seen beyond
X6_SEEN_FROM = -1.89  # x6 was not seen beyond
X6_SEEN_TO = 1.88  # x6 was not seen beyond
X17_SEEN_FROM = 0.1832  # x17 was not seen beyond
X17_SEEN_TO = 0.6579  # x17 was not seen beyond
X18_SEEN_FROM = -0.3772  # x18 was not seen beyond
X18_SEEN_TO = -0.03431  # x18 was not seen beyond


class State(NamedTuple):
    x0: float
    x1: float
    x2: float
    x3: float
    x4: float
    x5: float
    x6: float
    x14: float
    x15: float
    x16: float
    x17: float
    x18: float
    x0_speed: float
    x1_speed: float
    x2_speed: float
    x3_speed: float
    x4_speed: float
    x5_speed: float
    x6_speed: float
    action_0_1_ago: float = 0.0  # not observed
    action_1_1_ago: float = 0.0  # not observed
    action_2_1_ago: float = 0.0  # not observed
    action_3_1_ago: float = 0.0  # not observed
    action_4_1_ago: float = 0.0  # not observed
    action_5_1_ago: float = 0.0  # not observed
    action_6_1_ago: float = 0.0  # not observed


def rates(state, action):
    """How fast each field changes."""
    x3_speed_rate = (
        X3_GAIN_4_SIN_X3 * state.action_3_1_ago * np.sin(state.x3)
        + X3_GAIN_4_COS_X3 * state.action_3_1_ago * np.cos(state.x3)
        + X3_PULL_X18 * np.sin(state.x3 - state.x18)
        + X3_GAIN_4_X0 * state.action_3_1_ago * state.x0
        + X3_DRAG_SQUARE * np.abs(state.x3_speed) * state.x3_speed
        + X3_PUSH
    )
    x4_speed_rate = (
        X4_GAIN_5 * state.action_4_1_ago
        + X4_HARD * state.x4 ** 3
        + X4_GAIN_5_COS_X4 * state.action_4_1_ago * np.cos(state.x4)
        + X4_DRAG * state.x4_speed
        + X4_DRAG_BEND * state.x4 ** 2 * state.x4_speed
    )
    x6_speed_rate = (
        X6_GAIN_7_COS_X6 * state.action_6_1_ago * np.cos(state.x6)
        + X6_HARD * state.x6 ** 3
        + X6_GAIN_7 * state.action_6_1_ago
        + X6_DRAG * state.x6_speed
        + X6_DRAG_BEND * state.x6 ** 2 * state.x6_speed
        + X6_GAIN_6_X6 * state.action_5_1_ago * state.x6
    )
    return (
        state.x0_speed, state.x3_speed, state.x4_speed, state.x6_speed, 0.0, x3_speed_rate, x4_speed_rate, x6_speed_rate,
        X17_GAIN_7_X0_SPEED * state.action_6_1_ago * state.x0_speed,
        X18_GAIN_7_X0_SPEED * state.action_6_1_ago * state.x0_speed,
    )


def nudged(state, slope, time):
    """The state after a time of even change."""
    return state._replace(
        x0=state.x0 + time * slope[0], x3=state.x3 + time * slope[1], x4=state.x4 + time * slope[2], x6=state.x6 + time * slope[3],
        x0_speed=state.x0_speed + time * slope[4],
        x3_speed=state.x3_speed + time * slope[5],
        x4_speed=state.x4_speed + time * slope[6],
        x6_speed=state.x6_speed + time * slope[7], x17=state.x17 + time * slope[8], x18=state.x18 + time * slope[9],
    )


def step(state, action):
    """One step."""
    k1 = rates(state, action)
    k2 = rates(nudged(state, k1, DT / 2), action)
    k3 = rates(nudged(state, k2, DT / 2), action)
    k4 = rates(nudged(state, k3, DT), action)
    x0 = state.x0 + DT / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
    x3 = state.x3 + DT / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])
    x4 = state.x4 + DT / 6 * (k1[2] + 2 * k2[2] + 2 * k3[2] + k4[2])
    x6 = state.x6 + DT / 6 * (k1[3] + 2 * k2[3] + 2 * k3[3] + k4[3])
    x0_speed = state.x0_speed + DT / 6 * (k1[4] + 2 * k2[4] + 2 * k3[4] + k4[4])
    x3_speed = state.x3_speed + DT / 6 * (k1[5] + 2 * k2[5] + 2 * k3[5] + k4[5])
    x4_speed = state.x4_speed + DT / 6 * (k1[6] + 2 * k2[6] + 2 * k3[6] + k4[6])
    x6_speed = state.x6_speed + DT / 6 * (k1[7] + 2 * k2[7] + 2 * k3[7] + k4[7])
    x17 = state.x17 + DT / 6 * (k1[8] + 2 * k2[8] + 2 * k3[8] + k4[8])
    x18 = state.x18 + DT / 6 * (k1[9] + 2 * k2[9] + 2 * k3[9] + k4[9])
    x3_speed = np.clip(x3_speed, X3_SPEED_SEEN_FROM, X3_SPEED_SEEN_TO)
    x4_speed = np.clip(x4_speed, X4_SPEED_SEEN_FROM, X4_SPEED_SEEN_TO)
    x6_speed = np.clip(x6_speed, X6_SPEED_SEEN_FROM, X6_SPEED_SEEN_TO)
    x17 = np.clip(x17, X17_SEEN_FROM, X17_SEEN_TO)
    x18 = np.clip(x18, X18_SEEN_FROM, X18_SEEN_TO)
    x0 = np.clip(x0, X0_SEEN_FROM, X0_SEEN_TO)
    x3 = np.clip(x3, X3_SEEN_FROM, X3_SEEN_TO)
    x4 = np.clip(x4, X4_SEEN_FROM, X4_SEEN_TO)
    x6 = np.clip(x6, X6_SEEN_FROM, X6_SEEN_TO)
    return state._replace(
        x0=x0, x3=x3, x4=x4, x6=x6, x0_speed=x0_speed, x3_speed=x3_speed, x4_speed=x4_speed, x6_speed=x6_speed, x17=x17, x18=x18,
        action_0_1_ago=action[0], action_1_1_ago=action[1], action_2_1_ago=action[2], action_3_1_ago=action[3], action_4_1_ago=action[4],
        action_5_1_ago=action[5], action_6_1_ago=action[6],
    )


def observe(state):
    """What is seen of a state."""
    return (
        state.x0,  # x0
        state.x1,  # x1
        state.x2,  # x2
        state.x3,  # x3
        state.x4,  # x4
        state.x5,  # x5
        state.x6,  # x6
        state.x0_speed,  # x7
        state.x1_speed,  # x8
        state.x2_speed,  # x9
        state.x3_speed,  # x10
        state.x4_speed,  # x11
        state.x5_speed,  # x12
        state.x6_speed,  # x13
        state.x14,  # x14
        state.x15,  # x15
        state.x16,  # x16
        state.x17,  # x17
        state.x18,  # x18
        -0.275,  # x19, the same in every row
        0.45,  # x20, the same in every row
        -0.05,  # x21, the same in every row
        -0.323,  # x22, the same in every row
    )


def read(observation):
    """A state that gives this observation."""
    x0 = observation[0]
    x1 = observation[1]
    x2 = observation[2]
    x3 = observation[3]
    x4 = observation[4]
    x5 = observation[5]
    x6 = observation[6]
    x14 = observation[14]
    x15 = observation[15]
    x16 = observation[16]
    x17 = observation[17]
    x18 = observation[18]
    x0_speed = observation[7]
    x1_speed = observation[8]
    x2_speed = observation[9]
    x3_speed = observation[10]
    x4_speed = observation[11]
    x5_speed = observation[12]
    x6_speed = observation[13]
    return State(x0=x0, x1=x1, x2=x2, x3=x3, x4=x4, x5=x5, x6=x6, x14=x14, x15=x15, x16=x16, x17=x17, x18=x18, x0_speed=x0_speed, x1_speed=x1_speed, x2_speed=x2_speed, x3_speed=x3_speed, x4_speed=x4_speed, x5_speed=x5_speed, x6_speed=x6_speed)


def reward(state, action, next_state):
    """What a step is worth."""
    return 0.54 * state.x18 - 0.0975 * action[6] ** 2 - 0.113 * action[1] ** 2 - 0.0968 * action[0] ** 2 - 0.098 * action[5] ** 2 - 0.095 * action[2] ** 2 - 0.1 * action[4] ** 2 + 0.6 * state.x17 * state.x14 - 0.1 * action[3] ** 2 - 0.276 * np.sqrt(state.x15 ** 2 + state.x14 ** 2) + 1.2 * state.x18 * state.x16 - 0.39 + 0.06 * np.sqrt(state.x14 ** 2 + state.x3 ** 2) - 0.09 * state.x16 * state.x2
