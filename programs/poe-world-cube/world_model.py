"""Experts written by qwen2.5-coder-1.5b-instruct-q4_k_m in a poe-world search, multiplied."""


from typing import NamedTuple
import math
import numpy as np


class State(NamedTuple):
    effector_x: float  # m
    effector_y: float  # m
    effector_z: float  # m
    effector_yaw: float  # rad
    gripper_opening: float  # 0 open, 1 closed
    gripper_contact: float  # 0 none, 1 firm
    block_x: float  # m
    block_y: float  # m
    block_z: float  # m
    block_yaw: float  # rad


def make_0():
    def effector_x(state, action):
        if action[0] > 0:  # Effector moves forward
            return state.effector_x + action[0] * 0.01  # Assuming 0.01 m/s
        elif action[0] < 0:  # Effector moves backward
            return state.effector_x + action[0] * -0.01  # Assuming 0.01 m/s
        else:
            return state.effector_x


    def effector_y(state, action):
        if action[1] > 0:  # Effector moves upward
            return state.effector_y + action[1] * 0.01  # Assuming 0.01 m/s
        elif action[1] < 0:  # Effector moves downward
            return state.effector_y + action[1] * -0.01  # Assuming 0.01 m/s
        else:
            return state.effector_y


    def effector_z(state, action):
        if action[2] > 0:  # Effector moves forward
            return state.effector_z + action[2] * 0.01  # Assuming 0.01 m/s
        elif action[2] < 0:  # Effector moves backward
            return state.effector_z + action[2] * -0.01  # Assuming 0.01 m/s
        else:
            return state.effector_z


    def effector_yaw(state, action):
        if action[3] > 0:  # Effector rotates clockwise
            return state.effector_yaw + action[3] * 0.01  # Assuming 0.01 rad/s
        elif action[3] < 0:  # Effector rotates counterclockwise
            return state.effector_yaw + action[3] * -0.01  # Assuming 0.01 rad/s
        else:
            return state.effector_yaw


    def gripper_opening(state, action):
        if action[4] > 0:  # Gripper opens
            return state.g
    return effector_x

expert_0 = make_0()


def make_1():
    def effector_x(state, action):
        if action[0] > 0:  # Effector moves forward
            return state.effector_x + action[0] * 0.01  # Assuming 0.01 m/s
        elif action[0] < 0:  # Effector moves backward
            return state.effector_x + action[0] * -0.01  # Assuming 0.01 m/s
        else:
            return state.effector_x


    def effector_y(state, action):
        if action[1] > 0:  # Effector moves upward
            return state.effector_y + action[1] * 0.01  # Assuming 0.01 m/s
        elif action[1] < 0:  # Effector moves downward
            return state.effector_y + action[1] * -0.01  # Assuming 0.01 m/s
        else:
            return state.effector_y


    def effector_z(state, action):
        if action[2] > 0:  # Effector moves forward
            return state.effector_z + action[2] * 0.01  # Assuming 0.01 m/s
        elif action[2] < 0:  # Effector moves backward
            return state.effector_z + action[2] * -0.01  # Assuming 0.01 m/s
        else:
            return state.effector_z


    def effector_yaw(state, action):
        if action[3] > 0:  # Effector rotates clockwise
            return state.effector_yaw + action[3] * 0.01  # Assuming 0.01 rad/s
        elif action[3] < 0:  # Effector rotates counterclockwise
            return state.effector_yaw + action[3] * -0.01  # Assuming 0.01 rad/s
        else:
            return state.effector_yaw


    def gripper_opening(state, action):
        if action[4] > 0:  # Gripper opens
            return state.g
    return effector_y

expert_1 = make_1()


