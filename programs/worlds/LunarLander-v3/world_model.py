"""LunarLander-v3: drive (action[0], x4), drive (action[0], x4_speed), field (x1_speed), drive (action[0]).

EMPIRICAL: no law explains this world; what follows is the best that was found, and may be wrong anywhere.

Verdict: unexplained; 25-step error 0.2 of the spread of motion on held-out stretches (90 % below 0.9); most is left of x1_speed: 1.2 of its spread after 25 steps.
Held-out error (median, of each field's spread of change): 0.028 after 1, 0.037 after 5, 0.099 after 25 steps.
Found from 1714 steps of the world by visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

DT = 0.04999953069  # s, one physics step
X0_GAIN_2_SIN_X4 = -1.786457472  # drive: (action[0] == 2) * sin(x4)
X0_GAIN_3_COS_X4 = 0.2005020944  # +- 0.02  drive: (action[0] == 3) * cos(x4)
X0_GAIN_1_COS_X4 = -0.2041350945  # +- 8e-05  drive: (action[0] == 1) * cos(x4)
X1_PUSH = -0.5333757947  # +- 6e-07  field
X4_GAIN_3 = -0.8065780292  # +- 0.0001  drive: (action[0] == 3)
X4_GAIN_1 = 0.821988692  # +- 0.002  drive: (action[0] == 1)
X0_SPEED_SEEN_FROM = -2.898  # x0_speed was not seen beyond
X0_SPEED_SEEN_TO = 3.83  # x0_speed was not seen beyond
X0_SEEN_FROM = -0.4333  # x0 was not seen beyond
X0_SEEN_TO = 1.146  # x0 was not seen beyond
X1_SPEED_SEEN_FROM = -2.261  # x1_speed was not seen beyond
X1_SPEED_SEEN_TO = 0.7811  # x1_speed was not seen beyond
X1_SEEN_FROM = -0.2465  # x1 was not seen beyond
X1_SEEN_TO = 1.902  # x1 was not seen beyond
X4_SPEED_SEEN_FROM = -8.347  # x4_speed was not seen beyond
X4_SPEED_SEEN_TO = 7.771  # x4_speed was not seen beyond
X4_SEEN_FROM = -5.539  # x4 was not seen beyond
X4_SEEN_TO = 4.115  # x4 was not seen beyond
X6_SEEN_FROM = -0.1  # x6 was not seen beyond
X6_SEEN_TO = 1.1  # x6 was not seen beyond
X7_SEEN_FROM = -0.1  # x7 was not seen beyond
X7_SEEN_TO = 1.1  # x7 was not seen beyond
END_1 = 4.8  # between 4.689065 and 4.94687
END_2 = 0.001  # between 4.975171e-07 and 0.001386805
END_3 = 1.0  # between 0.9816208 and 1.014671
END_4 = -2.2  # between -2.337395 and -2.070389


class State(NamedTuple):
    x0: float
    x1: float
    x4: float
    x6: float
    x7: float
    x0_speed: float
    x1_speed: float
    x4_speed: float


def step(state, action):
    """One step."""
    x0_speed = state.x0_speed + DT * (
        X0_GAIN_2_SIN_X4 * (action[0] == 2) * np.sin(state.x4)
        + X0_GAIN_3_COS_X4 * (action[0] == 3) * np.cos(state.x4)
        + X0_GAIN_1_COS_X4 * (action[0] == 1) * np.cos(state.x4)
    )
    x1_speed = state.x1_speed + DT * (X1_PUSH)
    x4_speed = state.x4_speed + DT * (X4_GAIN_3 * (action[0] == 3) + X4_GAIN_1 * (action[0] == 1))
    x6 = state.x6 + DT * (0.0)
    x7 = state.x7 + DT * (0.0)
    x0_speed = np.clip(x0_speed, X0_SPEED_SEEN_FROM, X0_SPEED_SEEN_TO)
    x1_speed = np.clip(x1_speed, X1_SPEED_SEEN_FROM, X1_SPEED_SEEN_TO)
    x4_speed = np.clip(x4_speed, X4_SPEED_SEEN_FROM, X4_SPEED_SEEN_TO)
    x6 = np.clip(x6, X6_SEEN_FROM, X6_SEEN_TO)
    x7 = np.clip(x7, X7_SEEN_FROM, X7_SEEN_TO)
    x0 = state.x0 + DT * (0.199177 * x0_speed)
    x1 = state.x1 + DT * (0.448183 * x1_speed)
    x4 = state.x4 + DT * x4_speed
    x0 = np.clip(x0, X0_SEEN_FROM, X0_SEEN_TO)
    x1 = np.clip(x1, X1_SEEN_FROM, X1_SEEN_TO)
    x4 = np.clip(x4, X4_SEEN_FROM, X4_SEEN_TO)
    return state._replace(x0=x0, x1=x1, x4=x4, x0_speed=x0_speed, x1_speed=x1_speed, x4_speed=x4_speed, x6=x6, x7=x7)


def observe(state):
    """What is seen of a state."""
    return (
        state.x0,  # x0
        state.x1,  # x1
        state.x0_speed,  # x2
        state.x1_speed,  # x3
        state.x4,  # x4
        state.x4_speed,  # x5
        state.x6,  # x6
        state.x7,  # x7
    )


def read(observation):
    """A state that gives this observation."""
    x0 = observation[0]
    x1 = observation[1]
    x4 = observation[4]
    x6 = observation[6]
    x7 = observation[7]
    x0_speed = observation[2]
    x1_speed = observation[3]
    x4_speed = observation[5]
    return State(x0=x0, x1=x1, x4=x4, x6=x6, x7=x7, x0_speed=x0_speed, x1_speed=x1_speed, x4_speed=x4_speed)


def terminated(state):
    """Whether the world comes to an end in this state."""
    return (np.abs(state.x4_speed) > END_1) | (np.abs(state.x4_speed) < END_2) | (state.x0 > END_3) | (state.x0_speed < END_4)


def reward(state, action, next_state):
    """What a step is worth."""
    return -110.0 * np.where(terminated(next_state), 1.0, 0.0) - 3.0 * state.x4_speed ** 2 + 40.0 * state.x7 + 0.5 * state.x4 ** 2 - 0.6 * np.where(action[0] == 3, 1.0, 0.0) - np.where(action[0] == 1, 1.0, 0.0) + 8.0 * state.x6 + 3.0 * state.x4_speed - 2.7 * state.x4 - 1.0 + state.x0_speed ** 2 + 0.6 * np.where(action[0] == 2, 1.0, 0.0)
