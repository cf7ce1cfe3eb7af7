"""dmc:reacher/hard: chain (position_0, position_1), drive (position_0, position_1), viscous (position_0, position_1), soft stop (position_1).

Verdict: valid-inside; 25-step error 0.01 of the spread of motion on held-out stretches (90 % below 0.03); 61 of 560 steps are not explained, to_target_1_shift between 0.00275 and 0.07513.
Held-out error (median, of each field's spread of change): 9.4e-11 after 1, 4.1e-11 after 5, 2.8e-11 after 25 steps.
Found from 2000 steps of the world by visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

DT = 0.02  # s, one physics step
POSITION_0_INERTIA = 1.0  # the unit of inertias and forces
POSITION_1_INERTIA = 0.2396961392  # of this link with all it carries
POSITION_0_POSITION_1_COUPLING = 0.3480296943  # force at one per acceleration of the other, where they are parallel
POSITION_0_TORQUE = 63.52138324  # force at the joint per action
POSITION_1_TORQUE = 63.52138324  # force at the joint per action
POSITION_0_DAMPING = 12.70427665  # force per speed at the joint
POSITION_1_DAMPING = 12.70427665  # force per speed at the joint
POSITION_1_LOW_END = -2.856672277  # beyond it position_1 is pushed back
POSITION_1_HIGH_END = 2.838710294  # beyond it position_1 is pushed back
POSITION_1_STOP_STIFFNESS = 597.8000806  # 1/s^2  acceleration of the stop per depth
POSITION_1_STOP_BRAKING = 48.49092148  # 1/s  the same per speed
POSITION_1_STOP_GIVE = 1.000000085e-05  # what the stop gives way to force
INSIDE_1 = 2.805770827  # beyond it, steps were seen that these laws do not give
INSIDE_2 = -2.87535955  # beyond it, steps were seen that these laws do not give


class State(NamedTuple):
    position_0: float
    position_1: float
    velocity_0: float
    velocity_1: float
    to_target_0_shift: float
    to_target_1_shift: float


def mass_matrix(lumps, angles):
    """The force on link i per acceleration of link j."""
    links = range(len(angles))
    return [[lumps[i][j] * np.cos(angles[i] - angles[j]) for j in links] for i in links]


def centrifugal(lumps, angles, spins):
    """The force that the turning of all links asks of each."""
    links = range(len(angles))
    return [sum(lumps[i][j] * np.sin(angles[i] - angles[j]) * spins[j] ** 2 for j in links) for i in links]


def add_at_joints(matrix, amounts, parents):
    """The mass matrix with inertia at joints, against a link's speed relative to its parent (None: the ground)."""
    matrix = [list(row) for row in matrix]
    for link, parent in enumerate(parents):
        matrix[link][link] = matrix[link][link] + amounts[link]
        if parent is not None:
            matrix[parent][parent] = matrix[parent][parent] + amounts[link]
            matrix[link][parent] = matrix[link][parent] - amounts[link]
            matrix[parent][link] = matrix[parent][link] - amounts[link]
    return matrix


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


def step(state, action):
    """One step."""
    angles = (state.position_0, state.position_0 + state.position_1)
    spins = (state.velocity_0, state.velocity_0 + state.velocity_1)
    lumps = (
        (POSITION_0_INERTIA, POSITION_0_POSITION_1_COUPLING),
        (POSITION_0_POSITION_1_COUPLING, POSITION_1_INERTIA),
    )
    joints = (
        POSITION_0_TORQUE * action[0] - POSITION_0_DAMPING * state.velocity_0,
        POSITION_1_TORQUE * action[1] - POSITION_1_DAMPING * state.velocity_1,
    )
    turning = centrifugal(lumps, angles, spins)
    forces = (
        joints[0] - joints[1] - turning[0],
        joints[1] - turning[1],
    )
    mass = mass_matrix(lumps, angles)
    forces = stop_links(
        forces, mass, (-1.0, 1.0), state.position_1, state.velocity_1, POSITION_1_LOW_END, POSITION_1_HIGH_END, POSITION_1_STOP_STIFFNESS,
        POSITION_1_STOP_BRAKING, POSITION_1_STOP_GIVE,
    )
    mass = add_at_joints(mass, (DT * POSITION_0_DAMPING, DT * POSITION_1_DAMPING,), (None, 0))
    gained = solve(mass, forces)
    velocity_0 = state.velocity_0 + DT * (gained[0])
    velocity_1 = state.velocity_1 + DT * (-gained[0] + gained[1])
    position_0 = state.position_0 + DT * velocity_0
    position_1 = state.position_1 + DT * velocity_1
    return state._replace(position_0=position_0, position_1=position_1, velocity_0=velocity_0, velocity_1=velocity_1)


def observe(state):
    """What is seen of a state."""
    return (
        state.position_0,  # position_0
        state.position_1,  # position_1
        state.to_target_0_shift - 0.12 * np.cos(state.position_0 + state.position_1) - 0.12 * np.cos(state.position_0),  # to_target_0
        state.to_target_1_shift - 0.12 * np.sin(state.position_0 + state.position_1) - 0.12 * np.sin(state.position_0),  # to_target_1
        state.velocity_0,  # velocity_0
        state.velocity_1,  # velocity_1
    )


def read(observation):
    """A state that gives this observation."""
    position_0 = observation[0]
    position_1 = observation[1]
    velocity_0 = observation[4]
    velocity_1 = observation[5]
    to_target_0_shift = observation[2] - (-0.12 * np.cos(position_0 + position_1) - 0.12 * np.cos(position_0))
    to_target_1_shift = observation[3] - (-0.12 * np.sin(position_0 + position_1) - 0.12 * np.sin(position_0))
    return State(position_0=position_0, position_1=position_1, velocity_0=velocity_0, velocity_1=velocity_1, to_target_0_shift=to_target_0_shift, to_target_1_shift=to_target_1_shift)


def valid(state):
    """Whether these laws were seen to hold in this state."""
    return ~((state.position_1 > INSIDE_1) | (state.position_1 < INSIDE_2))


def reward(state, action, next_state):
    """What a step is worth."""
    return 0.0
