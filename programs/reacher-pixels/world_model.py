"""Reacher: 2 links with inertia and damping, turned by torques; wrist limited.

Form: joint+second+wrist; it explains 14 of 14 probes.
Validation error (median finger_m): 0.00022 after 1, 0.00037 after 5, 0.00041 after 8, 0.00042 after 12 steps.
Validation error (median q_rad): 0.0017 after 1, 0.0025 after 5, 0.0028 after 8, 0.0028 after 12 steps.
Fitted to 50 episodes (sha256 ad2a4d0083bb), seed 0, visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

STEP_SECONDS = 0.03994534  # s  +- 1e-05  duration of one step
SUBSTEPS = 2  # physics steps in one step
UPPER_ARM_LENGTH = 0.1200812  # m  +- 6e-06  length of the link
FOREARM_LENGTH = 0.1198512  # m  +- 6e-06  length of the link
UPPER_ARM_INERTIA = 0.01571809  # s^2  +- 8e-06  inertia of the link about its hinge, with all beyond it at its end
FOREARM_INERTIA = 0.003780254  # s^2  +- 2e-06  inertia of the link about its hinge, with all beyond it at its end
FOREARM_COUPLING = 0.7098712  # +- 0.0004  inertia that it shares with the link before, of all that masses allow
HINGE_DAMPING = 0.1997166  # s  +- 7e-05  torque against a hinge's speed
WRIST_LIMIT = 2.793973  # rad  +- 0.0007  how far it bends either way
WRIST_STIFFNESS = 677.7063  # 1/s^2  +- 8  pull of the stop back to the limit
WRIST_BRAKING = 52.50602  # 1/s  +- 0.3  loss of speed in the stop
WRIST_GIVE = 54.9339  # 1/s^2  +- 0.8  how much the stop gives way to a torque


class State(NamedTuple):
    shoulder: float  # rad
    wrist: float
    shoulder_velocity: float  # rad/s
    wrist_velocity: float
    finger_x: float  # m
    finger_y: float


def weigh_chain(angles, speeds, torques, length, inertia, coupling, damping):
    """The chain's inertia matrix, and the torques at its hinges with those of damping and of its own whirling."""
    links = range(len(inertia))
    ahead = [sum(angles[: i + 1]) for i in links]
    spins = [sum(speeds[: i + 1]) for i in links]
    shared = [[inertia[i] if i == j else 0.0 for j in links] for i in links]
    whirl = [0.0 for _ in links]
    for j in links:
        for i in range(j):
            moment = length[i] / length[j - 1] * coupling[j - 1] * np.sqrt(inertia[j - 1] * inertia[j])
            shared[i][j] = shared[j][i] = moment * np.cos(ahead[j] - ahead[i])
            sway = moment * np.sin(ahead[j] - ahead[i])
            whirl[i], whirl[j] = whirl[i] + sway * spins[j] ** 2, whirl[j] - sway * spins[i] ** 2
    # A hinge turns every link beyond it.
    matrix = [[sum(shared[i][j] for i in links[a:] for j in links[b:]) for b in links] for a in links]
    return matrix, [torques[a] - damping * speeds[a] + sum(whirl[a:]) for a in links]

def solve(matrix, right):
    """The solution of a few linear equations by elimination; a mass matrix is positive definite and needs no pivots."""
    if len(right) == 0:
        return ()
    top, rest = matrix[0], range(1, len(right))
    shares = [row[0] / top[0] for row in matrix]
    smaller = [[matrix[i][j] - shares[i] * top[j] for j in rest] for i in rest]
    others = solve(smaller, [right[i] - shares[i] * right[0] for i in rest])
    return ((right[0] - sum(top[j] * others[j - 1] for j in rest)) / top[0], *others)

def soft_stop(torques, matrix, angles, speeds, hinge, limit, stiffness, braking, give):
    """The torques with that of a damped spring that pushes a hinge back from beyond its limit and never pulls."""
    side, depth = np.sign(angles[hinge]), np.abs(angles[hinge]) - limit
    wanted = -side * stiffness * depth - braking * speeds[hinge]
    alone = [1.0 if i == hinge else 0.0 for i in range(len(torques))]
    push = (wanted - solve(matrix, torques)[hinge]) / (give + solve(matrix, alone)[hinge])
    push = np.where((depth > 0) & (side * push < 0), push, 0.0)
    return [torque + push * part for torque, part in zip(torques, alone, strict=True)]

def swing(angles, speeds, matrix, torques, dt, damping):
    """A physics step of the chain; damping acts on the new speeds."""
    damped = [[part + dt * damping if i == j else part for j, part in enumerate(row)] for i, row in enumerate(matrix)]
    speeds = tuple(speed + dt * change for speed, change in zip(speeds, solve(damped, torques), strict=True))
    return tuple(angle + dt * speed for angle, speed in zip(angles, speeds, strict=True)), speeds

def end_of_links(angles, length):
    """Where the last link ends."""
    x, y, angle = 0.0, 0.0, 0.0
    for turn, link in zip(angles, length, strict=True):
        angle = angle + turn
        x, y = x + link * np.cos(angle), y + link * np.sin(angle)
    return x, y


def step(state, action):
    """2 links with inertia and damping, turned by torques; wrist limited."""
    angles = (state.shoulder, state.wrist)
    speeds = (state.shoulder_velocity, state.wrist_velocity)
    dt = STEP_SECONDS / SUBSTEPS
    for _ in range(SUBSTEPS):
        matrix, torques = weigh_chain(
            angles, speeds, action, length=(UPPER_ARM_LENGTH, FOREARM_LENGTH),
            inertia=(UPPER_ARM_INERTIA, FOREARM_INERTIA), coupling=(FOREARM_COUPLING,), damping=HINGE_DAMPING,
        )
        torques = soft_stop(
            torques, matrix, angles, speeds, 1, limit=WRIST_LIMIT, stiffness=WRIST_STIFFNESS, braking=WRIST_BRAKING,
            give=WRIST_GIVE,
        )
        angles, speeds = swing(angles, speeds, matrix, torques, dt, damping=HINGE_DAMPING)
    finger = end_of_links(angles, length=(UPPER_ARM_LENGTH, FOREARM_LENGTH))
    shoulder, wrist = angles
    shoulder_velocity, wrist_velocity = speeds
    finger_x, finger_y = finger
    return State(shoulder, wrist, shoulder_velocity, wrist_velocity, finger_x, finger_y)
