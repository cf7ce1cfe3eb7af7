"""dmc:ball_in_cup/catch: coupling (position_2), drive (action[0], position_0), viscous (velocity_0), spring (position_0), coupling (velocity_2, position_2), coupling (position_2, position_3), drive (action[1], position_2), drive (action[0], position_2), drive (action[0], velocity_1), drive (action[1]), spring (position_1), viscous (velocity_1) and 16 further terms.

EMPIRICAL: no law explains this world; what follows is the best that was found, and may be wrong anywhere.

Verdict: unexplained; 25-step error 0.5 of the spread of motion on held-out stretches (90 % below 0.7); most is left of position_2: 0.94 of its spread after 25 steps.
Held-out error (median, of each field's spread of change): 0.18 after 1, 0.32 after 5, 0.47 after 25 steps.
Found from 1736 steps of the world by visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

DT = 0.02  # s, one physics step
POSITION_0_BY_SIN_POSITION_2 = 24.80304629  # coupling: sin(position_2)
POSITION_0_GAIN_1_COS_POSITION_0 = -122.1109278  # drive: action[0] * cos(position_0)
POSITION_0_DRAG = -41.09278803  # viscous: velocity_0
POSITION_0_SPRING = -312.2203004  # spring: position_0
POSITION_0_VELOCITY_2_SQUARE_SIN_POSITION_2 = 5.991237078  # coupling: velocity_2 ** 2 * sin(position_2)
POSITION_0_POSITION_2_POSITION_3 = -86.62433239  # coupling: position_2 * position_3
POSITION_0_GAIN_2_SQUARE_POSITION_2 = 28.00364595  # drive: action[1] * abs(action[1]) * position_2
POSITION_0_GAIN_1_COS_POSITION_2 = 192.5356413  # drive: action[0] * cos(position_2)
POSITION_0_GAIN_1_SQUARE_VELOCITY_1 = 2.52082023  # drive: action[0] ** 2 * velocity_1
POSITION_1_GAIN_2 = 56.37691564  # drive: action[1]
POSITION_1_SPRING = -228.4570895  # spring: position_1
POSITION_1_DRAG = -34.52267045  # viscous: velocity_1
POSITION_1_BY_COS_POSITION_2 = -14.96729463  # coupling: cos(position_2)
POSITION_1_SPRING_POSITION_3 = -15.56664795  # spring: (position_1 - position_3)
POSITION_2_TO_POSITION_3 = 0.1028319364  # direction: position_2 / maximum(hypot(position_2, position_3), 1e-06)
POSITION_2_GAIN_1 = 350.9593191  # drive: action[0]
POSITION_2_VELOCITY_2_SQUARE_SIN_POSITION_2 = -7.327916322  # coupling: velocity_2 ** 2 * sin(position_2)
POSITION_2_VELOCITY_2_VELOCITY_3 = -1.357288745  # coupling: velocity_2 * velocity_3
POSITION_2_GAIN_1_COS_POSITION_2 = -350.430976  # drive: action[0] * cos(position_2)
POSITION_2_VELOCITY_1_VELOCITY_2 = 1.065825964  # coupling: velocity_1 * velocity_2
POSITION_2_GAIN_2_SIN_POSITION_2 = -20.29899093  # drive: action[1] * sin(position_2)
POSITION_2_POSITION_2_POSITION_3 = 85.54646229  # coupling: position_2 * position_3
POSITION_2_SPRING = -23.46937105  # spring: position_2
POSITION_3_SPRING = -23.23883224  # spring: position_3
POSITION_3_VELOCITY_2_SQUARE_COS_POSITION_3 = 2.108627045  # coupling: velocity_2 ** 2 * cos(position_3)
POSITION_3_GAIN_2_COS_POSITION_3 = 12.36899035  # drive: action[1] * cos(position_3)
POSITION_3_PUSH = 1185.620849  # field
POSITION_3_BY_COS_POSITION_1 = -1190.757456  # coupling: cos(position_1)
POSITION_3_VELOCITY_1_COS_POSITION_3 = -6.622498766  # coupling: velocity_1 * cos(position_3)
POSITION_3_GAIN_2_SIN_POSITION_1 = -123.1093359  # drive: action[1] * sin(position_1)
POSITION_3_VELOCITY_1_SIN_POSITION_1 = 64.37672839  # coupling: velocity_1 * sin(position_1)
POSITION_2_LOW_END = 0.3630471983  # beyond it position_2 is pushed back
POSITION_2_HIGH_END = 0.3696648121  # beyond it position_2 is pushed back
POSITION_2_STOP_STIFFNESS = 9.765625  # 1/s^2  acceleration of the stop per depth
POSITION_2_STOP_BRAKING = 1.875  # 1/s  the same per speed
POSITION_2_STOP_KEEP = 0.3  # part of other forces that it leaves
POSITION_3_LOW_END = -0.1543586931  # beyond it position_3 is pushed back
POSITION_3_HIGH_END = 0.5261088362  # beyond it position_3 is pushed back
POSITION_3_STOP_STIFFNESS = 2500.0  # 1/s^2  acceleration of the stop per depth
POSITION_3_STOP_BRAKING = 100.0  # 1/s  the same per speed
POSITION_3_STOP_KEEP = 0.02  # part of other forces that it leaves
VELOCITY_0_SEEN_FROM = -3.009  # velocity_0 was not seen beyond
VELOCITY_0_SEEN_TO = 2.889  # velocity_0 was not seen beyond
POSITION_0_SEEN_FROM = -0.3223  # position_0 was not seen beyond
POSITION_0_SEEN_TO = 0.3233  # position_0 was not seen beyond
VELOCITY_1_SEEN_FROM = -3.939  # velocity_1 was not seen beyond
VELOCITY_1_SEEN_TO = 2.565  # velocity_1 was not seen beyond
POSITION_1_SEEN_FROM = -0.3234  # position_1 was not seen beyond
POSITION_1_SEEN_TO = 0.2059  # position_1 was not seen beyond
VELOCITY_2_SEEN_FROM = -4.22  # velocity_2 was not seen beyond
VELOCITY_2_SEEN_TO = 3.005  # velocity_2 was not seen beyond
POSITION_2_SEEN_FROM = -0.6357  # position_2 was not seen beyond
POSITION_2_SEEN_TO = 0.6512  # position_2 was not seen beyond
VELOCITY_3_SEEN_FROM = -4.065  # velocity_3 was not seen beyond
VELOCITY_3_SEEN_TO = 4.693  # velocity_3 was not seen beyond
POSITION_3_SEEN_FROM = -0.3103  # position_3 was not seen beyond
POSITION_3_SEEN_TO = 0.6165  # position_3 was not seen beyond


class State(NamedTuple):
    position_0: float
    position_1: float
    position_2: float
    position_3: float
    velocity_0: float
    velocity_1: float
    velocity_2: float
    velocity_3: float


def stop_body(gained, place, speed, low, high, stiffness, braking, keep):
    """The acceleration of a body in a soft stop: pushed back beyond its ends, never pulled; a part is its own."""
    over = np.maximum(place - high, 0.0) + np.minimum(place - low, 0.0)
    held = keep * gained - (1 - keep) * (stiffness * over + braking * speed)
    return np.where(over * (held - gained) < 0, held, gained)


def rates(state, action):
    """How fast each field changes."""
    velocity_2_gained = (
        POSITION_2_TO_POSITION_3 * state.position_2 / np.maximum(np.hypot(state.position_2, state.position_3), 1e-06)
        + POSITION_2_GAIN_1 * action[0]
        + POSITION_2_VELOCITY_2_SQUARE_SIN_POSITION_2 * state.velocity_2 ** 2 * np.sin(state.position_2)
        + POSITION_2_VELOCITY_2_VELOCITY_3 * state.velocity_2 * state.velocity_3
        + POSITION_2_GAIN_1_COS_POSITION_2 * action[0] * np.cos(state.position_2)
        + POSITION_2_VELOCITY_1_VELOCITY_2 * state.velocity_1 * state.velocity_2
        + POSITION_2_GAIN_2_SIN_POSITION_2 * action[1] * np.sin(state.position_2)
        + POSITION_2_POSITION_2_POSITION_3 * state.position_2 * state.position_3
        + POSITION_2_SPRING * state.position_2
    )
    velocity_3_gained = (
        POSITION_3_SPRING * state.position_3
        + POSITION_3_VELOCITY_2_SQUARE_COS_POSITION_3 * state.velocity_2 ** 2 * np.cos(state.position_3)
        + POSITION_3_GAIN_2_COS_POSITION_3 * action[1] * np.cos(state.position_3)
        + POSITION_3_PUSH
        + POSITION_3_BY_COS_POSITION_1 * np.cos(state.position_1)
        + POSITION_3_VELOCITY_1_COS_POSITION_3 * state.velocity_1 * np.cos(state.position_3)
        + POSITION_3_GAIN_2_SIN_POSITION_1 * action[1] * np.sin(state.position_1)
        + POSITION_3_VELOCITY_1_SIN_POSITION_1 * state.velocity_1 * np.sin(state.position_1)
    )
    velocity_2_gained = stop_body(
        velocity_2_gained, state.position_2, state.velocity_2, POSITION_2_LOW_END, POSITION_2_HIGH_END, POSITION_2_STOP_STIFFNESS,
        POSITION_2_STOP_BRAKING, POSITION_2_STOP_KEEP,
    )
    velocity_3_gained = stop_body(
        velocity_3_gained, state.position_3, state.velocity_3, POSITION_3_LOW_END, POSITION_3_HIGH_END, POSITION_3_STOP_STIFFNESS,
        POSITION_3_STOP_BRAKING, POSITION_3_STOP_KEEP,
    )
    velocity_0_rate = (
        POSITION_0_BY_SIN_POSITION_2 * np.sin(state.position_2)
        + POSITION_0_GAIN_1_COS_POSITION_0 * action[0] * np.cos(state.position_0)
        + POSITION_0_DRAG * state.velocity_0
        + POSITION_0_SPRING * state.position_0
        + POSITION_0_VELOCITY_2_SQUARE_SIN_POSITION_2 * state.velocity_2 ** 2 * np.sin(state.position_2)
        + POSITION_0_POSITION_2_POSITION_3 * state.position_2 * state.position_3
        + POSITION_0_GAIN_2_SQUARE_POSITION_2 * action[1] * np.abs(action[1]) * state.position_2
        + POSITION_0_GAIN_1_COS_POSITION_2 * action[0] * np.cos(state.position_2)
        + POSITION_0_GAIN_1_SQUARE_VELOCITY_1 * action[0] ** 2 * state.velocity_1
    )
    velocity_1_rate = (
        POSITION_1_GAIN_2 * action[1]
        + POSITION_1_SPRING * state.position_1
        + POSITION_1_DRAG * state.velocity_1
        + POSITION_1_BY_COS_POSITION_2 * np.cos(state.position_2)
        + POSITION_1_SPRING_POSITION_3 * (state.position_1 - state.position_3)
    )
    return (
        state.velocity_0, state.velocity_1, state.velocity_2, state.velocity_3, velocity_0_rate, velocity_1_rate, velocity_2_gained,
        velocity_3_gained,
    )


def nudged(state, slope, time):
    """The state after a time of even change."""
    return state._replace(
        position_0=state.position_0 + time * slope[0],
        position_1=state.position_1 + time * slope[1],
        position_2=state.position_2 + time * slope[2],
        position_3=state.position_3 + time * slope[3],
        velocity_0=state.velocity_0 + time * slope[4],
        velocity_1=state.velocity_1 + time * slope[5],
        velocity_2=state.velocity_2 + time * slope[6],
        velocity_3=state.velocity_3 + time * slope[7],
    )


def step(state, action):
    """One step."""
    k1 = rates(state, action)
    k2 = rates(nudged(state, k1, DT / 2), action)
    k3 = rates(nudged(state, k2, DT / 2), action)
    k4 = rates(nudged(state, k3, DT), action)
    position_0 = state.position_0 + DT / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
    position_1 = state.position_1 + DT / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])
    position_2 = state.position_2 + DT / 6 * (k1[2] + 2 * k2[2] + 2 * k3[2] + k4[2])
    position_3 = state.position_3 + DT / 6 * (k1[3] + 2 * k2[3] + 2 * k3[3] + k4[3])
    velocity_0 = state.velocity_0 + DT / 6 * (k1[4] + 2 * k2[4] + 2 * k3[4] + k4[4])
    velocity_1 = state.velocity_1 + DT / 6 * (k1[5] + 2 * k2[5] + 2 * k3[5] + k4[5])
    velocity_2 = state.velocity_2 + DT / 6 * (k1[6] + 2 * k2[6] + 2 * k3[6] + k4[6])
    velocity_3 = state.velocity_3 + DT / 6 * (k1[7] + 2 * k2[7] + 2 * k3[7] + k4[7])
    velocity_0 = np.clip(velocity_0, VELOCITY_0_SEEN_FROM, VELOCITY_0_SEEN_TO)
    velocity_1 = np.clip(velocity_1, VELOCITY_1_SEEN_FROM, VELOCITY_1_SEEN_TO)
    velocity_2 = np.clip(velocity_2, VELOCITY_2_SEEN_FROM, VELOCITY_2_SEEN_TO)
    velocity_3 = np.clip(velocity_3, VELOCITY_3_SEEN_FROM, VELOCITY_3_SEEN_TO)
    position_0 = np.clip(position_0, POSITION_0_SEEN_FROM, POSITION_0_SEEN_TO)
    position_1 = np.clip(position_1, POSITION_1_SEEN_FROM, POSITION_1_SEEN_TO)
    position_2 = np.clip(position_2, POSITION_2_SEEN_FROM, POSITION_2_SEEN_TO)
    position_3 = np.clip(position_3, POSITION_3_SEEN_FROM, POSITION_3_SEEN_TO)
    return state._replace(
        position_0=position_0, position_1=position_1, position_2=position_2, position_3=position_3, velocity_0=velocity_0,
        velocity_1=velocity_1, velocity_2=velocity_2, velocity_3=velocity_3,
    )


def reward(state, action, next_state):
    """What a step is worth."""
    return 0.0
