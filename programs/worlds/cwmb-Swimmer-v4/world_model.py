"""the arrays: chain (x0, x1, x2), drive (x1, x2), viscous (x0, x2), soft stop (x1), stop (x2).

EMPIRICAL: no law explains this world; what follows is the best that was found, and may be wrong anywhere.

Verdict: unexplained; 25-step error 0.5 of the spread of motion on held-out stretches (90 % below 1); most is left of x4: 1.1 of its spread after 25 steps.
Held-out error (median, of each field's spread of change): 0.31 after 1, 0.41 after 5, 0.74 after 25 steps.
Found from a log by visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

DT = 0.002857142857  # s, one physics step
SUBSTEPS = 14  # physics steps in one step
X0_INERTIA = 1.0  # the unit of inertias and forces
X1_INERTIA = 1.919948  # +- 0.1  of this link with all it carries
X2_INERTIA = 0.8238851077  # +- 0.08  of this link with all it carries
X0_X1_COUPLING = 0.8810132531  # +- 0.03  force at one per acceleration of the other, where they are parallel
X0_X2_COUPLING = 0.3158795839  # +- 0.02  force at one per acceleration of the other, where they are parallel
X1_X2_COUPLING = 0.760228222  # +- 0.07  force at one per acceleration of the other, where they are parallel
X1_TORQUE = 11.48944481  # +- 0.5  force at the joint per action
X2_TORQUE = 10.86207249  # +- 0.9  force at the joint per action
X0_DAMPING = 2.470920878  # +- 0.1  force per speed at the joint
X2_DAMPING = 1.033764805  # +- 0.09  force per speed at the joint
X1_LOW_END = -1.747884307  # beyond it x1 is pushed back
X1_STOP_STIFFNESS = 5102.040816  # 1/s^2  acceleration of the stop per depth
X1_STOP_BRAKING = 142.8571429  # 1/s  the same per speed
X1_STOP_GIVE = 1e-05  # what the stop gives way to force
X2_LOW_WALL = -1.75  # x2 is stopped there


class State(NamedTuple):
    x0: float
    x1: float
    x2: float
    x3: float
    x4: float
    x0_speed: float
    x1_speed: float
    x2_speed: float


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
    angles = (state.x0, state.x0 + state.x1, state.x0 + state.x1 + state.x2)
    spins = (state.x0_speed, state.x0_speed + state.x1_speed, state.x0_speed + state.x1_speed + state.x2_speed)
    lumps = (
        (X0_INERTIA, X0_X1_COUPLING, X0_X2_COUPLING),
        (X0_X1_COUPLING, X1_INERTIA, X1_X2_COUPLING),
        (X0_X2_COUPLING, X1_X2_COUPLING, X2_INERTIA),
    )
    joints = (-X0_DAMPING * state.x0_speed, X1_TORQUE * action[0], X2_TORQUE * action[1] - X2_DAMPING * state.x2_speed)
    turning = centrifugal(lumps, angles, spins)
    forces = (
        joints[0] - joints[1] - turning[0],
        joints[1] - joints[2] - turning[1],
        joints[2] - turning[2],
    )
    mass = mass_matrix(lumps, angles)
    forces = stop_links(
        forces, mass, (-1.0, 1.0, 0.0), state.x1, state.x1_speed, X1_LOW_END, np.inf, X1_STOP_STIFFNESS, X1_STOP_BRAKING, X1_STOP_GIVE,
    )
    gained = solve(mass, forces)
    x0_speed = state.x0_speed + DT * (gained[0])
    x1_speed = state.x1_speed + DT * (-gained[0] + gained[1])
    x2_speed = state.x2_speed + DT * (-gained[1] + gained[2])
    x0 = state.x0 + DT * x0_speed
    x1 = state.x1 + DT * x1_speed
    x2 = state.x2 + DT * x2_speed
    x2_speed = np.where((x2 < X2_LOW_WALL) & (x2_speed < 0), 0.0, x2_speed)
    x2 = np.maximum(x2, X2_LOW_WALL)
    return state._replace(x0=x0, x1=x1, x2=x2, x0_speed=x0_speed, x1_speed=x1_speed, x2_speed=x2_speed)


def step(state, action):
    """One step: the action is held over all physics steps."""
    for _ in range(SUBSTEPS):
        state = move(state, action)
    return state


def reward(state, action, next_state):
    """What a step is worth."""
    return 0.46 * next_state.x3 + 0.53 * state.x3 + 0.02 * np.abs(next_state.x3) + 0.004 * next_state.x2 - 0.004 * action[0] + 0.02 * (next_state.x4 - state.x4) + 0.008 * (next_state.x0_speed - state.x0_speed) - 0.04 * state.x3 ** 2 + 0.03 * next_state.x3 ** 2 + 0.4 * (next_state.x2 - state.x2) + 0.02 * state.x1_speed + 0.5 * (next_state.x0 - state.x0) - 0.006 * next_state.x2_speed
