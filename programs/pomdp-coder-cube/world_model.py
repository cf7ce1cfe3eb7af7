"""Written by qwen2.5-coder-1.5b-instruct-q4_k_m in a pomdp-coder search."""

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


def step(state, action):
    effector_x = state.effector_x + action[0] * 0.01  # Speed and gain
    effector_y = state.effector_y + action[1] * 0.01
    effector_z = state.effector_z + action[2] * 0.01
    effector_yaw = state.effector_yaw + action[3] * 0.01  # Speed and gain

    gripper_opening = max(0, min(1, state.gripper_opening + action[4] * 0.01))  # Speed and gain
    gripper_contact = max(0, min(1, state.gripper_contact + action[4] * 0.01))  # Speed and gain

    block_x = state.block_x + action[0] * 0.05  # Speed and gain
    block_y = state.block_y + action[1] * 0.05
    block_z = state.block_z + action[2] * 0.05
    block_yaw = state.block_yaw + action[3] * 0.05  # Speed and gain

    return State(
        effector_x=effector_x,
        effector_y=effector_y,
        effector_z=effector_z,
        effector_yaw=effector_yaw,
        gripper_opening=gripper_opening,
        gripper_contact=gripper_contact,
        block_x=block_x,
        block_y=block_y,
        block_z=block_z,
        block_yaw=block_yaw
    )
