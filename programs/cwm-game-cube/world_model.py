"""Written by qwen2.5-coder-1.5b-instruct-q4_k_m in a cwm-game search."""

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
    # Calculate new effector position and orientation
    effector_x = state.effector_x + action[0] * 0.1  # Speed of movement in x direction
    effector_y = state.effector_y + action[1] * 0.1  # Speed of movement in y direction
    effector_z = state.effector_z + action[2] * 0.1  # Speed of movement in z direction
    effector_yaw = state.effector_yaw + action[3] * 0.05  # Small rotation around the z axis

    # Update gripper state
    gripper_opening = max(0, min(1, state.gripper_opening + action[4] * 0.1))  # Speed of movement of the gripper
    gripper_contact = 1 if state.gripper_contact < 1 else 0  # Gripper contact change due to action

    # Update block state
    block_x = state.block_x + action[0] * 0.01  # Speed of movement in x direction
    block_y = state.block_y + action[1] * 0.01  # Speed of movement in y direction
    block_z = state.block_z + action[2] * 0.01  # Speed of movement in z direction
    block_yaw = state.block_yaw + action[3] * 0.05  # Small rotation around the z axis

    return State(effector_x, effector_y, effector_z, effector_yaw, gripper_opening, gripper_contact, block_x, block_y, block_z, block_yaw)
