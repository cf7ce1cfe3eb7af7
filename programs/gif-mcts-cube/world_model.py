"""Written by qwen2.5-coder-1.5b-instruct-q4_k_m in a gif-mcts search."""

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
    effector_x, effector_y, effector_z, effector_yaw, gripper_opening, gripper_contact, block_x, block_y, block_z, block_yaw = state

    # Apply actions to the robot
    effector_x += action[0] * 0.1  # Move forward
    effector_y += action[1] * 0.1  # Move left
    effector_z += action[2] * 0.1  # Move up
    effector_yaw += action[3] * 0.1  # Rotate right
    gripper_opening += action[4] * 0.1  # Adjust gripper opening

    # Ensure gripper opening is within valid range
    gripper_opening = max(0.0, min(1.0, gripper_opening))

    # Update block position based on the robot's movement
    block_x += action[0] * 0.05  # Move forward
    block_y += action[1] * 0.05  # Move left
    block_z += action[2] * 0.05  # Move up

    # Ensure block position is within the world boundaries
    block_x = max(0.0, min(1.0, block_x))
    block_y = max(0.0, min(1.0, block_y))
    block_z = max(0.0, min(1.0, block_z))

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
