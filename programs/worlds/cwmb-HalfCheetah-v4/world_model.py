"""the arrays: coupling (x9), drive (action[1]), coupling (x10), coupling (x3), drive (action[0]), coupling (x11), spring (x2), spring (x3), coupling (x12), drive (action[2]), spring (x4), coupling (x2) and 22 further terms.

EMPIRICAL: no law explains this world; what follows is the best that was found, and may be wrong anywhere.

Verdict: unexplained; 25-step error 0.6 of the spread of motion on held-out stretches (90 % below 0.9); most is left of x0: 1.5 of its spread after 25 steps; plain motion predicts better: in the program x0 stands still, which leaves 0.5.
Held-out error (median, of each field's spread of change): 0.52 after 1, 0.53 after 5, 0.6 after 25 steps.
Found from a log by visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

X1_BY_X10 = 0.03546504386  # coupling: x10
X1_BY_SIN_X3 = 0.09857635367  # coupling: sin(x3)
X1_GAIN_2 = -0.04297081358  # drive: action[1]
X2_GAIN_1 = 0.2711658735  # drive: action[0]
X2_BY_X11 = 0.02036468864  # coupling: x11
X2_SPRING = -0.4853303145  # spring: x2
X3_SPRING = -0.5902743371  # spring: x3
X3_GAIN_2 = 0.3481110155  # drive: action[1]
X3_BY_X12 = 0.01375776109  # coupling: x12
X4_GAIN_3 = 0.3683127544  # drive: action[2]
X4_SPRING = -0.5568070674  # spring: x4
X4_BY_SIN_X2 = 0.1980830275  # coupling: sin(x2)
X5_SPRING = -0.2881754377  # spring: x5
X5_GAIN_4 = 0.3480435109  # drive: action[3]
X5_BY_X9 = -0.05021583281  # coupling: x9
X6_SPRING_X5 = -0.3233938775  # spring: (x6 - x5)
X6_GAIN_5 = 0.302589709  # drive: action[4]
X6_GAIN_4 = -0.1339043022  # drive: action[3]
X7_SPRING_X5 = -0.1677907697  # spring: (x7 - x5)
X7_GAIN_6 = 0.2642335146  # drive: action[5]
X7_SPRING_X6 = -0.2167053933  # spring: (x7 - x6)
X8_BY_SIN_X2 = -1.092858677  # coupling: sin(x2)
X8_SPRING = -0.4573729252  # spring: x8
X8_PUSH = 0.2550345711  # field
X9_SPRING_X5 = -0.503  # spring: (x9 - x5)
X9_BY_X3 = 0.8985  # coupling: x3
X9_GAIN_2 = -0.3830429496  # drive: action[1]
X10_SPRING_X6 = -0.486932877  # spring: (x10 - x6)
X10_BY_SIN_X3 = 2.655692433  # coupling: sin(x3)
X10_GAIN_2 = -1.140803551  # drive: action[1]
X11_SPRING_X3 = -0.9343782226  # spring: (x11 - x3)
X11_GAIN_1 = 6.850846898  # drive: action[0]
X11_BY_SIN_X2 = -12.98063403  # coupling: sin(x2)
X12_SPRING_X2 = -1.086893399  # spring: (x12 - x2)
X12_GAIN_2 = 8.124229643  # drive: action[1]
X12_BY_X3 = -14.33476234  # coupling: x3
X13_SPRING_X2 = -1.055296669  # spring: (x13 - x2)
X13_GAIN_3 = 8.440654753  # drive: action[2]
X13_BY_SIN_X4 = -16.59576415  # coupling: sin(x4)
X14_SPRING_X6 = -0.9107  # spring: (x14 - x6)
X14_GAIN_4 = 8.016  # drive: action[3]
X14_BY_X5 = -9.449669924  # coupling: x5
X15_SPRING_X5 = -1.002101255  # spring: (x15 - x5)
X15_GAIN_5 = 6.877217289  # drive: action[4]
X15_BY_X6 = -10.2004069  # coupling: x6
X16_SPRING_X6 = -0.8204530377  # spring: (x16 - x6)
X16_GAIN_6 = 7.022346567  # drive: action[5]
X16_BY_SIN_X7 = -11.62592308  # coupling: sin(x7)
X1_SEEN_FROM = -0.6381  # x1 was not seen beyond
X1_SEEN_TO = 3.852  # x1 was not seen beyond
X2_SEEN_FROM = -0.6931  # x2 was not seen beyond
X2_SEEN_TO = 0.7641  # x2 was not seen beyond
X3_SEEN_FROM = -0.7848  # x3 was not seen beyond
X3_SEEN_TO = 0.7812  # x3 was not seen beyond
X4_SEEN_FROM = -0.5891  # x4 was not seen beyond
X4_SEEN_TO = 0.7017  # x4 was not seen beyond
X5_SEEN_FROM = -1.027  # x5 was not seen beyond
X5_SEEN_TO = 0.9204  # x5 was not seen beyond
X6_SEEN_FROM = -0.9324  # x6 was not seen beyond
X6_SEEN_TO = 0.934  # x6 was not seen beyond
X7_SEEN_FROM = -0.6928  # x7 was not seen beyond
X7_SEEN_TO = 0.6924  # x7 was not seen beyond
X8_SEEN_FROM = -1.854  # x8 was not seen beyond
X8_SEEN_TO = 3.061  # x8 was not seen beyond
X9_SEEN_FROM = -3.7  # x9 was not seen beyond
X9_SEEN_TO = 2.512  # x9 was not seen beyond
X10_SEEN_FROM = -4.737  # x10 was not seen beyond
X10_SEEN_TO = 6.478  # x10 was not seen beyond
X11_SEEN_FROM = -15.33  # x11 was not seen beyond
X11_SEEN_TO = 15.06  # x11 was not seen beyond
X12_SEEN_FROM = -20.64  # x12 was not seen beyond
X12_SEEN_TO = 17.92  # x12 was not seen beyond
X13_SEEN_FROM = -17.71  # x13 was not seen beyond
X13_SEEN_TO = 17.75  # x13 was not seen beyond
X14_SEEN_FROM = -21.32  # x14 was not seen beyond
X14_SEEN_TO = 19.04  # x14 was not seen beyond
X15_SEEN_FROM = -18.88  # x15 was not seen beyond
X15_SEEN_TO = 21.6  # x15 was not seen beyond
X16_SEEN_FROM = -19.18  # x16 was not seen beyond
X16_SEEN_TO = 17.56  # x16 was not seen beyond


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
    x1 = state.x1 + X1_BY_X10 * state.x10 + X1_BY_SIN_X3 * np.sin(state.x3) + X1_GAIN_2 * action[1]
    x2 = state.x2 + X2_GAIN_1 * action[0] + X2_BY_X11 * state.x11 + X2_SPRING * state.x2
    x3 = state.x3 + X3_SPRING * state.x3 + X3_GAIN_2 * action[1] + X3_BY_X12 * state.x12
    x4 = state.x4 + X4_GAIN_3 * action[2] + X4_SPRING * state.x4 + X4_BY_SIN_X2 * np.sin(state.x2)
    x5 = state.x5 + X5_SPRING * state.x5 + X5_GAIN_4 * action[3] + X5_BY_X9 * state.x9
    x6 = state.x6 + X6_SPRING_X5 * (state.x6 - state.x5) + X6_GAIN_5 * action[4] + X6_GAIN_4 * action[3]
    x7 = state.x7 + X7_SPRING_X5 * (state.x7 - state.x5) + X7_GAIN_6 * action[5] + X7_SPRING_X6 * (state.x7 - state.x6)
    x8 = state.x8 + X8_BY_SIN_X2 * np.sin(state.x2) + X8_SPRING * state.x8 + X8_PUSH
    x9 = state.x9 + X9_SPRING_X5 * (state.x9 - state.x5) + X9_BY_X3 * state.x3 + X9_GAIN_2 * action[1]
    x10 = state.x10 + X10_SPRING_X6 * (state.x10 - state.x6) + X10_BY_SIN_X3 * np.sin(state.x3) + X10_GAIN_2 * action[1]
    x11 = state.x11 + X11_SPRING_X3 * (state.x11 - state.x3) + X11_GAIN_1 * action[0] + X11_BY_SIN_X2 * np.sin(state.x2)
    x12 = state.x12 + X12_SPRING_X2 * (state.x12 - state.x2) + X12_GAIN_2 * action[1] + X12_BY_X3 * state.x3
    x13 = state.x13 + X13_SPRING_X2 * (state.x13 - state.x2) + X13_GAIN_3 * action[2] + X13_BY_SIN_X4 * np.sin(state.x4)
    x14 = state.x14 + X14_SPRING_X6 * (state.x14 - state.x6) + X14_GAIN_4 * action[3] + X14_BY_X5 * state.x5
    x15 = state.x15 + X15_SPRING_X5 * (state.x15 - state.x5) + X15_GAIN_5 * action[4] + X15_BY_X6 * state.x6
    x16 = state.x16 + X16_SPRING_X6 * (state.x16 - state.x6) + X16_GAIN_6 * action[5] + X16_BY_SIN_X7 * np.sin(state.x7)
    x1 = np.clip(x1, X1_SEEN_FROM, X1_SEEN_TO)
    x2 = np.clip(x2, X2_SEEN_FROM, X2_SEEN_TO)
    x3 = np.clip(x3, X3_SEEN_FROM, X3_SEEN_TO)
    x4 = np.clip(x4, X4_SEEN_FROM, X4_SEEN_TO)
    x5 = np.clip(x5, X5_SEEN_FROM, X5_SEEN_TO)
    x6 = np.clip(x6, X6_SEEN_FROM, X6_SEEN_TO)
    x7 = np.clip(x7, X7_SEEN_FROM, X7_SEEN_TO)
    x8 = np.clip(x8, X8_SEEN_FROM, X8_SEEN_TO)
    x9 = np.clip(x9, X9_SEEN_FROM, X9_SEEN_TO)
    x10 = np.clip(x10, X10_SEEN_FROM, X10_SEEN_TO)
    x11 = np.clip(x11, X11_SEEN_FROM, X11_SEEN_TO)
    x12 = np.clip(x12, X12_SEEN_FROM, X12_SEEN_TO)
    x13 = np.clip(x13, X13_SEEN_FROM, X13_SEEN_TO)
    x14 = np.clip(x14, X14_SEEN_FROM, X14_SEEN_TO)
    x15 = np.clip(x15, X15_SEEN_FROM, X15_SEEN_TO)
    x16 = np.clip(x16, X16_SEEN_FROM, X16_SEEN_TO)
    return state._replace(
        x1=x1, x2=x2, x3=x3, x4=x4, x5=x5, x6=x6, x7=x7, x8=x8, x9=x9, x10=x10, x11=x11, x12=x12, x13=x13, x14=x14, x15=x15, x16=x16,
    )


def reward(state, action, next_state):
    """What a step is worth."""
    return next_state.x8 - 0.35 * (next_state.x8 - state.x8) + 0.02 - 0.11 * action[3] ** 2 - 0.1 * np.abs(action[1]) + 0.2 * (next_state.x2 - state.x2) - 0.1 * action[4] ** 2 - 0.1 * action[0] ** 2 - 0.1 * action[2] ** 2 - 0.09 * action[5] ** 2 + 0.03 * state.x1 * (next_state.x8 - state.x8) + 0.1 * (next_state.x5 - state.x5) - 0.08 * state.x1 * (next_state.x5 - state.x5) - 0.003 * next_state.x12
