"""the arrays: coupling (x9), spring (x0, x3), drive (action[1]), coupling (x10), coupling (x3), drive (action[0], x5), spring (x2), coupling (x11), spring (x3), coupling (x12), drive (action[2], x4), spring (x4) and 28 further terms.

EMPIRICAL: no law explains this world; what follows is the best that was found, and may be wrong anywhere.

Verdict: unexplained; 25-step error 0.6 of the spread of motion on held-out stretches (90 % below 0.9); most is left of x1: 1.1 of its spread after 25 steps.
Held-out error (median, of each field's spread of change): 0.44 after 1, 0.55 after 5, 0.76 after 25 steps.
Found from a log by visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

X0_BY_X9 = 0.03550486576  # coupling: x9
X0_PULL_X3 = -0.0330710235  # spring: sin(x0 - x3)
X0_GAIN_2_UP = -0.0251345368  # drive: maximum(action[1], 0)
X1_BY_X10 = 0.03345807964  # coupling: x10
X1_BY_SIN_X3 = 0.09025900694  # coupling: sin(x3)
X1_GAIN_2 = -0.04564841212  # drive: action[1]
X2_GAIN_1_COS_X5 = 0.2938181598  # drive: action[0] * cos(x5)
X2_SPRING = -0.5061266741  # spring: x2
X2_BY_X11 = 0.01944522668  # coupling: x11
X3_GAIN_2 = 0.3515539689  # drive: action[1]
X3_SPRING = -0.6002337825  # spring: x3
X3_BY_X12 = 0.01397337724  # coupling: x12
X4_GAIN_3_COS_X4 = 0.3639319745  # drive: action[2] * cos(x4)
X4_SPRING = -0.6595195946  # spring: x4
X4_BY_X13 = 0.0163203977  # coupling: x13
X5_GAIN_4_COS_X5 = 0.3326456827  # drive: action[3] * cos(x5)
X5_SPRING_X14 = -0.0240981972  # spring: (x5 - x14)
X5_PULL_X6 = -0.3039787153  # spring: sin(x5 - x6)
X6_GAIN_5 = 0.2958342698  # drive: action[4]
X6_SPRING_X5 = -0.3134809849  # spring: (x6 - x5)
X6_SPRING_X15 = -0.01558342853  # spring: (x6 - x15)
X7_SPRING_X16 = -0.02495827272  # spring: (x7 - x16)
X7_GAIN_6 = 0.2590406935  # drive: action[5]
X7_SPRING_X6 = -0.3343158693  # spring: (x7 - x6)
X8_SPRING = -0.5841896861  # spring: x8
X8_PUSH = 0.2894416209  # field
X8_GAIN_1 = 0.4308429011  # drive: action[0]
X9_SPRING_X5 = -0.4924341994  # spring: (x9 - x5)
X9_BY_X3 = 0.9153438057  # coupling: x3
X9_GAIN_2 = -0.3741754568  # drive: action[1]
X10_SPRING_X6 = -0.5472618012  # spring: (x10 - x6)
X10_BY_SIN_X3 = 2.425540288  # coupling: sin(x3)
X10_GAIN_2 = -1.245317694  # drive: action[1]
X11_SPRING_X3 = -0.9490647204  # spring: (x11 - x3)
X11_GAIN_1 = 7.082618718  # drive: action[0]
X11_BY_X2 = -13.21984121  # coupling: x2
X12_SPRING_X2 = -1.09213179  # spring: (x12 - x2)
X12_GAIN_2 = 8.21  # drive: action[1]
X12_BY_SIN_X3 = -14.99391204  # coupling: sin(x3)
X13_SPRING_X2 = -1.053841152  # spring: (x13 - x2)
X13_GAIN_3 = 8.514797202  # drive: action[2]
X13_BY_X4 = -16.34781531  # coupling: x4
X14_SPRING_X6 = -0.9205672365  # spring: (x14 - x6)
X14_GAIN_4 = 8.115733319  # drive: action[3]
X14_BY_SIN_X5 = -9.157  # coupling: sin(x5)
X15_SPRING_X5 = -8.331897897  # spring: (x15 - x5)
X15_GAIN_5 = 7.319429194  # drive: action[4]
X15_SPRING_X6 = 7.257115428  # spring: (x15 - x6)
X16_SPRING_X6 = -0.8366335897  # spring: (x16 - x6)
X16_GAIN_6 = 6.96065634  # drive: action[5]
X16_BY_SIN_X7 = -11.55271397  # coupling: sin(x7)


class State(NamedTuple):
    x0: float
    x1: float
    x2: float
    x3: float
    x4: float
    x5: float
    x6: float
    x7: float
    x8: float
    x9: float
    x10: float
    x11: float
    x12: float
    x13: float
    x14: float
    x15: float
    x16: float


def step(state, action):
    """One step."""
    x0 = state.x0 + X0_BY_X9 * state.x9 + X0_PULL_X3 * np.sin(state.x0 - state.x3) + X0_GAIN_2_UP * np.maximum(action[1], 0)
    x1 = state.x1 + X1_BY_X10 * state.x10 + X1_BY_SIN_X3 * np.sin(state.x3) + X1_GAIN_2 * action[1]
    x2 = state.x2 + X2_GAIN_1_COS_X5 * action[0] * np.cos(state.x5) + X2_SPRING * state.x2 + X2_BY_X11 * state.x11
    x3 = state.x3 + X3_GAIN_2 * action[1] + X3_SPRING * state.x3 + X3_BY_X12 * state.x12
    x4 = state.x4 + X4_GAIN_3_COS_X4 * action[2] * np.cos(state.x4) + X4_SPRING * state.x4 + X4_BY_X13 * state.x13
    x5 = (
        state.x5
        + X5_GAIN_4_COS_X5 * action[3] * np.cos(state.x5)
        + X5_SPRING_X14 * (state.x5 - state.x14)
        + X5_PULL_X6 * np.sin(state.x5 - state.x6)
    )
    x6 = state.x6 + X6_GAIN_5 * action[4] + X6_SPRING_X5 * (state.x6 - state.x5) + X6_SPRING_X15 * (state.x6 - state.x15)
    x7 = state.x7 + X7_SPRING_X16 * (state.x7 - state.x16) + X7_GAIN_6 * action[5] + X7_SPRING_X6 * (state.x7 - state.x6)
    x8 = state.x8 + X8_SPRING * state.x8 + X8_PUSH + X8_GAIN_1 * action[0]
    x9 = state.x9 + X9_SPRING_X5 * (state.x9 - state.x5) + X9_BY_X3 * state.x3 + X9_GAIN_2 * action[1]
    x10 = state.x10 + X10_SPRING_X6 * (state.x10 - state.x6) + X10_BY_SIN_X3 * np.sin(state.x3) + X10_GAIN_2 * action[1]
    x11 = state.x11 + X11_SPRING_X3 * (state.x11 - state.x3) + X11_GAIN_1 * action[0] + X11_BY_X2 * state.x2
    x12 = state.x12 + X12_SPRING_X2 * (state.x12 - state.x2) + X12_GAIN_2 * action[1] + X12_BY_SIN_X3 * np.sin(state.x3)
    x13 = state.x13 + X13_SPRING_X2 * (state.x13 - state.x2) + X13_GAIN_3 * action[2] + X13_BY_X4 * state.x4
    x14 = state.x14 + X14_SPRING_X6 * (state.x14 - state.x6) + X14_GAIN_4 * action[3] + X14_BY_SIN_X5 * np.sin(state.x5)
    x15 = state.x15 + X15_SPRING_X5 * (state.x15 - state.x5) + X15_GAIN_5 * action[4] + X15_SPRING_X6 * (state.x15 - state.x6)
    x16 = state.x16 + X16_SPRING_X6 * (state.x16 - state.x6) + X16_GAIN_6 * action[5] + X16_BY_SIN_X7 * np.sin(state.x7)
    return state._replace(
        x0=x0, x1=x1, x2=x2, x3=x3, x4=x4, x5=x5, x6=x6, x7=x7, x8=x8, x9=x9, x10=x10, x11=x11, x12=x12, x13=x13, x14=x14, x15=x15, x16=x16,
    )


def reward(state, action, next_state):
    """What a step is worth."""
    return next_state.x8 - 0.326 * (next_state.x8 - state.x8) + 0.01 - 0.1 * action[3] ** 2 - 0.09 * np.abs(action[1]) + 0.3 * (next_state.x2 - state.x2) - 0.1 * action[4] ** 2 - 0.1 * action[0] ** 2 - 0.09 * action[2] ** 2 - 0.08 * action[5] ** 2 + 0.08 * (next_state.x5 - state.x5) - 0.05 * (next_state.x3 - state.x3) - 0.007 * next_state.x11 - 0.01 * state.x9 ** 2
