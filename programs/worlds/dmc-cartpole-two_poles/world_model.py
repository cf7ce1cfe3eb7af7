"""dmc:cartpole/two_poles: chain (position_0, angle, angle_2), gravity (position_0, angle, angle_2), drive (position_0), viscous (position_0, angle, angle_2), soft stop (position_0).

Verdict: valid-inside; 25-step error 7e-11 of the spread of motion on held-out stretches (90 % below 5e-10); 32 of 1160 steps are not explained, velocity_0 between -7.778 and 0.9671.
Held-out error (median, of each field's spread of change): 1.1e-10 after 1, 1.1e-10 after 5, 9e-11 after 25 steps.
Found from 2000 steps of the world by visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

DT = 0.01  # s, one physics step
POSITION_0_MASS = 1.0  # the unit of inertias and forces
ANGLE_INERTIA = 0.112020494  # of this link with all it carries
ANGLE_2_INERTIA = 0.02868716064  # of this link with all it carries
ANGLE_MOMENT = 0.125  # mass times distance, of this link with all it carries
ANGLE_2_MOMENT = 0.04166666667  # mass times distance, of this link with all it carries
ANGLE_LENGTH = 1.0  # from this joint to the next
GRAVITY = 9.81
POSITION_0_PUSH = 8.333333333  # force at the joint per action
POSITION_0_DAMPING = 0.0004166666667  # +- 2e-12  force per speed at the joint
ANGLE_DAMPING = 1.666666667e-06  # +- 5e-13  force per speed at the joint
ANGLE_2_DAMPING = 1.666666667e-06  # +- 8e-14  force per speed at the joint
POSITION_0_LOW_END = -1.800058196  # beyond it position_0 is pushed back
POSITION_0_HIGH_END = 1.800036328  # beyond it position_0 is pushed back
POSITION_0_STOP_STIFFNESS = 164.3801549  # 1/s^2  acceleration of the stop per depth
POSITION_0_STOP_BRAKING = 26.29720532  # 1/s  the same per speed
POSITION_0_STOP_GIVE = 0.06049770821  # what the stop gives way to force
INSIDE_1 = 1.992629093  # beyond it, steps were seen that these laws do not give


class State(NamedTuple):
    position_0: float
    angle: float
    angle_2: float
    velocity_0: float
    velocity_1: float
    velocity_2: float


def mass_matrix(lumps, angles):
    """The force on link i per acceleration of link j."""
    links = range(len(angles))
    return [[lumps[i][j] * np.cos(angles[i] - angles[j]) for j in links] for i in links]


def centrifugal(lumps, angles, spins):
    """The force that the turning of all links asks of each."""
    links = range(len(angles))
    return [sum(lumps[i][j] * np.sin(angles[i] - angles[j]) * spins[j] ** 2 for j in links) for i in links]


def solve(matrix, right):
    """The solution of a few linear equations by elimination; a mass matrix is positive definite and needs no pivots."""
    if len(right) == 0:
        return ()
    top, rest = matrix[0], range(1, len(right))
    shares = [row[0] / top[0] for row in matrix]
    smaller = [[matrix[i][j] - shares[i] * top[j] for j in rest] for i in rest]
    others = solve(smaller, [right[i] - shares[i] * right[0] for i in rest])
    return ((right[0] - sum(top[j] * others[j - 1] for j in rest)) / top[0], *others)


def stop_links(forces, mass, shares, place, speed, low, high, stiffness, braking, give):
    """Forces on links with those of a soft stop: beyond its ends the sum of `shares` is pushed back, never pulled.

    The stop asks for an acceleration, as a damped spring has it, and gets it but for what it gives way to force.
    """
    over = np.maximum(place - high, 0.0) + np.minimum(place - low, 0.0)
    eased = sum(share * part for share, part in zip(shares, solve(mass, shares), strict=True))
    free = sum(share * part for share, part in zip(shares, solve(mass, forces), strict=True))
    push = (-stiffness * over - braking * speed - free) / (eased + give)
    push = np.where(over * push < 0, push, 0.0)
    return [force + share * push for share, force in zip(shares, forces, strict=True)]


def rates(state, action):
    """How fast each field changes."""
    angles = (0.0, state.angle, state.angle + state.angle_2)
    spins = (0.0, state.velocity_1, state.velocity_1 + state.velocity_2)
    lumps = (
        (POSITION_0_MASS, ANGLE_MOMENT, ANGLE_2_MOMENT),
        (ANGLE_MOMENT, ANGLE_INERTIA, ANGLE_LENGTH * ANGLE_2_MOMENT),
        (ANGLE_2_MOMENT, ANGLE_LENGTH * ANGLE_2_MOMENT, ANGLE_2_INERTIA),
    )
    joints = (
        POSITION_0_PUSH * action[0] - POSITION_0_DAMPING * state.velocity_0,
        -ANGLE_DAMPING * state.velocity_1,
        -ANGLE_2_DAMPING * state.velocity_2,
    )
    turning = centrifugal(lumps, angles, spins)
    forces = (
        joints[0] - turning[0],
        joints[1] - joints[2] + GRAVITY * ANGLE_MOMENT * np.sin(angles[1]) - turning[1],
        joints[2] + GRAVITY * ANGLE_2_MOMENT * np.sin(angles[2]) - turning[2],
    )
    mass = mass_matrix(lumps, angles)
    forces = stop_links(
        forces, mass, (1.0, 0.0, 0.0), state.position_0, state.velocity_0, POSITION_0_LOW_END, POSITION_0_HIGH_END,
        POSITION_0_STOP_STIFFNESS, POSITION_0_STOP_BRAKING, POSITION_0_STOP_GIVE,
    )
    gained = solve(mass, forces)
    return (state.velocity_0, state.velocity_1, state.velocity_2, gained[0], gained[1], -gained[1] + gained[2],)


def nudged(state, slope, time):
    """The state after a time of even change."""
    return state._replace(
        position_0=state.position_0 + time * slope[0], angle=state.angle + time * slope[1],
        angle_2=state.angle_2 + time * slope[2],
        velocity_0=state.velocity_0 + time * slope[3],
        velocity_1=state.velocity_1 + time * slope[4],
        velocity_2=state.velocity_2 + time * slope[5],
    )


def step(state, action):
    """One step."""
    k1 = rates(state, action)
    k2 = rates(nudged(state, k1, DT / 2), action)
    k3 = rates(nudged(state, k2, DT / 2), action)
    k4 = rates(nudged(state, k3, DT), action)
    position_0 = state.position_0 + DT / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
    angle = state.angle + DT / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])
    angle_2 = state.angle_2 + DT / 6 * (k1[2] + 2 * k2[2] + 2 * k3[2] + k4[2])
    velocity_0 = state.velocity_0 + DT / 6 * (k1[3] + 2 * k2[3] + 2 * k3[3] + k4[3])
    velocity_1 = state.velocity_1 + DT / 6 * (k1[4] + 2 * k2[4] + 2 * k3[4] + k4[4])
    velocity_2 = state.velocity_2 + DT / 6 * (k1[5] + 2 * k2[5] + 2 * k3[5] + k4[5])
    return state._replace(
        position_0=position_0, angle=angle, angle_2=angle_2, velocity_0=velocity_0, velocity_1=velocity_1, velocity_2=velocity_2,
    )


def observe(state):
    """What is seen of a state."""
    return (
        state.position_0,  # position_0
        np.cos(state.angle),  # position_1
        np.sin(state.angle),  # position_2
        np.cos(state.angle + state.angle_2),  # position_3
        np.sin(state.angle + state.angle_2),  # position_4
        state.velocity_0,  # velocity_0
        state.velocity_1,  # velocity_1
        state.velocity_2,  # velocity_2
    )


def read(observation):
    """A state that gives this observation."""
    position_0 = observation[0]
    angle = np.arctan2(observation[2], observation[1])
    angle_2 = np.arctan2(observation[4], observation[3]) - angle
    velocity_0 = observation[5]
    velocity_1 = observation[6]
    velocity_2 = observation[7]
    return State(position_0=position_0, angle=angle, angle_2=angle_2, velocity_0=velocity_0, velocity_1=velocity_1, velocity_2=velocity_2)


def wrap(angle):
    """The angle within half a turn of zero."""
    return np.mod(angle + np.pi, 2 * np.pi) - np.pi


def valid(state):
    """Whether these laws were seen to hold in this state."""
    return ~((np.abs(state.position_0) > INSIDE_1))


def reward(state, action, next_state):
    """What a step is worth."""
    return 0.203 * np.cos(next_state.angle + next_state.angle_2) + 0.11 * np.cos(state.angle) + 4.0 * np.sin(state.angle + state.angle_2) * (np.sin(next_state.angle) - np.sin(state.angle)) + 0.313 + 2.5 * np.sin(state.angle) * (next_state.position_0 - state.position_0) - 0.09 * state.velocity_2 * (np.cos(next_state.angle) - np.cos(state.angle)) + 0.7 * (np.cos(next_state.angle_2) - np.cos(state.angle_2)) + 0.0027 * state.velocity_2 * (next_state.velocity_1 - state.velocity_1) - 0.084 * state.velocity_1 * (np.sin(next_state.angle) - np.sin(state.angle)) - 1.2 * np.cos(state.angle) * (np.cos(next_state.angle_2) - np.cos(state.angle_2)) + 3.0 * np.sin(state.angle_2) * (np.sin(next_state.angle) - np.sin(state.angle)) + 0.7 * np.sin(state.angle_2) * (np.sin(next_state.angle_2) - np.sin(state.angle_2)) + 0.5 * np.sin(state.angle + state.angle_2) * (np.sin(next_state.angle + next_state.angle_2) - np.sin(state.angle + state.angle_2)) - 0.6 * wrap(state.angle_2) * (np.sin(next_state.angle) - np.sin(state.angle))
