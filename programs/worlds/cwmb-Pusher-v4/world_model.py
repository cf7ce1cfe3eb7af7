"""the arrays: drive (action[0]), drive (action[3]), drive (action[2]), drive (action[1]), viscous (x2_speed), spring (x2), damper (x3_speed, x14_speed), drive (action[4]), viscous (x4_speed), drive (action[6]), viscous (x6_speed), damper (x14_speed, x3_speed) and 6 further terms.

EMPIRICAL: no law explains this world; what follows is the best that was found, and may be wrong anywhere.

Verdict: unexplained; 25-step error 1 of the spread of motion on held-out stretches (90 % below 2); most is left of x5: 2.7 of its spread after 25 steps; plain motion predicts better: in the program x5 stands still and x1_speed, x15_speed stay the same, which leaves 0.9.
Held-out error (median, of each field's spread of change): 0.46 after 1, 0.54 after 5, 0.87 after 25 steps.
Found from a log by visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

DT = 0.05  # s, one physics step
X0_GAIN_1 = 1.337982444  # drive: action[0]
X0_GAIN_4 = 0.8492496058  # drive: action[3]
X0_GAIN_3 = 0.746  # drive: action[2]
X2_DRAG = -2.195126534  # viscous: x2_speed
X2_GAIN_3 = 15.94128394  # drive: action[2]
X2_HARD = -0.7069127656  # spring: x2 ** 3
X3_GAIN_4 = 12.46800102  # drive: action[3]
X3_DAMPER_X14 = -1.881571175  # damper: (x3_speed - x14_speed)
X3_GAIN_2 = -1.325745545  # drive: action[1]
X4_GAIN_5 = 22.07263871  # drive: action[4]
X4_DRAG = -2.22669984  # viscous: x4_speed
X4_GAIN_7 = -0.5466219575  # drive: action[6]
X6_DRAG = -2.240229906  # viscous: x6_speed
X6_GAIN_7 = 22.56449885  # drive: action[6]
X6_GAIN_5 = -0.4880692448  # drive: action[4]
X14_DAMPER_X3 = -0.6664892565  # damper: (x14_speed - x3_speed)
X14_GAIN_4 = 0.7988282788  # drive: action[3]
X14_DRAG = -2.162026985  # viscous: x14_speed
X16_DRAG_SQUARE = -6.451717706  # quadratic: abs(x16_speed) * x16_speed
X16_GAIN_3 = 0.4000580203  # drive: action[2]
X17_BY_X5 = -1.57e-07  # coupling: x5
X0_SPEED_SEEN_FROM = -0.5984  # x0_speed was not seen beyond
X0_SPEED_SEEN_TO = 0.8175  # x0_speed was not seen beyond
X0_SEEN_FROM = -0.2045  # x0 was not seen beyond
X0_SEEN_TO = 1.226  # x0 was not seen beyond
X1_SEEN_FROM = -0.1131  # x1 was not seen beyond
X1_SEEN_TO = 0.7484  # x1 was not seen beyond
X2_SPEED_SEEN_FROM = -4.548  # x2_speed was not seen beyond
X2_SPEED_SEEN_TO = 5.349  # x2_speed was not seen beyond
X2_SEEN_FROM = -1.791  # x2 was not seen beyond
X2_SEEN_TO = 1.55  # x2 was not seen beyond
X3_SPEED_SEEN_FROM = -5.303  # x3_speed was not seen beyond
X3_SPEED_SEEN_TO = 3.208  # x3_speed was not seen beyond
X3_SEEN_FROM = -2.561  # x3 was not seen beyond
X3_SEEN_TO = 0.2425  # x3 was not seen beyond
X4_SPEED_SEEN_FROM = -5.133  # x4_speed was not seen beyond
X4_SPEED_SEEN_TO = 5.225  # x4_speed was not seen beyond
X4_SEEN_FROM = -1.815  # x4 was not seen beyond
X4_SEEN_TO = 1.836  # x4 was not seen beyond
X6_SPEED_SEEN_FROM = -5.584  # x6_speed was not seen beyond
X6_SPEED_SEEN_TO = 6.272  # x6_speed was not seen beyond
X6_SEEN_FROM = -1.834  # x6 was not seen beyond
X6_SEEN_TO = 1.83  # x6 was not seen beyond
X14_SPEED_SEEN_FROM = -0.9494  # x14_speed was not seen beyond
X14_SPEED_SEEN_TO = 0.5913  # x14_speed was not seen beyond
X14_SEEN_FROM = 0.06139  # x14 was not seen beyond
X14_SEEN_TO = 0.8901  # x14 was not seen beyond
X15_SEEN_FROM = -0.7674  # x15 was not seen beyond
X15_SEEN_TO = 0.2166  # x15 was not seen beyond
X16_SPEED_SEEN_FROM = -0.9108  # x16_speed was not seen beyond
X16_SPEED_SEEN_TO = 0.7104  # x16_speed was not seen beyond
X16_SEEN_FROM = -0.3442  # x16 was not seen beyond
X16_SEEN_TO = 0.2191  # x16 was not seen beyond
X17_SEEN_FROM = 0.2166  # x17 was not seen beyond
X17_SEEN_TO = 0.6181  # x17 was not seen beyond
X18_SEEN_FROM = -0.363  # x18 was not seen beyond
X18_SEEN_TO = -0.02155  # x18 was not seen beyond


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
    x14_speed: float
    x15_speed: float
    x16_speed: float


def step(state, action):
    """One step."""
    x0_speed = state.x0_speed + DT * (X0_GAIN_1 * action[0] + X0_GAIN_4 * action[3] + X0_GAIN_3 * action[2])
    x1_speed = state.x1_speed + DT * (0.0)
    x2_speed = state.x2_speed + DT * (X2_DRAG * state.x2_speed + X2_GAIN_3 * action[2] + X2_HARD * state.x2 ** 3)
    x3_speed = state.x3_speed + DT * (X3_GAIN_4 * action[3] + X3_DAMPER_X14 * (state.x3_speed - state.x14_speed) + X3_GAIN_2 * action[1])
    x4_speed = state.x4_speed + DT * (X4_GAIN_5 * action[4] + X4_DRAG * state.x4_speed + X4_GAIN_7 * action[6])
    x6_speed = state.x6_speed + DT * (X6_DRAG * state.x6_speed + X6_GAIN_7 * action[6] + X6_GAIN_5 * action[4])
    x14_speed = state.x14_speed + DT * (
        X14_DAMPER_X3 * (state.x14_speed - state.x3_speed)
        + X14_GAIN_4 * action[3]
        + X14_DRAG * state.x14_speed
    )
    x15_speed = state.x15_speed + DT * (0.0)
    x16_speed = state.x16_speed + DT * (X16_DRAG_SQUARE * np.abs(state.x16_speed) * state.x16_speed + X16_GAIN_3 * action[2])
    x17 = state.x17 + DT * (X17_BY_X5 * state.x5)
    x18 = state.x18 + DT * (0.0)
    x0_speed = np.clip(x0_speed, X0_SPEED_SEEN_FROM, X0_SPEED_SEEN_TO)
    x2_speed = np.clip(x2_speed, X2_SPEED_SEEN_FROM, X2_SPEED_SEEN_TO)
    x3_speed = np.clip(x3_speed, X3_SPEED_SEEN_FROM, X3_SPEED_SEEN_TO)
    x4_speed = np.clip(x4_speed, X4_SPEED_SEEN_FROM, X4_SPEED_SEEN_TO)
    x6_speed = np.clip(x6_speed, X6_SPEED_SEEN_FROM, X6_SPEED_SEEN_TO)
    x14_speed = np.clip(x14_speed, X14_SPEED_SEEN_FROM, X14_SPEED_SEEN_TO)
    x16_speed = np.clip(x16_speed, X16_SPEED_SEEN_FROM, X16_SPEED_SEEN_TO)
    x17 = np.clip(x17, X17_SEEN_FROM, X17_SEEN_TO)
    x18 = np.clip(x18, X18_SEEN_FROM, X18_SEEN_TO)
    x0 = state.x0 + DT * x0_speed
    x1 = state.x1 + DT * x1_speed
    x2 = state.x2 + DT * x2_speed
    x3 = state.x3 + DT * x3_speed
    x4 = state.x4 + DT * x4_speed
    x6 = state.x6 + DT * x6_speed
    x14 = state.x14 + DT * x14_speed
    x15 = state.x15 + DT * x15_speed
    x16 = state.x16 + DT * x16_speed
    x0 = np.clip(x0, X0_SEEN_FROM, X0_SEEN_TO)
    x1 = np.clip(x1, X1_SEEN_FROM, X1_SEEN_TO)
    x2 = np.clip(x2, X2_SEEN_FROM, X2_SEEN_TO)
    x3 = np.clip(x3, X3_SEEN_FROM, X3_SEEN_TO)
    x4 = np.clip(x4, X4_SEEN_FROM, X4_SEEN_TO)
    x6 = np.clip(x6, X6_SEEN_FROM, X6_SEEN_TO)
    x14 = np.clip(x14, X14_SEEN_FROM, X14_SEEN_TO)
    x15 = np.clip(x15, X15_SEEN_FROM, X15_SEEN_TO)
    x16 = np.clip(x16, X16_SEEN_FROM, X16_SEEN_TO)
    return state._replace(
        x0=x0, x1=x1, x2=x2, x3=x3, x4=x4, x6=x6, x14=x14, x15=x15, x16=x16, x0_speed=x0_speed, x1_speed=x1_speed, x2_speed=x2_speed,
        x3_speed=x3_speed, x4_speed=x4_speed, x6_speed=x6_speed, x14_speed=x14_speed, x15_speed=x15_speed, x16_speed=x16_speed, x17=x17,
        x18=x18,
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
    x14_speed = 0.0  # not observed
    x15_speed = 0.0  # not observed
    x16_speed = 0.0  # not observed
    return State(x0=x0, x1=x1, x2=x2, x3=x3, x4=x4, x5=x5, x6=x6, x14=x14, x15=x15, x16=x16, x17=x17, x18=x18, x0_speed=x0_speed, x1_speed=x1_speed, x2_speed=x2_speed, x3_speed=x3_speed, x4_speed=x4_speed, x5_speed=x5_speed, x6_speed=x6_speed, x14_speed=x14_speed, x15_speed=x15_speed, x16_speed=x16_speed)


def reward(state, action, next_state):
    """What a step is worth."""
    return 0.56 * state.x15 * state.x14 - 0.132 - 0.101 * action[1] ** 2 - 0.1 * action[0] ** 2 - 0.103 * action[2] ** 2 - 0.101 * action[6] ** 2 - 0.1 * action[3] ** 2 - 0.1 * action[5] ** 2 - 0.9 * state.x16 * state.x14 - 0.1 * action[4] ** 2 - 0.101 * state.x0 ** 2 - 0.5 * state.x16 * state.x15 - 0.01 * state.x3 ** 2 + 0.01 * state.x14 * state.x4
