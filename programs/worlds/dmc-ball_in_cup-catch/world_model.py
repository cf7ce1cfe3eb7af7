"""dmc:ball_in_cup/catch: chain (position_0, position_1, position_2, position_3), gravity (position_0, position_1, position_2, position_3), soft stop (position_1).

EMPIRICAL: no law explains this world; what follows is the best sum of terms, and may be wrong anywhere.

Verdict: unexplained; 25-step error 2 of the spread of motion on held-out stretches (90 % below 3); most is left of position_0: 3.9 of its spread after 25 steps.
Held-out error (median, of each field's spread of change): 0.16 after 1, 0.37 after 5, 0.75 after 25 steps.
Found from 1936 steps of the world by visualpatchworld 0.1.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

DT = 0.005  # s, one physics step
SUBSTEPS = 4  # physics steps in one step
POSITION_0_INERTIA = 1.0  # the unit of inertias and forces
POSITION_1_INERTIA = 1.0  # the unit of inertias and forces
POSITION_2_INERTIA = 1.0  # the unit of inertias and forces
POSITION_3_INERTIA = 5.08133363e+26  # +- 3e+24  of this link with all it carries
POSITION_1_POSITION_3_COUPLING = -0.1725027792  # +- 0.009  force at one per acceleration of the other, where they are parallel
POSITION_2_PULL = -25.32649828  # +- 0.3  torque of gravity where the link lies level
POSITION_3_PULL = -1.170358484e+28  # +- 8e+25  torque of gravity where the link lies level
POSITION_1_LOW_END = -0.3627025823  # beyond it position_1 is pushed back
POSITION_1_HIGH_END = 0.1211009587  # beyond it position_1 is pushed back
POSITION_1_STOP_STIFFNESS = 2500.0  # 1/s^2  acceleration of the stop per depth
POSITION_1_STOP_BRAKING = 100.0  # 1/s  the same per speed
POSITION_1_STOP_GIVE = 1.0  # what the stop gives way to force


class State(NamedTuple):
    position_0: float
    position_1: float
    position_2: float
    position_3: float
    velocity_0: float
    velocity_1: float
    velocity_2: float
    velocity_3: float


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
    """Forces on links with those of a soft stop: beyond its ends the sum of links that `shares` makes is pushed back, never pulled.

    The stop asks for an acceleration, as a damped spring has it, and gets it but for what it gives way to force.
    """
    over = np.maximum(place - high, 0.0) + np.minimum(place - low, 0.0)
    eased = sum(share * part for share, part in zip(shares, solve(mass, shares), strict=True))
    free = sum(share * part for share, part in zip(shares, solve(mass, forces), strict=True))
    push = (-stiffness * over - braking * speed - free) / (eased + give)
    push = np.where(over * push < 0, push, 0.0)
    return [force + share * push for share, force in zip(shares, forces, strict=True)]


def move(state, action):
    """One physics step."""
    angles = (state.position_0, state.position_1, state.position_2, state.position_3)
    spins = (state.velocity_0, state.velocity_1, state.velocity_2, state.velocity_3)
    lumps = (
        (POSITION_0_INERTIA, 0.0, 0.0, 0.0),
        (0.0, POSITION_1_INERTIA, 0.0, POSITION_1_POSITION_3_COUPLING),
        (0.0, 0.0, POSITION_2_INERTIA, 0.0),
        (0.0, POSITION_1_POSITION_3_COUPLING, 0.0, POSITION_3_INERTIA),
    )
    joints = (0.0, 0.0, 0.0, 0.0)
    turning = centrifugal(lumps, angles, spins)
    forces = (
        -turning[0],
        -turning[1],
        POSITION_2_PULL * np.sin(angles[2]) - turning[2],
        POSITION_3_PULL * np.sin(angles[3]) - turning[3],
    )
    mass = mass_matrix(lumps, angles)
    forces = stop_links(forces, mass, (0.0, 1.0, 0.0, 0.0), state.position_1, state.velocity_1, POSITION_1_LOW_END, POSITION_1_HIGH_END, POSITION_1_STOP_STIFFNESS, POSITION_1_STOP_BRAKING, POSITION_1_STOP_GIVE)
    gained = solve(mass, forces)
    velocity_0 = state.velocity_0 + DT * (gained[0])
    velocity_1 = state.velocity_1 + DT * (gained[1])
    velocity_2 = state.velocity_2 + DT * (gained[2])
    velocity_3 = state.velocity_3 + DT * (gained[3])
    position_0 = state.position_0 + DT * velocity_0
    position_1 = state.position_1 + DT * velocity_1
    position_2 = state.position_2 + DT * velocity_2
    position_3 = state.position_3 + DT * velocity_3
    return state._replace(position_0=position_0, position_1=position_1, position_2=position_2, position_3=position_3, velocity_0=velocity_0, velocity_1=velocity_1, velocity_2=velocity_2, velocity_3=velocity_3)


def step(state, action):
    """One step: the action is held over all physics steps."""
    for _ in range(SUBSTEPS):
        state = move(state, action)
    return state


def reward(state, action, next_state):
    """What a step is worth."""
    return np.where((next_state.position_3 < 0.217) | (np.sqrt(next_state.position_2 ** 2 + next_state.position_0 ** 2) > 0.132) | (np.sqrt(next_state.position_3 ** 2 + next_state.position_0 ** 2) > 0.41) | (np.sqrt(next_state.position_1 ** 2 + next_state.position_0 ** 2) > 0.1268), 0.0, 1.0)
