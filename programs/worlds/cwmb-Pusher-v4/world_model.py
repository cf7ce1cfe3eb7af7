"""the arrays: drive (action[0]), drive (action[3], x2), drive (action[2], x2), damper (x0_speed, x15_speed), drive (action[3], x3), coupling (x0, x0_speed), drive (action[2], x3), drive (action[3]), drive (action[3], x2_speed), drive (action[1], x0), viscous (x1_speed), drive (action[3], x15), damper (x1_speed, x16_speed), drive (action[2], x5), drive (action[2], x17), damper (x2_speed, x0_speed), drive (action[1], x2), spring (x2), drive (action[3], x1), damper (x3_speed, x14_speed), drive (action[0], x2), coupling (x3, x0), drive (action[5], x4), drive (action[4]), viscous (x4_speed), drive (action[6], x5), damper (x4_speed, x2_speed), damper (x4_speed, x6_speed), drive (action[2], x6), coupling (x17_speed), drive (action[5]), drive (action[3], x4), drive (action[2], x4), drive (action[5], x6), coupling (x16_speed), drive (action[4], x6), drive (action[2], x1), drive (action[6]), viscous (x6_speed), drive (action[4], x5), damper (x6_speed, x4_speed), damper (x6_speed, x2_speed), damper (x14_speed, x3_speed), damper (x14_speed, x16_speed), coupling (x0_speed), damper (x14_speed, x1_speed), drive (action[3], x15_speed), spring (x15), coupling (x3), quadratic (x16_speed), damper (x16_speed, x2_speed), coupling (x3_speed), viscous (x17_speed), damper (x17_speed, x16_speed), stop (x6), bounce (x4), bounce (x6), stop (x2), stop (x4), stop (x3).

EMPIRICAL: no law explains this world; what follows is the best sum of terms, and may be wrong anywhere.

Verdict: unexplained; 25-step error 0.8 of the spread of motion on held-out stretches (90 % below 1); most is left of x5: 2.3 of its spread after 25 steps.
Held-out error (median, of each field's spread of change): 0.31 after 1, 0.32 after 5, 0.68 after 25 steps.
Found from a log by visualpatchworld 0.1.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

DT = 0.05  # s, one physics step
X0_GAIN_1 = 1.228962289  # +- 0.01  drive: action[0]
X0_GAIN_4_SIN_X2 = -1.318331807  # +- 0.03  drive: action[3] * sin(x2)
X0_GAIN_3_COS_X2 = 0.9496731632  # +- 0.02  drive: action[2] * cos(x2)
X0_DAMPER_X15 = -1.285303901  # +- 0.02  damper: (x0_speed - x15_speed)
X0_GAIN_4_COS_X3 = 0.9617603423  # +- 0.03  drive: action[3] * cos(x3)
X0_X0_X0_SPEED = -0.8377256921  # +- 0.05  coupling: x0 * x0_speed
X0_GAIN_3_X3 = -0.3828715721  # +- 0.02  drive: action[2] * x3
X0_GAIN_4 = -0.4731358831  # +- 0.03  drive: action[3]
X0_GAIN_4_X2_SPEED = -0.1956  # +- 0.008  drive: action[3] * x2_speed
X1_GAIN_2_COS_X0 = 2.257  # +- 0.02  drive: action[1] * cos(x0)
X1_GAIN_4_COS_X2 = -2.955310208  # +- 0.03  drive: action[3] * cos(x2)
X1_GAIN_3_SIN_X2 = -0.9547501981  # +- 0.03  drive: action[2] * sin(x2)
X1_DRAG = -5.186709691  # +- 0.06  viscous: x1_speed
X1_GAIN_4_SIN_X15 = -2.495356814  # +- 0.06  drive: action[3] * sin(x15)
X1_DAMPER_X16 = 1.859865391  # +- 0.05  damper: (x1_speed - x16_speed)
X1_GAIN_3_SIN_X5 = -0.8886254104  # +- 0.04  drive: action[2] * sin(x5)
X2_GAIN_3_PER_X17 = 7.969242391  # +- 0.1  drive: action[2] / x17
X2_DAMPER_X0 = -2.27344671  # +- 0.03  damper: (x2_speed - x0_speed)
X2_GAIN_3_SIN_X3 = 7.381811448  # +- 0.3  drive: action[2] * sin(x3)
X2_GAIN_2_SIN_X2 = -0.226533136  # +- 0.1  drive: action[1] * sin(x2)
X2_GAIN_3_COS_X2 = 3.423690343  # +- 0.3  drive: action[2] * cos(x2)
X2_HARD = -0.2201572692  # +- 0.02  spring: x2 ** 3
X3_GAIN_4_COS_X1 = 12.73263137  # +- 0.06  drive: action[3] * cos(x1)
X3_DAMPER_X14 = -2.040079329  # +- 0.03  damper: (x3_speed - x14_speed)
X3_GAIN_2_COS_X2 = -2.61541841  # +- 0.1  drive: action[1] * cos(x2)
X3_GAIN_1_SIN_X2 = -1.662507743  # +- 0.07  drive: action[0] * sin(x2)
X3_COS_X3_X0 = -0.98  # +- 0.05  coupling: cos(x3 - x0)
X3_GAIN_6_COS_X4 = -1.151701537  # +- 0.08  drive: action[5] * cos(x4)
X4_GAIN_5 = 21.0321429  # +- 0.1  drive: action[4]
X4_DRAG = -1.84806785  # +- 0.05  viscous: x4_speed
X4_GAIN_3_COS_X3 = -1.957787753  # +- 0.3  drive: action[2] * cos(x3)
X4_GAIN_7_COS_X5 = -0.7116  # +- 0.1  drive: action[6] * cos(x5)
X4_DAMPER_X2 = -0.1341800807  # +- 0.03  damper: (x4_speed - x2_speed)
X4_DAMPER_X6 = -0.1469454693  # +- 0.03  damper: (x4_speed - x6_speed)
X4_GAIN_3_COS_X6 = 1.117339681  # +- 0.3  drive: action[2] * cos(x6)
X5_BY_X17_SPEED = 0.9959843353  # +- 0.008  coupling: x17_speed
X5_GAIN_6 = 0.688262793  # +- 0.04  drive: action[5]
X5_GAIN_4_COS_X4 = -0.00353570985  # +- 0.02  drive: action[3] * cos(x4)
X5_GAIN_3_SIN_X4 = 0.009557109284  # +- 0.03  drive: action[2] * sin(x4)
X5_GAIN_6_COS_X6 = 0.07343223892  # +- 0.06  drive: action[5] * cos(x6)
X5_BY_X16_SPEED = -0.06055604791  # +- 0.06  coupling: x16_speed
X5_GAIN_5_SIN_X6 = -0.02734596367  # +- 0.02  drive: action[4] * sin(x6)
X5_GAIN_3_SIN_X1 = 0.04281886672  # +- 0.06  drive: action[2] * sin(x1)
X6_GAIN_7 = 21.51496368  # +- 0.1  drive: action[6]
X6_DRAG = -2.242809339  # +- 0.06  viscous: x6_speed
X6_GAIN_5_COS_X5 = -0.4749524652  # +- 0.1  drive: action[4] * cos(x5)
X6_GAIN_3_COS_X3 = -0.3436262101  # +- 0.2  drive: action[2] * cos(x3)
X6_GAIN_4_SIN_X4 = 0.2634781042  # +- 0.2  drive: action[3] * sin(x4)
X6_DAMPER_X4 = 0.002895749911  # +- 0.03  damper: (x6_speed - x4_speed)
X6_GAIN_3_X5 = 0.07021474467  # +- 0.3  drive: action[2] * x5
X6_DAMPER_X2 = 0.1139071278  # +- 0.04  damper: (x6_speed - x2_speed)
X14_GAIN_4_SIN_X3 = -2.362710295  # +- 0.03  drive: action[3] * sin(x3)
X14_DAMPER_X3 = -1.268563714  # +- 0.02  damper: (x14_speed - x3_speed)
X14_DAMPER_X16 = -2.093234736  # +- 0.05  damper: (x14_speed - x16_speed)
X14_BY_X0_SPEED = -2.038973339  # +- 0.05  coupling: x0_speed
X14_DAMPER_X1 = -1.15737227  # +- 0.04  damper: (x14_speed - x1_speed)
X15_GAIN_4_X15_SPEED = -2.809693994  # +- 0.06  drive: action[3] * x15_speed
X15_HARD = -5.076273565  # +- 0.07  spring: x15 ** 3
X15_BY_SIN_X3 = 0.277855234  # +- 0.009  coupling: sin(x3)
X16_GAIN_3_SIN_X3 = -1.0899404  # +- 0.02  drive: action[2] * sin(x3)
X16_DRAG_SQUARE = -11.84493451  # +- 0.2  quadratic: abs(x16_speed) * x16_speed
X16_GAIN_4_COS_X2 = -1.04002669  # +- 0.02  drive: action[3] * cos(x2)
X16_DAMPER_X2 = -0.1756737501  # +- 0.005  damper: (x16_speed - x2_speed)
X16_BY_X3_SPEED = -0.1210765961  # +- 0.007  coupling: x3_speed
X17_GAIN_6 = 21.21407141  # +- 0.1  drive: action[5]
X17_DRAG = -2.211127581  # +- 0.3  viscous: x17_speed
X17_GAIN_4_COS_X4 = -0.5490221027  # +- 0.1  drive: action[3] * cos(x4)
X17_GAIN_3_SIN_X4 = 0.24575404  # +- 0.1  drive: action[2] * sin(x4)
X17_GAIN_6_COS_X6 = 0.02032486474  # +- 0.1  drive: action[5] * cos(x6)
X17_GAIN_5_SIN_X6 = 0.148031275  # +- 0.1  drive: action[4] * sin(x6)
X17_DAMPER_X16 = -0.8491419107  # +- 0.3  damper: (x17_speed - x16_speed)
X6_HIGH_WALL = 1.5  # x6 is stopped there
X4_HIGH_WALL = 1.5  # x4 is stopped there
X4_HIGH_BOUNCE = 0.0779752  # part of the speed that it leaves the wall with
X6_LOW_WALL = -1.526  # x6 is stopped there
X6_LOW_BOUNCE = 0.1060929  # part of the speed that it leaves the wall with
X2_LOW_WALL = -1.5  # x2 is stopped there
X4_LOW_WALL = -1.5  # x4 is stopped there
X3_HIGH_WALL = 0.02  # x3 is stopped there


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
    x6_speed: float
    x14_speed: float
    x15_speed: float
    x16_speed: float
    x17_speed: float


def step(state, action):
    """One step."""
    x0_speed = state.x0_speed + DT * (X0_GAIN_1 * action[0] + X0_GAIN_4_SIN_X2 * action[3] * np.sin(state.x2) + X0_GAIN_3_COS_X2 * action[2] * np.cos(state.x2) + X0_DAMPER_X15 * (state.x0_speed - state.x15_speed) + X0_GAIN_4_COS_X3 * action[3] * np.cos(state.x3) + X0_X0_X0_SPEED * state.x0 * state.x0_speed + X0_GAIN_3_X3 * action[2] * state.x3 + X0_GAIN_4 * action[3] + X0_GAIN_4_X2_SPEED * action[3] * state.x2_speed)
    x1_speed = state.x1_speed + DT * (X1_GAIN_2_COS_X0 * action[1] * np.cos(state.x0) + X1_GAIN_4_COS_X2 * action[3] * np.cos(state.x2) + X1_GAIN_3_SIN_X2 * action[2] * np.sin(state.x2) + X1_DRAG * state.x1_speed + X1_GAIN_4_SIN_X15 * action[3] * np.sin(state.x15) + X1_DAMPER_X16 * (state.x1_speed - state.x16_speed) + X1_GAIN_3_SIN_X5 * action[2] * np.sin(state.x5))
    x2_speed = state.x2_speed + DT * (X2_GAIN_3_PER_X17 * action[2] / state.x17 + X2_DAMPER_X0 * (state.x2_speed - state.x0_speed) + X2_GAIN_3_SIN_X3 * action[2] * np.sin(state.x3) + X2_GAIN_2_SIN_X2 * action[1] * np.sin(state.x2) + X2_GAIN_3_COS_X2 * action[2] * np.cos(state.x2) + X2_HARD * state.x2 ** 3)
    x3_speed = state.x3_speed + DT * (X3_GAIN_4_COS_X1 * action[3] * np.cos(state.x1) + X3_DAMPER_X14 * (state.x3_speed - state.x14_speed) + X3_GAIN_2_COS_X2 * action[1] * np.cos(state.x2) + X3_GAIN_1_SIN_X2 * action[0] * np.sin(state.x2) + X3_COS_X3_X0 * np.cos(state.x3 - state.x0) + X3_GAIN_6_COS_X4 * action[5] * np.cos(state.x4))
    x4_speed = state.x4_speed + DT * (X4_GAIN_5 * action[4] + X4_DRAG * state.x4_speed + X4_GAIN_3_COS_X3 * action[2] * np.cos(state.x3) + X4_GAIN_7_COS_X5 * action[6] * np.cos(state.x5) + X4_DAMPER_X2 * (state.x4_speed - state.x2_speed) + X4_DAMPER_X6 * (state.x4_speed - state.x6_speed) + X4_GAIN_3_COS_X6 * action[2] * np.cos(state.x6))
    x6_speed = state.x6_speed + DT * (X6_GAIN_7 * action[6] + X6_DRAG * state.x6_speed + X6_GAIN_5_COS_X5 * action[4] * np.cos(state.x5) + X6_GAIN_3_COS_X3 * action[2] * np.cos(state.x3) + X6_GAIN_4_SIN_X4 * action[3] * np.sin(state.x4) + X6_DAMPER_X4 * (state.x6_speed - state.x4_speed) + X6_GAIN_3_X5 * action[2] * state.x5 + X6_DAMPER_X2 * (state.x6_speed - state.x2_speed))
    x14_speed = state.x14_speed + DT * (X14_GAIN_4_SIN_X3 * action[3] * np.sin(state.x3) + X14_DAMPER_X3 * (state.x14_speed - state.x3_speed) + X14_DAMPER_X16 * (state.x14_speed - state.x16_speed) + X14_BY_X0_SPEED * state.x0_speed + X14_DAMPER_X1 * (state.x14_speed - state.x1_speed))
    x15_speed = state.x15_speed + DT * (X15_GAIN_4_X15_SPEED * action[3] * state.x15_speed + X15_HARD * state.x15 ** 3 + X15_BY_SIN_X3 * np.sin(state.x3))
    x16_speed = state.x16_speed + DT * (X16_GAIN_3_SIN_X3 * action[2] * np.sin(state.x3) + X16_DRAG_SQUARE * np.abs(state.x16_speed) * state.x16_speed + X16_GAIN_4_COS_X2 * action[3] * np.cos(state.x2) + X16_DAMPER_X2 * (state.x16_speed - state.x2_speed) + X16_BY_X3_SPEED * state.x3_speed)
    x17_speed = state.x17_speed + DT * (X17_GAIN_6 * action[5] + X17_DRAG * state.x17_speed + X17_GAIN_4_COS_X4 * action[3] * np.cos(state.x4) + X17_GAIN_3_SIN_X4 * action[2] * np.sin(state.x4) + X17_GAIN_6_COS_X6 * action[5] * np.cos(state.x6) + X17_GAIN_5_SIN_X6 * action[4] * np.sin(state.x6) + X17_DAMPER_X16 * (state.x17_speed - state.x16_speed))
    x5 = state.x5 + DT * (X5_BY_X17_SPEED * state.x17_speed + X5_GAIN_6 * action[5] + X5_GAIN_4_COS_X4 * action[3] * np.cos(state.x4) + X5_GAIN_3_SIN_X4 * action[2] * np.sin(state.x4) + X5_GAIN_6_COS_X6 * action[5] * np.cos(state.x6) + X5_BY_X16_SPEED * state.x16_speed + X5_GAIN_5_SIN_X6 * action[4] * np.sin(state.x6) + X5_GAIN_3_SIN_X1 * action[2] * np.sin(state.x1))
    x18 = state.x18 + DT * (0.0)
    x0 = state.x0 + DT * x0_speed
    x1 = state.x1 + DT * x1_speed
    x2 = state.x2 + DT * x2_speed
    x3 = state.x3 + DT * x3_speed
    x4 = state.x4 + DT * x4_speed
    x6 = state.x6 + DT * x6_speed
    x14 = state.x14 + DT * x14_speed
    x15 = state.x15 + DT * x15_speed
    x16 = state.x16 + DT * x16_speed
    x17 = state.x17 + DT * (1.69384e-08 * x17_speed)
    x6_speed = np.where((x6 > X6_HIGH_WALL) & (x6_speed > 0), 0.0, x6_speed)
    x6 = np.minimum(x6, X6_HIGH_WALL)
    x4_speed = np.where((x4 > X4_HIGH_WALL) & (x4_speed > 0), -X4_HIGH_BOUNCE * x4_speed, x4_speed)
    x4 = np.minimum(x4, X4_HIGH_WALL)
    x6_speed = np.where((x6 < X6_LOW_WALL) & (x6_speed < 0), -X6_LOW_BOUNCE * x6_speed, x6_speed)
    x2_speed = np.where((x2 < X2_LOW_WALL) & (x2_speed < 0), 0.0, x2_speed)
    x2 = np.maximum(x2, X2_LOW_WALL)
    x4_speed = np.where((x4 < X4_LOW_WALL) & (x4_speed < 0), 0.0, x4_speed)
    x4 = np.maximum(x4, X4_LOW_WALL)
    x3_speed = np.where((x3 > X3_HIGH_WALL) & (x3_speed > 0), 0.0, x3_speed)
    x3 = np.minimum(x3, 2 * X3_HIGH_WALL - x3)
    return state._replace(x0=x0, x1=x1, x2=x2, x3=x3, x4=x4, x6=x6, x14=x14, x15=x15, x16=x16, x17=x17, x0_speed=x0_speed, x1_speed=x1_speed, x2_speed=x2_speed, x3_speed=x3_speed, x4_speed=x4_speed, x6_speed=x6_speed, x14_speed=x14_speed, x15_speed=x15_speed, x16_speed=x16_speed, x17_speed=x17_speed, x5=x5, x18=x18)


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
        state.x17_speed,  # x12
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
    x6_speed = observation[13]
    x14_speed = 0.0  # not observed
    x15_speed = 0.0  # not observed
    x16_speed = 0.0  # not observed
    x17_speed = observation[12]
    return State(x0=x0, x1=x1, x2=x2, x3=x3, x4=x4, x5=x5, x6=x6, x14=x14, x15=x15, x16=x16, x17=x17, x18=x18, x0_speed=x0_speed, x1_speed=x1_speed, x2_speed=x2_speed, x3_speed=x3_speed, x4_speed=x4_speed, x6_speed=x6_speed, x14_speed=x14_speed, x15_speed=x15_speed, x16_speed=x16_speed, x17_speed=x17_speed)


def reward(state, action, next_state):
    """What a step is worth."""
    return 0.56 * state.x15 * state.x14 - 0.132 - 0.101 * action[1] ** 2 - 0.1 * action[0] ** 2 - 0.103 * action[2] ** 2 - 0.101 * action[6] ** 2 - 0.1 * action[3] ** 2 - 0.1 * action[5] ** 2 - 0.9 * state.x16 * state.x14 - 0.1 * action[4] ** 2 - 0.101 * state.x0 ** 2 - 0.5 * state.x16 * state.x15 - 0.01 * state.x3 ** 2 + 0.01 * state.x14 * state.x4
