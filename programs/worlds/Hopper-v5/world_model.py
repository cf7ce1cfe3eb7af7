"""Hopper-v5: regional (x0), dead zone (action[2], x5), coupling (x0, x3), drive (action[1], x3), spring (x0, x5), coupling (x4_speed), drive (action[0]), saturation (action[0], x2), drive (action[1]), drive (action[1], x4_speed), drive (action[0], x3), drive (action[1], x1), regional (x1), saturation (action[0]), regional (x2), damper (x2_speed, x0_speed), coupling (x2_speed, x2_speed), quadratic (x2_speed), saturation (action[1], x1), regional (x3), soft stop (x3), saturation (action[2], x4), drive (action[2]), viscous (x3_speed), drive (action[2], x4), regional (x4), quadratic (x4_speed), soft stop (x4), field (x4), drive (action[2], x0), drive (action[2], x3), drive (action[1], x4), drive (action[0], x5), drive (action[2], x4_speed), spring (x5, x4), drive (action[2], x1_speed), drive (action[1], x2), drive (action[1], x1_speed).

EMPIRICAL: no law explains this world; what follows is the best sum of terms, and may be wrong anywhere.

Verdict: unexplained; 16-step error 2 of the spread of motion on held-out stretches (90 % below 1e+01); most is left of x1_speed: 31 of its spread after 16 steps.
Held-out error (median, of each field's spread of change): 0.72 after 1, 0.86 after 5, 0.29 after 25 steps.
Found from 1828 steps of the world by visualpatchworld 0.1.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

DT = 0.008  # s, one physics step
X0_EDGE = 1.232710604  # of regional
X0_PUSH_BEYOND = -9.409146874  # +- 0.02  regional: (x0 > EDGE)
X0_GAIN_3_DEAD = 1.473350709  # +- 0  of dead zone
X0_GAIN_3_SIN_X5 = -62962.92762  # +- 0  dead zone: (action[2] - clip(action[2], -GAIN_3_DEAD, GAIN_3_DEAD)) * sin(x5)
X0_COS_X0_X3 = 15.64444024  # +- 0.2  coupling: cos(x0 - x3)
X0_GAIN_2_X3 = -397.7096605  # +- 5  drive: action[1] * x3
X0_SPRING_X5 = -4.411177912  # +- 0.05  spring: (x0 - x5)
X0_BY_X4_SPEED = 1.233852784  # +- 0.007  coupling: x4_speed
X1_GAIN_1_DOWN = 145.9334908  # +- 6e+01  drive: minimum(action[0], 0)
X1_GAIN_1_TOP = 1.325731023  # +- 0.0001  of saturation
X1_GAIN_1_UP_SIN_X2 = -12499.35694  # +- 1e+04  saturation: clip(action[0], 0, GAIN_1_TOP) * sin(x2)
X1_GAIN_2_DOWN = 29.68162693  # +- 9e+01  drive: minimum(action[1], 0)
X1_GAIN_2_X4_SPEED = -167.1482541  # +- 3e+01  drive: action[1] * x4_speed
X1_GAIN_1_X3 = 36.81377611  # +- 3e+02  drive: action[0] * x3
X1_GAIN_2_SIN_X1 = 326.7469693  # +- 5e+02  drive: action[1] * sin(x1)
X1_EDGE = -0.1032333029  # of regional
X1_DRAG_BEYOND = 5.084  # +- 0.02  regional: (x1 > EDGE) * x1_speed
X2_GAIN_1_TOP = 0.721570853  # +- 0.04  of saturation
X2_GAIN_1 = 164.8567994  # +- 7  saturation: clip(action[0], -GAIN_1_TOP, GAIN_1_TOP)
X2_GAIN_1_SQUARE = -8.309  # +- 1e+01  drive: action[0] ** 2
X2_EDGE = 0.003437597902  # of regional
X2_PUSH_BEYOND = -75.68  # +- 0.0002  regional: (x2 > EDGE)
X2_EDGE_2 = 0.0005950780944  # of regional
X2_GAIN_1_BEYOND = -93.20494171  # +- 0  regional: (x2 > EDGE) * action[0]
X2_EDGE_3 = 0.007364448371  # of regional
X2_DRAG_BEYOND = -105.9541482  # +- 0  regional: (x2 > EDGE) * x2_speed
X2_DAMPER_X0 = -0.006219675101  # +- 0.03  damper: (x2_speed - x0_speed)
X2_X2_SPEED_SQUARE = -2.758580818  # +- 3e+02  coupling: x2_speed ** 2
X2_GAIN_2_SIN_X3 = 370.8  # +- 3e+01  drive: action[1] * sin(x3)
X2_DRAG_SQUARE = -1.773476476  # +- 3e+02  quadratic: abs(x2_speed) * x2_speed
X3_GAIN_2_TOP = 0.7590514464  # +- 3e-09  of saturation
X3_GAIN_2_COS_X1 = 175.1289849  # +- 1  saturation: clip(action[1], -GAIN_2_TOP, GAIN_2_TOP) * cos(x1)
X3_GAIN_2_SQUARE = 167.9376939  # +- 6  drive: action[1] ** 2
X3_EDGE = -0.0005412683842  # of regional
X3_GAIN_2_BEYOND = -92.30125525  # +- 7e-08  regional: (x3 > EDGE) * action[1]
X3_HIGH_EDGE = -0.0005371712865  # +- 1e-05  of soft stop
X3_STOP_HIGH = -2688.175181  # +- 3e+01  soft stop: maximum(x3 - HIGH_EDGE, 0)
X3_GAIN_1_SIN_X3 = 103.228627  # +- 2  drive: action[0] * sin(x3)
X3_GAIN_3_TOP = 0.6146298811  # +- 0.05  of saturation
X3_GAIN_3_UP_COS_X4 = -90.95738416  # +- 8  saturation: clip(action[2], 0, GAIN_3_TOP) * cos(x4)
X3_GAIN_3_UP = 41.56115493  # +- 1e+01  drive: maximum(action[2], 0)
X3_DRAG = -0.9953  # +- 0.01  viscous: x3_speed
X4_GAIN_3_COS_X4 = 374.6309977  # +- 9e+03  drive: action[2] * cos(x4)
X4_EDGE = 0.7697825802  # of regional
X4_GAIN_3_BEYOND = -244.4940746  # +- 6e-09  regional: (x4 > EDGE) * action[2]
X4_DRAG_SQUARE = -0.4869938977  # +- 0.003  quadratic: abs(x4_speed) * x4_speed
X4_EDGE_2 = 0.7683659999  # of regional
X4_DRAG_BEYOND = -0.4081  # +- 0.06  regional: (x4 > EDGE) * x4_speed
X4_LOW_EDGE = -0.04792491307  # +- 0  of soft stop
X4_STOP_LOW = 22.57216946  # +- 3e-11  soft stop: minimum(x4 - LOW_EDGE, 0)
X4_WAVE = -11.77492226  # +- 0.08  of field
X4_WAVE_SIN = 0.4737622265  # +- 0.1  field: sin(WAVE * x4)
X4_GAIN_3_X0 = 1040.014611  # +- 1e+04  drive: action[2] * x0
X4_GAIN_3 = -1499.836015  # +- 9e+03  drive: action[2]
X4_GAIN_3_SIN_X3 = -305.0913806  # +- 3e+03  drive: action[2] * sin(x3)
X5_GAIN_2_X4_SPEED = -9.033  # +- 8  drive: action[1] * x4_speed
X5_GAIN_2_SIN_X4 = 70.43874056  # +- 2e+02  drive: action[1] * sin(x4)
X5_GAIN_1_COS_X5 = 6.986627438  # +- 2  drive: action[0] * cos(x5)
X5_GAIN_3_X4_SPEED = -4.449545584  # +- 3  drive: action[2] * x4_speed
X5_SPRING_X4 = 1.808026626  # +- 0.009  spring: (x5 - x4)
X5_GAIN_3_COS_X0 = 14.08516376  # +- 4e+01  drive: action[2] * cos(x0)
X5_GAIN_3_X1_SPEED = 1.022660346  # +- 5  drive: action[2] * x1_speed
X5_GAIN_2_SIN_X2 = 5.700467906  # +- 4e+02  drive: action[1] * sin(x2)
X5_GAIN_2_X1_SPEED = 0.8647  # +- 2e+01  drive: action[1] * x1_speed
END_1 = 0.2  # between 0.1999998 and 0.2
END_2 = 0.7  # between 0.6999982 and 0.7000005


class State(NamedTuple):
    x0: float
    x1: float
    x2: float
    x3: float
    x4: float
    x5: float
    x0_speed: float
    x1_speed: float
    x2_speed: float
    x3_speed: float
    x4_speed: float


def rates(state, action):
    """How fast each field changes."""
    return (state.x0_speed, state.x1_speed, state.x2_speed, state.x3_speed, state.x4_speed, X0_PUSH_BEYOND * (state.x0 > X0_EDGE) + X0_GAIN_3_SIN_X5 * (action[2] - np.clip(action[2], -X0_GAIN_3_DEAD, X0_GAIN_3_DEAD)) * np.sin(state.x5) + X0_COS_X0_X3 * np.cos(state.x0 - state.x3) + X0_GAIN_2_X3 * action[1] * state.x3 + X0_SPRING_X5 * (state.x0 - state.x5) + X0_BY_X4_SPEED * state.x4_speed, X1_GAIN_1_DOWN * np.minimum(action[0], 0) + X1_GAIN_1_UP_SIN_X2 * np.clip(action[0], 0, X1_GAIN_1_TOP) * np.sin(state.x2) + X1_GAIN_2_DOWN * np.minimum(action[1], 0) + X1_GAIN_2_X4_SPEED * action[1] * state.x4_speed + X1_GAIN_1_X3 * action[0] * state.x3 + X1_GAIN_2_SIN_X1 * action[1] * np.sin(state.x1) + X1_DRAG_BEYOND * (state.x1 > X1_EDGE) * state.x1_speed, X2_GAIN_1 * np.clip(action[0], -X2_GAIN_1_TOP, X2_GAIN_1_TOP) + X2_GAIN_1_SQUARE * action[0] ** 2 + X2_PUSH_BEYOND * (state.x2 > X2_EDGE) + X2_GAIN_1_BEYOND * (state.x2 > X2_EDGE_2) * action[0] + X2_DRAG_BEYOND * (state.x2 > X2_EDGE_3) * state.x2_speed + X2_DAMPER_X0 * (state.x2_speed - state.x0_speed) + X2_X2_SPEED_SQUARE * state.x2_speed ** 2 + X2_GAIN_2_SIN_X3 * action[1] * np.sin(state.x3) + X2_DRAG_SQUARE * np.abs(state.x2_speed) * state.x2_speed, X3_GAIN_2_COS_X1 * np.clip(action[1], -X3_GAIN_2_TOP, X3_GAIN_2_TOP) * np.cos(state.x1) + X3_GAIN_2_SQUARE * action[1] ** 2 + X3_GAIN_2_BEYOND * (state.x3 > X3_EDGE) * action[1] + X3_STOP_HIGH * np.maximum(state.x3 - X3_HIGH_EDGE, 0) + X3_GAIN_1_SIN_X3 * action[0] * np.sin(state.x3) + X3_GAIN_3_UP_COS_X4 * np.clip(action[2], 0, X3_GAIN_3_TOP) * np.cos(state.x4) + X3_GAIN_3_UP * np.maximum(action[2], 0) + X3_DRAG * state.x3_speed, X4_GAIN_3_COS_X4 * action[2] * np.cos(state.x4) + X4_GAIN_3_BEYOND * (state.x4 > X4_EDGE) * action[2] + X4_DRAG_SQUARE * np.abs(state.x4_speed) * state.x4_speed + X4_DRAG_BEYOND * (state.x4 > X4_EDGE_2) * state.x4_speed + X4_STOP_LOW * np.minimum(state.x4 - X4_LOW_EDGE, 0) + X4_WAVE_SIN * np.sin(X4_WAVE * state.x4) + X4_GAIN_3_X0 * action[2] * state.x0 + X4_GAIN_3 * action[2] + X4_GAIN_3_SIN_X3 * action[2] * np.sin(state.x3), X5_GAIN_2_X4_SPEED * action[1] * state.x4_speed + X5_GAIN_2_SIN_X4 * action[1] * np.sin(state.x4) + X5_GAIN_1_COS_X5 * action[0] * np.cos(state.x5) + X5_GAIN_3_X4_SPEED * action[2] * state.x4_speed + X5_SPRING_X4 * (state.x5 - state.x4) + X5_GAIN_3_COS_X0 * action[2] * np.cos(state.x0) + X5_GAIN_3_X1_SPEED * action[2] * state.x1_speed + X5_GAIN_2_SIN_X2 * action[1] * np.sin(state.x2) + X5_GAIN_2_X1_SPEED * action[1] * state.x1_speed,)


def nudged(state, slope, time):
    """The state after a time of even change."""
    return state._replace(x0=state.x0 + time * slope[0], x1=state.x1 + time * slope[1], x2=state.x2 + time * slope[2], x3=state.x3 + time * slope[3], x4=state.x4 + time * slope[4], x0_speed=state.x0_speed + time * slope[5], x1_speed=state.x1_speed + time * slope[6], x2_speed=state.x2_speed + time * slope[7], x3_speed=state.x3_speed + time * slope[8], x4_speed=state.x4_speed + time * slope[9], x5=state.x5 + time * slope[10])


def step(state, action):
    """One step."""
    k1 = rates(state, action)
    k2 = rates(nudged(state, k1, DT / 2), action)
    k3 = rates(nudged(state, k2, DT / 2), action)
    k4 = rates(nudged(state, k3, DT), action)
    x0 = state.x0 + DT / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
    x1 = state.x1 + DT / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])
    x2 = state.x2 + DT / 6 * (k1[2] + 2 * k2[2] + 2 * k3[2] + k4[2])
    x3 = state.x3 + DT / 6 * (k1[3] + 2 * k2[3] + 2 * k3[3] + k4[3])
    x4 = state.x4 + DT / 6 * (k1[4] + 2 * k2[4] + 2 * k3[4] + k4[4])
    x0_speed = state.x0_speed + DT / 6 * (k1[5] + 2 * k2[5] + 2 * k3[5] + k4[5])
    x1_speed = state.x1_speed + DT / 6 * (k1[6] + 2 * k2[6] + 2 * k3[6] + k4[6])
    x2_speed = state.x2_speed + DT / 6 * (k1[7] + 2 * k2[7] + 2 * k3[7] + k4[7])
    x3_speed = state.x3_speed + DT / 6 * (k1[8] + 2 * k2[8] + 2 * k3[8] + k4[8])
    x4_speed = state.x4_speed + DT / 6 * (k1[9] + 2 * k2[9] + 2 * k3[9] + k4[9])
    x5 = state.x5 + DT / 6 * (k1[10] + 2 * k2[10] + 2 * k3[10] + k4[10])
    return state._replace(x0=x0, x1=x1, x2=x2, x3=x3, x4=x4, x0_speed=x0_speed, x1_speed=x1_speed, x2_speed=x2_speed, x3_speed=x3_speed, x4_speed=x4_speed, x5=x5)


def terminated(state):
    """Whether the world comes to an end in this state."""
    return (np.abs(state.x1) > END_1) | (state.x0 < END_2)


def reward(state, action, next_state):
    """What a step is worth."""
    return state.x5 - 0.36 * state.x0 + 0.14 * state.x3 ** 2 - np.where(terminated(next_state), 1.0, 0.0) - 0.008 * state.x5 ** 2 + 0.6 * state.x5 * state.x3 + 1.4 + 0.4 * state.x5 * state.x4 + 2.0 * state.x4 * state.x2 + 0.5 * state.x0_speed * state.x2 + 0.05 * state.x2 ** 2 - 0.1 * state.x1_speed * state.x4 + 0.05 * state.x3_speed * state.x4 + 2.0 * state.x3 * state.x2
