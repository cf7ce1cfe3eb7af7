"""Pusher-v5: drive (state.action_4_1_ago), spring (x4), drive (state.action_4_1_ago, x4), viscous (x4_speed), viscous (x4_speed, x4), drive (state.action_6_1_ago), drive (state.action_6_1_ago, x0_speed), standing still (x1), standing still (x2), standing still (x5), standing still (x6), standing still (x14) and 4 further terms.

EMPIRICAL: no law explains this world; what follows is the best that was found, and may be wrong anywhere.

Verdict: unexplained; 25-step error 4e+02 of the spread of motion on held-out stretches (90 % below 7e+02); noise of observations alone makes 2e-05; most is left of x6_speed: 1.7e+127 of its spread after 25 steps; plain motion predicts better: in the program x1, x2, x5, x6, x14, x15, x16 stand still and x0_speed, x3_speed stay the same, which leaves 1.
Held-out error (median, of each field's spread of change): 0.35 after 1, 0.54 after 5, 0.96 after 25 steps.
Found from 1432 steps of the world by visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

DT = 0.05  # s, one physics step
X4_GAIN_5_ROOT = 7.130930336  # +- 0.6  drive: sign(action_4_1_ago) * sqrt(abs(action_4_1_ago))
X4_HARD = -2.049829005  # +- 0.2  spring: x4 ** 3
X4_GAIN_5_COS_X4 = 21.0905485  # +- 1  drive: action_4_1_ago * cos(x4)
X4_DRAG = -2.757196514  # +- 0.2  viscous: x4_speed
X4_DRAG_BEND = 1.548962243  # +- 0.2  viscous: x4 ** 2 * x4_speed
X17_GAIN_7_X0_SPEED = -1.658950987e-11  # +- 2e-12  drive: action_6_1_ago * x0_speed
X18_GAIN_7_X0_SPEED = 3.475629975e-11  # drive: action_6_1_ago * x0_speed
X0_SEEN_FROM = -2.702  # x0 was not seen beyond
X0_SEEN_TO = 2.166  # x0 was not seen beyond
X3_SEEN_FROM = -2.615  # x3 was not seen beyond
X3_SEEN_TO = 0.3053  # x3 was not seen beyond
X4_SPEED_SEEN_FROM = -14.31  # x4_speed was not seen beyond
X4_SPEED_SEEN_TO = 14.31  # x4_speed was not seen beyond
X4_SEEN_FROM = -1.863  # x4 was not seen beyond
X4_SEEN_TO = 1.884  # x4 was not seen beyond
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
    x4_speed_rate = (
        X4_GAIN_5_ROOT * np.sign(state.action_4_1_ago) * np.sqrt(np.abs(state.action_4_1_ago))
        + X4_HARD * state.x4 ** 3
        + X4_GAIN_5_COS_X4 * state.action_4_1_ago * np.cos(state.x4)
        + X4_DRAG * state.x4_speed
        + X4_DRAG_BEND * state.x4 ** 2 * state.x4_speed
    )
    return (
        state.x0_speed, state.x3_speed, state.x4_speed, 0.0, 0.0, x4_speed_rate,
        X17_GAIN_7_X0_SPEED * state.action_6_1_ago * state.x0_speed,
        X18_GAIN_7_X0_SPEED * state.action_6_1_ago * state.x0_speed,
    )


def nudged(state, slope, time):
    """The state after a time of even change."""
    return state._replace(
        x0=state.x0 + time * slope[0], x3=state.x3 + time * slope[1], x4=state.x4 + time * slope[2],
        x0_speed=state.x0_speed + time * slope[3],
        x3_speed=state.x3_speed + time * slope[4],
        x4_speed=state.x4_speed + time * slope[5], x17=state.x17 + time * slope[6], x18=state.x18 + time * slope[7],
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
    x0_speed = state.x0_speed + DT / 6 * (k1[3] + 2 * k2[3] + 2 * k3[3] + k4[3])
    x3_speed = state.x3_speed + DT / 6 * (k1[4] + 2 * k2[4] + 2 * k3[4] + k4[4])
    x4_speed = state.x4_speed + DT / 6 * (k1[5] + 2 * k2[5] + 2 * k3[5] + k4[5])
    x17 = state.x17 + DT / 6 * (k1[6] + 2 * k2[6] + 2 * k3[6] + k4[6])
    x18 = state.x18 + DT / 6 * (k1[7] + 2 * k2[7] + 2 * k3[7] + k4[7])
    x4_speed = np.clip(x4_speed, X4_SPEED_SEEN_FROM, X4_SPEED_SEEN_TO)
    x17 = np.clip(x17, X17_SEEN_FROM, X17_SEEN_TO)
    x18 = np.clip(x18, X18_SEEN_FROM, X18_SEEN_TO)
    x0 = np.clip(x0, X0_SEEN_FROM, X0_SEEN_TO)
    x3 = np.clip(x3, X3_SEEN_FROM, X3_SEEN_TO)
    x4 = np.clip(x4, X4_SEEN_FROM, X4_SEEN_TO)
    return state._replace(
        x0=x0, x3=x3, x4=x4, x0_speed=x0_speed, x3_speed=x3_speed, x4_speed=x4_speed, x17=x17, x18=x18, action_0_1_ago=action[0],
        action_1_1_ago=action[1], action_2_1_ago=action[2], action_3_1_ago=action[3], action_4_1_ago=action[4], action_5_1_ago=action[5],
        action_6_1_ago=action[6],
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
    return 0.06 * np.abs(action[4]) + 0.8 * np.sin(state.x18) - 0.092 * action[6] ** 2 - 0.13 * action[1] ** 2 - 0.2 * np.abs(action[0]) - 0.105 * action[5] ** 2 - 0.092 * action[2] ** 2 - 0.09 * action[3] ** 2 - 0.36 * np.cos(state.x1) - 0.12 * action[4] ** 2 + 0.233 * np.sin(state.x14) + 0.16 * state.x15 - 0.07 * np.cos(state.x3)