def make_2():
    def effector_x(state, action):
        if action[0] > 0:  # Effector moves forward
            return state.effector_x + action[0] * 0.01  # Assuming 0.01 m/s
        elif action[0] < 0:  # Effector moves backward
            return state.effector_x + action[0] * -0.01  # Assuming 0.01 m/s
        else:
            return state.effector_x


    def effector_y(state, action):
        if action[1] > 0:  # Effector moves upward
            return state.effector_y + action[1] * 0.01  # Assuming 0.01 m/s
        elif action[1] < 0:  # Effector moves downward
            return state.effector_y + action[1] * -0.01  # Assuming 0.01 m/s
        else:
            return state.effector_y


    def effector_z(state, action):
        if action[2] > 0:  # Effector moves forward
            return state.effector_z + action[2] * 0.01  # Assuming 0.01 m/s
        elif action[2] < 0:  # Effector moves backward
            return state.effector_z + action[2] * -0.01  # Assuming 0.01 m/s
        else:
            return state.effector_z


    def effector_yaw(state, action):
        if action[3] > 0:  # Effector rotates clockwise
            return state.effector_yaw + action[3] * 0.01  # Assuming 0.01 rad/s
        elif action[3] < 0:  # Effector rotates counterclockwise
            return state.effector_yaw + action[3] * -0.01  # Assuming 0.01 rad/s
        else:
            return state.effector_yaw


    def gripper_opening(state, action):
        if action[4] > 0:  # Gripper opens
            return state.g
    return effector_z

expert_2 = make_2()


def make_3():
    def effector_x(state, action):
        if action[0] > 0:  # Effector moves forward
            return state.effector_x + action[0] * 0.01  # Assuming 0.01 m/s
        elif action[0] < 0:  # Effector moves backward
            return state.effector_x + action[0] * -0.01  # Assuming 0.01 m/s
        else:
            return state.effector_x


    def effector_y(state, action):
        if action[1] > 0:  # Effector moves upward
            return state.effector_y + action[1] * 0.01  # Assuming 0.01 m/s
        elif action[1] < 0:  # Effector moves downward
            return state.effector_y + action[1] * -0.01  # Assuming 0.01 m/s
        else:
            return state.effector_y


    def effector_z(state, action):
        if action[2] > 0:  # Effector moves forward
            return state.effector_z + action[2] * 0.01  # Assuming 0.01 m/s
        elif action[2] < 0:  # Effector moves backward
            return state.effector_z + action[2] * -0.01  # Assuming 0.01 m/s
        else:
            return state.effector_z


    def effector_yaw(state, action):
        if action[3] > 0:  # Effector rotates clockwise
            return state.effector_yaw + action[3] * 0.01  # Assuming 0.01 rad/s
        elif action[3] < 0:  # Effector rotates counterclockwise
            return state.effector_yaw + action[3] * -0.01  # Assuming 0.01 rad/s
        else:
            return state.effector_yaw


    def gripper_opening(state, action):
        if action[4] > 0:  # Gripper opens
            return state.g
    return effector_yaw

expert_3 = make_3()


# field: its tolerance, and the experts that foresee it with their weights
EXPERTS = {
    "effector_x": (0.002, [(expert_0, 0.144856)]),
    "effector_y": (0.002, [(expert_1, 0.169383)]),
    "effector_z": (0.002, [(expert_2, 0.127809)]),
    "effector_yaw": (0.00144791, [(expert_3, 0.0229203)]),
    "gripper_opening": (0.000998891, []),
    "gripper_contact": (0.00176269, []),
    "block_x": (0.002, []),
    "block_y": (0.002, []),
    "block_z": (0.002, []),
    "block_yaw": (0.000436942, []),
}


def log_bump(distance):
    """The logarithm of an opinion so many tolerances away from the foreseen value."""
    return np.log((1 - 1e-6) * np.exp(-np.minimum(distance * distance / 0.18, 100.0)) + 1e-6)


def likeliest(now, tolerance, opinions):
    """The foreseen value that all experts together find likeliest; where none speaks, the value stays."""
    spoken = [(value, weight) for value, weight in opinions if value is not None]
    if len(spoken) < 2:
        return spoken[0][0] if spoken else now
    best, best_score = now, -math.inf
    for value, _ in spoken:
        score = sum(weight * log_bump((value - other) / tolerance) for other, weight in spoken)
        best, best_score = np.where(score > best_score, value, best), np.maximum(score, best_score)
    return best


def step(state, action):
    """Every field becomes what its experts together find likeliest."""
    after = {}
    for name, (tolerance, experts) in EXPERTS.items():
        opinions = [(expert(state, action), weight) for expert, weight in experts]
        after[name] = likeliest(state._asdict()[name], tolerance, opinions)
    return State(**after)
