"""Written by qwen2.5-coder-1.5b-instruct-q4_k_m in a patchworld search."""

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
    action = np.array(action)
    
    effector_x += action[0]
    effector_y += action[1]
    effector_z += action[2]
    effector_yaw += action[3]
    
    if gripper_contact == 1:
        if block_x >= effector_x and block_y >= effector_y and block_z >= effector_z:
            gripper_contact = 0
            block_x = 0
            block_y = 0
            block_z = 0
        elif block_x >= effector_x and block_y >= effector_y and block_z <= effector_z:
            gripper_contact = 1
            block_x -= effector_x
            block_y -= effector_y
            block_z += effector_z
        elif block_x >= effector_x and block_y <= effector_y and block_z >= effector_z:
            gripper_contact = 1
            block_x -= effector_x
            block_y += effector_y
            block_z -= effector_z
        elif block_x <= effector_x and block_y >= effector_y and block_z >= effector_z:
            gripper_contact = 1
            block_x += effector_x
            block_y -= effector_y
            block_z -= effector_z
        elif block_x <= effector_x and block_y >= effector_y and block_z <= effector_z:
            gripper_contact = 1
            block_x += effector_x
            block_y += effector_y
            block_z += effector_z
    
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
