"""What Reacher's dynamics may be: what the action moves, whether motion is remembered, and whether the arm has limits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from visualpatchworld.laws.constant import choice, positive, signed, threshold
from visualpatchworld.laws.family import Family, Role, Sketch
from visualpatchworld.laws.kinematics import accelerations, fingertip

STEP_SECONDS = positive("s", "duration of one step", 0.001, 10)
SUBSTEPS = choice("", "physics steps in one step", 1, 2, 3, 4, 5, 8, 10)
LINK_1 = positive("m", "length of the upper arm", 0.01, 10)
LINK_2 = positive("m", "length from the wrist to the fingertip", 0.01, 10)
# Torques count in units of the torque at full action, so inertia and damping have no kilograms in them.
UPPER = positive("s^2", "inertia about the shoulder, with the forearm's mass at the wrist", 1e-6, 1)
FOREARM = positive("s^2", "inertia of the forearm about the wrist", 1e-6, 1)
COUPLING = signed("", "inertia that the joints share, between none and all that masses allow", 0, 1)
DAMPING = positive("s", "torque against a joint's speed", 0.001, 10)
LIMIT = signed("rad", "how far the wrist bends either way", 0, 4)
STIFFNESS = positive("1/s^2", "pull of the wrist's stop back to the limit", 10, 10000)
BRAKING = positive("1/s", "loss of the wrist's speed in its stop", 1, 1000)
YIELD = positive("1/s^2", "how much the stop gives way to a torque", 0.1, 10000)
TURN_SPEED = positive("rad/s", "speed of a joint at full action", 0.01, 100)
STRIDE = positive("m", "way of the fingertip in one step at full action", 0.0001, 1)
MEMORY = signed("", "share of the fingertip's last way that it goes again", 0, 1)
FARTHEST = threshold("m", "distance of the fingertip from the base with the arm straight", 0, 2)
NEAREST = threshold("m", "distance of the fingertip from the base with the wrist bent all the way", 0, 2)

stop_wrist = Role("the torques at the joints, with what the wrist's stop adds")
bend = Role("how far the wrist bends when it is told to bend so far")
within_reach = Role("where the fingertip ends when it is told to go somewhere")


class State(NamedTuple):
    shoulder: float  # rad
    wrist: float
    shoulder_velocity: float  # rad/s
    wrist_velocity: float
    finger_x: float  # m, from the base
    finger_y: float


class GlidingState(NamedTuple):
    shoulder: float  # rad
    wrist: float
    shoulder_velocity: float  # rad/s
    wrist_velocity: float
    finger_x: float  # m, from the base
    finger_y: float
    way_x: float = 0.0  # m, of the fingertip in the last step; not observed
    way_y: float = 0.0


def torque_step(state, action):
    """One step: the action is the torque at the joints throughout."""
    for _ in range(SUBSTEPS):
        state = swing(state, action)
    x, y = fingertip(state.shoulder, state.wrist, LINK_1, LINK_2)
    return state._replace(finger_x=x, finger_y=y)


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


def free_wrist(wrist, speed, inertia, torques):
    """Nothing stops the wrist."""
    return torques


def stopped_wrist(wrist, speed, inertia, torques):
    """Beyond its limit the wrist meets a damped spring that pushes it back and never pulls; the torques with the spring's."""
    a, b, c = inertia
    side, depth = np.sign(wrist), np.abs(wrist) - LIMIT
    wanted = -side * STIFFNESS * depth - BRAKING * speed
    push = (wanted - accelerations(inertia, torques)[1]) / (YIELD + a / (a * c - b * b))
    return torques[0], torques[1] + np.where((depth > 0) & (side * push < 0), push, 0.0)


def turn_step(state, action):
    """One step: the action is the speed of the joints, and nothing of it stays."""
    shoulder = state.shoulder + STEP_SECONDS * TURN_SPEED * action[0]
    wrist = bend(state.wrist + STEP_SECONDS * TURN_SPEED * action[1])
    v1, v2 = (shoulder - state.shoulder) / STEP_SECONDS, (wrist - state.wrist) / STEP_SECONDS
    return State(shoulder, wrist, v1, v2, *fingertip(shoulder, wrist, LINK_1, LINK_2))


def any_bend(wrist):
    """The wrist bends as far as it is told."""
    return wrist


def limited_bend(wrist):
    """The wrist bends to its limit and no further."""
    return np.clip(wrist, -LIMIT, LIMIT)


def finger_step(state, action):
    """One step: the action moves the fingertip; nothing is said about the joints."""
    x, y = within_reach(state.finger_x + STRIDE * action[0], state.finger_y + STRIDE * action[1])
    return state._replace(finger_x=x, finger_y=y)


def gliding_finger_step(state, action):
    """One step: the action moves the fingertip, which goes on for a while; nothing is said about the joints."""
    x, y = state.finger_x + MEMORY * state.way_x + STRIDE * action[0], state.finger_y + MEMORY * state.way_y + STRIDE * action[1]
    x, y = within_reach(x, y)
    return state._replace(finger_x=x, finger_y=y, way_x=x - state.finger_x, way_y=y - state.finger_y)


def arm_length(x, y):
    """The arm ends the fingertip's way outwards."""
    scale = np.minimum(FARTHEST / np.sqrt(x * x + y * y + 1e-12), 1.0)
    return scale * x, scale * y


def arm_length_and_fold(x, y):
    """The arm ends the fingertip's way outwards, and the wrist's limit its way inwards."""
    distance = np.sqrt(x * x + y * y + 1e-12)
    scale = np.clip(distance, NEAREST, FARTHEST) / distance
    return scale * x, scale * y


STEPS = {
    ("cartesian", "first"): finger_step,
    ("cartesian", "second"): gliding_finger_step,
    ("joint", "first"): turn_step,
    ("joint", "second"): torque_step,
}
LIMITS = {
    "none": {"within_reach": arm_length, "bend": any_bend, "stop_wrist": free_wrist},
    "wrist": {"within_reach": arm_length_and_fold, "bend": limited_bend, "stop_wrist": stopped_wrist},
}
DRIVES = {
    ("cartesian", "first"): "a fingertip that the action moves",
    ("cartesian", "second"): "a fingertip that the action moves and that glides on",
    ("joint", "first"): "joints that turn as the action says",
    ("joint", "second"): "two links with inertia and damping, turned by torques",
}


def build(choices):
    """The sketch of one combination."""
    kind = choices["space"], choices["order"]
    limits = "a limited wrist" if choices["limits"] == "wrist" else "a free wrist"
    state = GlidingState if kind == ("cartesian", "second") else State
    return Sketch(choices, f"Reacher: {DRIVES[kind]}; {limits}.", state, {"step": STEPS[kind], **LIMITS[choices["limits"]]})


FAMILY = Family(axes={"space": ("cartesian", "joint"), "order": ("first", "second"), "limits": ("none", "wrist")}, build=build)
