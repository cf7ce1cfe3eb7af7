"""Reacher: two links with inertia and damping, turned by torques; a limited wrist.

Form: joint+second+wrist; it explains 14 of 14 probes.
Held-out error (median finger_m): 0.00022 after 1, 0.00039 after 5, 0.00047 after 8, 0.00043 after 12 steps.
Held-out error (median q_rad): 0.0018 after 1, 0.0032 after 5, 0.0034 after 8, 0.0033 after 12 steps.
Fitted to 12 episodes (sha256 f07c9005a7f5), seed 0, visualpatchworld 0.1.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

STEP_SECONDS = 0.03997041  # s  +- 2e-05  duration of one step
SUBSTEPS = 2  # physics steps in one step
LINK_1 = 0.1201017  # m  +- 1e-05  length of the upper arm
LINK_2 = 0.119842  # m  +- 9e-06  length from the wrist to the fingertip
UPPER = 0.01582384  # s^2  +- 1e-05  inertia about the shoulder, with the forearm's mass at the wrist
FOREARM = 0.003772689  # s^2  +- 3e-06  inertia of the forearm about the wrist
COUPLING = 0.6965502  # +- 0.0008  inertia that the joints share, between none and all that masses allow
DAMPING = 0.1997092  # s  +- 0.0001  torque against a joint's speed
LIMIT = 2.790803  # rad  +- 0.002  how far the wrist bends either way
STIFFNESS = 654.8064  # 1/s^2  +- 2e+01  pull of the wrist's stop back to the limit
BRAKING = 52.73414  # 1/s  +- 0.7  loss of the wrist's speed in its stop
YIELD = 56.30975  # 1/s^2  +- 2  how much the stop gives way to a torque


class State(NamedTuple):
    shoulder: float  # rad
    wrist: float
    shoulder_velocity: float  # rad/s
    wrist_velocity: float
    finger_x: float  # m, from the base
    finger_y: float


def fingertip(shoulder, wrist, link_1, link_2):
    """The end of two links; the second one's angle counts from the first."""
    x = link_1 * np.cos(shoulder) + link_2 * np.cos(shoulder + wrist)
    y = link_1 * np.sin(shoulder) + link_2 * np.sin(shoulder + wrist)
    return x, y


def accelerations(inertia, torques):
    """Of two joints whose inertia is the matrix ((a, b), (b, c))."""
    a, b, c = inertia
    det = a * c - b * b
    return (c * torques[0] - b * torques[1]) / det, (a * torques[1] - b * torques[0]) / det


def stop_wrist(wrist, speed, inertia, torques):
    """Beyond its limit the wrist meets a damped spring that pushes it back and never pulls; the torques with the spring's."""
    a, b, c = inertia
    side, depth = np.sign(wrist), np.abs(wrist) - LIMIT
    wanted = -side * STIFFNESS * depth - BRAKING * speed
    push = (wanted - accelerations(inertia, torques)[1]) / (YIELD + a / (a * c - b * b))
    return torques[0], torques[1] + np.where((depth > 0) & (side * push < 0), push, 0.0)


def swing(state, action):
    """A physics step of the arm: damping acts on the new speeds, and each joint feels the other's motion."""
    shoulder, wrist, v1, v2, *finger = state
    dt = STEP_SECONDS / SUBSTEPS
    coupling = COUPLING * np.sqrt(UPPER * FOREARM)
    shared, whirl = coupling * np.cos(wrist), coupling * np.sin(wrist)
    inertia = (UPPER + FOREARM + 2 * shared, FOREARM + shared, FOREARM)
    torques = (action[0] - DAMPING * v1 + whirl * v2 * (2 * v1 + v2), action[1] - DAMPING * v2 - whirl * v1**2)
    torques = stop_wrist(wrist, v2, inertia, torques)
    a1, a2 = accelerations((inertia[0] + dt * DAMPING, inertia[1], inertia[2] + dt * DAMPING), torques)
    v1, v2 = v1 + dt * a1, v2 + dt * a2
    return State(shoulder + dt * v1, wrist + dt * v2, v1, v2, *finger)


def step(state, action):
    """One step: the action is the torque at the joints throughout."""
    for _ in range(SUBSTEPS):
        state = swing(state, action)
    x, y = fingertip(state.shoulder, state.wrist, LINK_1, LINK_2)
    return state._replace(finger_x=x, finger_y=y)
