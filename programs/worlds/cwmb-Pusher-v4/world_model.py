"""the arrays: drive (state.action_0_1_ago), viscous (x0_speed), drive (state.action_3_1_ago), drive (state.action_2_1_ago), drive (state.action_1_1_ago), drive (state.action_2_1_ago, x2), damper (x2_speed, x0_speed), drive (state.action_2_1_ago, x5), damper (x3_speed, x0_speed), coupling (x5), spring (x3, x18), field (x3) and 13 further terms.

EMPIRICAL: no law explains this world; what follows is the best that was found, and may be wrong anywhere.

Verdict: unexplained; 25-step error 1 of the spread of motion on held-out stretches (90 % below 1); noise of observations alone makes 1; most is left of x5: 1.9 of its spread after 25 steps.
Held-out error (median, of each field's spread of change): 0.39 after 1, 0.54 after 5, 0.86 after 25 steps.
Found from a log by visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

DT = 0.005  # s, one physics step
SUBSTEPS = 10  # physics steps in one step
X0_GAIN_1 = 1.449131374  # +- 1  drive: action_0_1_ago
X0_DRAG = -1.230042209  # +- 1  viscous: x0_speed
X0_GAIN_4 = 0.7338202078  # +- 0.7  drive: action_3_1_ago
X0_GAIN_3 = 0.631149525  # +- 0.6  drive: action_2_1_ago
X1_GAIN_2 = 1.789194036  # +- 2  drive: action_1_1_ago
X1_GAIN_3 = 0.8474408674  # +- 0.8  drive: action_2_1_ago
X1_GAIN_4 = -0.7503271842  # +- 0.8  drive: action_3_1_ago
X2_GAIN_3_COS_X2 = 17.72009612  # +- 2e+01  drive: action_2_1_ago * cos(x2)
X2_DAMPER_X0 = -2.19930606  # +- 2  damper: (x2_speed - x0_speed)
X2_GAIN_3_SIN_X5 = -10.6183438  # +- 1e+01  drive: action_2_1_ago * sin(x5)
X3_GAIN_4 = 11.71516775  # +- 1e+01  drive: action_3_1_ago
X3_DAMPER_X0 = -1.808722345  # +- 2  damper: (x3_speed - x0_speed)
X3_BY_COS_X5 = -2.247116697  # +- 2  coupling: cos(x5)
X3_SPRING_X18 = -6.388055662  # +- 6  spring: (x3 - x18)
X3_BEND = -6.493905374  # +- 6  field: x3 ** 2
X3_HARD = -1.941958349  # +- 2  spring: x3 ** 3
X4_DRAG = -3.186071441  # +- 3  viscous: x4_speed
X4_GAIN_5 = 27.36272281  # +- 3e+01  drive: action_4_1_ago
X5_GAIN_6 = 22.08874487  # +- 2e+01  drive: action_5_1_ago
X5_DRAG = -3.613866241  # +- 4  viscous: x5_speed
X6_GAIN_7 = 23.41245737  # +- 2e+01  drive: action_6_1_ago
X6_DRAG = -2.567221283  # +- 3  viscous: x6_speed
X14_BY_X3_SPEED = 0.2110348314  # +- 0.2  coupling: x3_speed
X14_BY_X0_SPEED = -0.3975824535  # +- 0.4  coupling: x0_speed
X14_SPRING_X17 = 0.3301688049  # +- 0.3  spring: (x14 - x17)
X14_GAIN_3 = 0.06178223692  # +- 0.06  drive: action_2_1_ago
X15_BY_X2_SPEED = -0.1012665743  # +- 0.1  coupling: x2_speed
X15_BY_X0_SPEED = 0.4990451933  # +- 0.5  coupling: x0_speed
X15_BY_X3_SPEED = -0.05098039454  # +- 0.05  coupling: x3_speed
X16_BY_X3_SPEED = -0.07014309887  # +- 0.07  coupling: x3_speed
X16_BY_X2_SPEED = 0.06395259071  # +- 0.06  coupling: x2_speed
X16_BY_X0_SPEED = -0.1304821558  # +- 0.1  coupling: x0_speed
X17_SPRING = -5.722631039e-07  # +- 6e-07  spring: x17
X18_HARD = 0.02943005747  # +- 0.03  spring: x18 ** 3


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


def move(state, action):
    """One physics step."""
    x0_speed = state.x0_speed + DT * (
        X0_GAIN_1 * state.action_0_1_ago
        + X0_DRAG * state.x0_speed
        + X0_GAIN_4 * state.action_3_1_ago
        + X0_GAIN_3 * state.action_2_1_ago
    )
    x1_speed = state.x1_speed + DT * (
        X1_GAIN_2 * state.action_1_1_ago
        + X1_GAIN_3 * state.action_2_1_ago
        + X1_GAIN_4 * state.action_3_1_ago
    )
    x2_speed = state.x2_speed + DT * (
        X2_GAIN_3_COS_X2 * state.action_2_1_ago * np.cos(state.x2)
        + X2_DAMPER_X0 * (state.x2_speed - state.x0_speed)
        + X2_GAIN_3_SIN_X5 * state.action_2_1_ago * np.sin(state.x5)
    )
    x3_speed = state.x3_speed + DT * (
        X3_GAIN_4 * state.action_3_1_ago
        + X3_DAMPER_X0 * (state.x3_speed - state.x0_speed)
        + X3_BY_COS_X5 * np.cos(state.x5)
        + X3_SPRING_X18 * (state.x3 - state.x18)
        + X3_BEND * state.x3 ** 2
        + X3_HARD * state.x3 ** 3
    )
    x4_speed = state.x4_speed + DT * (X4_DRAG * state.x4_speed + X4_GAIN_5 * state.action_4_1_ago)
    x5_speed = state.x5_speed + DT * (X5_GAIN_6 * state.action_5_1_ago + X5_DRAG * state.x5_speed)
    x6_speed = state.x6_speed + DT * (X6_GAIN_7 * state.action_6_1_ago + X6_DRAG * state.x6_speed)
    x14 = state.x14 + DT * (
        X14_BY_X3_SPEED * state.x3_speed
        + X14_BY_X0_SPEED * state.x0_speed
        + X14_SPRING_X17 * (state.x14 - state.x17)
        + X14_GAIN_3 * state.action_2_1_ago
    )
    x15 = state.x15 + DT * (X15_BY_X2_SPEED * state.x2_speed + X15_BY_X0_SPEED * state.x0_speed + X15_BY_X3_SPEED * state.x3_speed)
    x16 = state.x16 + DT * (X16_BY_X3_SPEED * state.x3_speed + X16_BY_X2_SPEED * state.x2_speed + X16_BY_X0_SPEED * state.x0_speed)
    x17 = state.x17 + DT * (X17_SPRING * state.x17)
    x18 = state.x18 + DT * (X18_HARD * state.x18 ** 3)
    x0 = state.x0 + DT * x0_speed
    x1 = state.x1 + DT * x1_speed
    x2 = state.x2 + DT * x2_speed
    x3 = state.x3 + DT * x3_speed
    x4 = state.x4 + DT * x4_speed
    x5 = state.x5 + DT * x5_speed
    x6 = state.x6 + DT * x6_speed
    return state._replace(
        x0=x0, x1=x1, x2=x2, x3=x3, x4=x4, x5=x5, x6=x6, x0_speed=x0_speed, x1_speed=x1_speed, x2_speed=x2_speed, x3_speed=x3_speed,
        x4_speed=x4_speed, x5_speed=x5_speed, x6_speed=x6_speed, x14=x14, x15=x15, x16=x16, x17=x17, x18=x18, action_0_1_ago=action[0],
        action_1_1_ago=action[1], action_2_1_ago=action[2], action_3_1_ago=action[3], action_4_1_ago=action[4], action_5_1_ago=action[5],
        action_6_1_ago=action[6],
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
    return 0.56 * state.x15 * state.x14 - 0.132 - 0.101 * action[1] ** 2 - 0.1 * action[0] ** 2 - 0.103 * action[2] ** 2 - 0.101 * action[6] ** 2 - 0.1 * action[3] ** 2 - 0.1 * action[5] ** 2 - 0.9 * state.x16 * state.x14 - 0.1 * action[4] ** 2 - 0.101 * state.x0 ** 2 - 0.5 * state.x16 * state.x15 - 0.01 * state.x3 ** 2 + 0.01 * state.x14 * state.x4
