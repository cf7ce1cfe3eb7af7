"""Pusher-v5: drive (state.action_0_1_ago, x17), drive (state.action_0_1_ago, state.action_3_1_ago), viscous (x0_speed), field (x0), drive (state.action_5_1_ago, x17), drive (state.action_1_1_ago, x1), coupling (x1_speed, x1_speed), drive (state.action_3_1_ago, x2), drive (state.action_3_1_ago, x14), drive (state.action_4_1_ago, state.action_5_1_ago), drive (state.action_2_1_ago, x1), spring (x2, x18) and 37 further terms.

EMPIRICAL: no law explains this world; what follows is the best that was found, and may be wrong anywhere.

Verdict: unexplained; 25-step error 9e+02 of the spread of motion on held-out stretches (90 % below 1e+03); noise of observations alone makes 0; most is left of x6_speed: 4.3e+32 of its spread after 25 steps.
Held-out error (median, of each field's spread of change): 1.4e+08 after 1, 8.9e+02 after 5, 8.9e+02 after 25 steps.
Found from 1432 steps of the world by visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

DT = 0.0125  # s, one physics step
SUBSTEPS = 4  # physics steps in one step
X0_GAIN_1_PER_X17 = 0.3201867058  # +- 0.3  drive: action_0_1_ago / x17
X0_GAIN_1_GAIN_4 = -0.4976847925  # +- 0.5  drive: action_0_1_ago * action_3_1_ago
X0_DRAG = -0.6457463093  # +- 0.6  viscous: x0_speed
X0_BEND = 0.2252119937  # +- 0.2  field: x0 ** 2
X0_GAIN_6_SIN_X17 = 0.9754394847  # +- 1  drive: action_5_1_ago * sin(x17)
X1_GAIN_2_COS_X1 = 1.193257547  # +- 1  drive: action_1_1_ago * cos(x1)
X1_X1_SPEED_SQUARE = -1.102491977  # +- 1  coupling: x1_speed ** 2
X1_GAIN_4_SIN_X2 = -0.5263397074  # +- 0.5  drive: action_3_1_ago * sin(x2)
X1_GAIN_4_SIN_X14 = -0.8575078547  # +- 0.9  drive: action_3_1_ago * sin(x14)
X1_GAIN_5_GAIN_6 = -0.2908928765  # +- 0.3  drive: action_4_1_ago * action_5_1_ago
X2_GAIN_3_COS_X1 = 6.592727906  # +- 7  drive: action_2_1_ago * cos(x1)
X2_SPRING_X18 = -4.25364005  # +- 4  spring: (x2 - x18)
X2_GAIN_1_GAIN_4 = -1.189091085  # +- 1  drive: action_0_1_ago * action_3_1_ago
X2_GAIN_3_X18_SPEED = -2089.455434  # +- 2e+03  drive: action_2_1_ago * x18_speed
X2_GAIN_3_COS_X2 = 4.586095386  # +- 5  drive: action_2_1_ago * cos(x2)
X2_GAIN_7_COS_X2 = -2.817982629  # +- 3  drive: action_6_1_ago * cos(x2)
X3_GAIN_4_SIN_X3 = -11.73655642  # +- 1e+01  drive: action_3_1_ago * sin(x3)
X3_GAIN_4_COS_X3 = 5.239199911  # +- 5  drive: action_3_1_ago * cos(x3)
X3_PULL_X18 = -4.60972929  # +- 5  spring: sin(x3 - x18)
X3_GAIN_4_X0 = -2.385376445  # +- 2  drive: action_3_1_ago * x0
X3_DRAG_THIRD = -0.02524908523  # +- 0.03  viscous: x3_speed ** 3
X3_GAIN_4_X18_SPEED = 482.7109569  # +- 5e+02  drive: action_3_1_ago * x18_speed
X4_GAIN_5 = 4.940737278  # +- 5  drive: action_4_1_ago
X4_HARD = -2.678989312  # +- 3  spring: x4 ** 3
X4_GAIN_5_COS_X4 = 24.76290495  # +- 2e+01  drive: action_4_1_ago * cos(x4)
X4_DRAG = -3.852786339  # +- 4  viscous: x4_speed
X4_DRAG_BEND = 2.691845223  # +- 3  viscous: x4 ** 2 * x4_speed
X5_DRAG = 2.557551449  # +- 3  viscous: x5_speed
X5_GAIN_6_PER_X18 = -1.887367172  # +- 2  drive: action_5_1_ago / x18
X5_SPRING_X18 = -13.49224767  # +- 1e+01  spring: (x5 - x18)
X5_BY_COS_X14 = -2.354207333  # +- 2  coupling: cos(x14)
X5_GAIN_7_PER_X18 = -0.4411479416  # +- 0.4  drive: action_6_1_ago / x18
X6_GAIN_7_COS_X6 = 27.71081004  # +- 3e+01  drive: action_6_1_ago * cos(x6)
X6_HARD = -1.985430063  # +- 2  spring: x6 ** 3
X6_GAIN_7 = 4.393082988  # +- 4  drive: action_6_1_ago
X6_DRAG = -4.147536382  # +- 4  viscous: x6_speed
X6_DRAG_BEND = 2.792756188  # +- 3  viscous: x6 ** 2 * x6_speed
X6_GAIN_6_X6 = -1.368696011  # +- 1  drive: action_5_1_ago * x6
X14_BY_X3_SPEED = 0.2098012566  # +- 0.2  coupling: x3_speed
X14_GAIN_7_X0_SPEED = 0.1150602099  # +- 0.1  drive: action_6_1_ago * x0_speed
X14_GAIN_1_GAIN_6 = -0.0872394722  # +- 0.09  drive: action_0_1_ago * action_5_1_ago
X14_GAIN_4_COS_X3 = -0.1361142117  # +- 0.1  drive: action_3_1_ago * cos(x3)
X14_GAIN_3_SIN_X0 = 0.1314356012  # +- 0.1  drive: action_2_1_ago * sin(x0)
X14_BY_X1_SPEED = 0.1482667239  # +- 0.1  coupling: x1_speed
X16_BY_X1_SPEED = -0.2822968432  # +- 0.3  coupling: x1_speed
X16_GAIN_3_SIN_X2 = -1.056680032  # +- 1  drive: action_2_1_ago * sin(x2)
X16_GAIN_3_X2 = 0.6240823139  # +- 0.6  drive: action_2_1_ago * x2
X16_GAIN_1_X3_SPEED = -0.03568130597  # +- 0.04  drive: action_0_1_ago * x3_speed
X16_BY_X3_SPEED = -0.05718108573  # +- 0.06  coupling: x3_speed
X16_GAIN_5_X1_SPEED = -0.1035663692  # +- 0.1  drive: action_4_1_ago * x1_speed
X17_BY_X18_SPEED = -0.7151651958  # +- 0.7  coupling: x18_speed
X18_X18_X18_SPEED = -11832.1881  # +- 1e+04  coupling: x18 * x18_speed
X18_GAIN_7_X0_SPEED = -0.1665055866  # +- 0.2  drive: action_6_1_ago * x0_speed
X18_GAIN_2_X3_SPEED = -0.03428328316  # +- 0.03  drive: action_1_1_ago * x3_speed
X18_DAMPER_X0 = -0.1678162262  # +- 0.2  damper: (x18_speed - x0_speed)
X18_GAIN_4_X2_SPEED = 0.03043998752  # +- 0.03  drive: action_3_1_ago * x2_speed
X18_GAIN_7_SIN_X3 = -0.09803563107  # +- 0.1  drive: action_6_1_ago * sin(x3)


class State(NamedTuple):
    x0: float
    x1: float
    x2: float
    x3: float
    x4: float
    x5: float
    x6: float
    x14: float
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
    x18_speed: float
    action_0_1_ago: float = 0.0  # not observed
    action_1_1_ago: float = 0.0  # not observed
    action_2_1_ago: float = 0.0  # not observed
    action_3_1_ago: float = 0.0  # not observed
    action_4_1_ago: float = 0.0  # not observed
    action_5_1_ago: float = 0.0  # not observed
    action_6_1_ago: float = 0.0  # not observed


def move(state, action):
    """One physics step."""
    x0_speed = state.x0_speed + DT * (
        X0_GAIN_1_PER_X17 * state.action_0_1_ago / state.x17
        + X0_GAIN_1_GAIN_4 * state.action_0_1_ago * state.action_3_1_ago
        + X0_DRAG * state.x0_speed
        + X0_BEND * state.x0 ** 2
        + X0_GAIN_6_SIN_X17 * state.action_5_1_ago * np.sin(state.x17)
    )
    x1_speed = state.x1_speed + DT * (
        X1_GAIN_2_COS_X1 * state.action_1_1_ago * np.cos(state.x1)
        + X1_X1_SPEED_SQUARE * state.x1_speed ** 2
        + X1_GAIN_4_SIN_X2 * state.action_3_1_ago * np.sin(state.x2)
        + X1_GAIN_4_SIN_X14 * state.action_3_1_ago * np.sin(state.x14)
        + X1_GAIN_5_GAIN_6 * state.action_4_1_ago * state.action_5_1_ago
    )
    x2_speed = state.x2_speed + DT * (
        X2_GAIN_3_COS_X1 * state.action_2_1_ago * np.cos(state.x1)
        + X2_SPRING_X18 * (state.x2 - state.x18)
        + X2_GAIN_1_GAIN_4 * state.action_0_1_ago * state.action_3_1_ago
        + X2_GAIN_3_X18_SPEED * state.action_2_1_ago * state.x18_speed
        + X2_GAIN_3_COS_X2 * state.action_2_1_ago * np.cos(state.x2)
        + X2_GAIN_7_COS_X2 * state.action_6_1_ago * np.cos(state.x2)
    )
    x3_speed = state.x3_speed + DT * (
        X3_GAIN_4_SIN_X3 * state.action_3_1_ago * np.sin(state.x3)
        + X3_GAIN_4_COS_X3 * state.action_3_1_ago * np.cos(state.x3)
        + X3_PULL_X18 * np.sin(state.x3 - state.x18)
        + X3_GAIN_4_X0 * state.action_3_1_ago * state.x0
        + X3_DRAG_THIRD * state.x3_speed ** 3
        + X3_GAIN_4_X18_SPEED * state.action_3_1_ago * state.x18_speed
    )
    x4_speed = state.x4_speed + DT * (
        X4_GAIN_5 * state.action_4_1_ago
        + X4_HARD * state.x4 ** 3
        + X4_GAIN_5_COS_X4 * state.action_4_1_ago * np.cos(state.x4)
        + X4_DRAG * state.x4_speed
        + X4_DRAG_BEND * state.x4 ** 2 * state.x4_speed
    )
    x5_speed = state.x5_speed + DT * (
        X5_DRAG * state.x5_speed
        + X5_GAIN_6_PER_X18 * state.action_5_1_ago / state.x18
        + X5_SPRING_X18 * (state.x5 - state.x18)
        + X5_BY_COS_X14 * np.cos(state.x14)
        + X5_GAIN_7_PER_X18 * state.action_6_1_ago / state.x18
    )
    x6_speed = state.x6_speed + DT * (
        X6_GAIN_7_COS_X6 * state.action_6_1_ago * np.cos(state.x6)
        + X6_HARD * state.x6 ** 3
        + X6_GAIN_7 * state.action_6_1_ago
        + X6_DRAG * state.x6_speed
        + X6_DRAG_BEND * state.x6 ** 2 * state.x6_speed
        + X6_GAIN_6_X6 * state.action_5_1_ago * state.x6
    )
    x18_speed = state.x18_speed + DT * (
        X18_X18_X18_SPEED * state.x18 * state.x18_speed
        + X18_GAIN_7_X0_SPEED * state.action_6_1_ago * state.x0_speed
        + X18_GAIN_2_X3_SPEED * state.action_1_1_ago * state.x3_speed
        + X18_DAMPER_X0 * (state.x18_speed - state.x0_speed)
        + X18_GAIN_4_X2_SPEED * state.action_3_1_ago * state.x2_speed
        + X18_GAIN_7_SIN_X3 * state.action_6_1_ago * np.sin(state.x3)
    )
    x14 = state.x14 + DT * (
        X14_BY_X3_SPEED * state.x3_speed
        + X14_GAIN_7_X0_SPEED * state.action_6_1_ago * state.x0_speed
        + X14_GAIN_1_GAIN_6 * state.action_0_1_ago * state.action_5_1_ago
        + X14_GAIN_4_COS_X3 * state.action_3_1_ago * np.cos(state.x3)
        + X14_GAIN_3_SIN_X0 * state.action_2_1_ago * np.sin(state.x0)
        + X14_BY_X1_SPEED * state.x1_speed
    )
    x16 = state.x16 + DT * (
        X16_BY_X1_SPEED * state.x1_speed
        + X16_GAIN_3_SIN_X2 * state.action_2_1_ago * np.sin(state.x2)
        + X16_GAIN_3_X2 * state.action_2_1_ago * state.x2
        + X16_GAIN_1_X3_SPEED * state.action_0_1_ago * state.x3_speed
        + X16_BY_X3_SPEED * state.x3_speed
        + X16_GAIN_5_X1_SPEED * state.action_4_1_ago * state.x1_speed
    )
    x17 = state.x17 + DT * (X17_BY_X18_SPEED * state.x18_speed)
    x0 = state.x0 + DT * x0_speed
    x1 = state.x1 + DT * x1_speed
    x2 = state.x2 + DT * x2_speed
    x3 = state.x3 + DT * x3_speed
    x4 = state.x4 + DT * x4_speed
    x5 = state.x5 + DT * x5_speed
    x6 = state.x6 + DT * x6_speed
    x18 = state.x18 + DT * (6.89676e-05 * x18_speed)
    return state._replace(
        x0=x0, x1=x1, x2=x2, x3=x3, x4=x4, x5=x5, x6=x6, x18=x18, x0_speed=x0_speed, x1_speed=x1_speed, x2_speed=x2_speed,
        x3_speed=x3_speed, x4_speed=x4_speed, x5_speed=x5_speed, x6_speed=x6_speed, x18_speed=x18_speed, x14=x14, x16=x16, x17=x17,
        action_0_1_ago=action[0], action_1_1_ago=action[1], action_2_1_ago=action[2], action_3_1_ago=action[3], action_4_1_ago=action[4],
        action_5_1_ago=action[5], action_6_1_ago=action[6],
    )


def step(state, action):
    """One step: the action is held over all physics steps."""
    for _ in range(SUBSTEPS):
        state = move(state, action)
    return state


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
        state.x18_speed,  # x15
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
    x18_speed = observation[15]
    return State(x0=x0, x1=x1, x2=x2, x3=x3, x4=x4, x5=x5, x6=x6, x14=x14, x16=x16, x17=x17, x18=x18, x0_speed=x0_speed, x1_speed=x1_speed, x2_speed=x2_speed, x3_speed=x3_speed, x4_speed=x4_speed, x5_speed=x5_speed, x6_speed=x6_speed, x18_speed=x18_speed)


def reward(state, action, next_state):
    """What a step is worth."""
    return 0.54 * state.x18 - 0.0975 * action[6] ** 2 - 0.113 * action[1] ** 2 - 0.0968 * action[0] ** 2 - 0.098 * action[5] ** 2 - 0.095 * action[2] ** 2 - 0.1 * action[4] ** 2 + 0.6 * state.x17 * state.x14 - 0.1 * action[3] ** 2 - 0.276 * np.sqrt(state.x18_speed ** 2 + state.x14 ** 2) + 1.2 * state.x18 * state.x16 - 0.39 + 0.06 * np.sqrt(state.x14 ** 2 + state.x3 ** 2) - 0.09 * state.x16 * state.x2
