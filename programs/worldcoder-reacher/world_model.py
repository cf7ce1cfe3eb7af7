"""Written by qwen2.5-coder-1.5b-instruct-q4_k_m in a worldcoder search."""

from typing import NamedTuple
import math
import numpy as np


class State(NamedTuple):
    shoulder: float  # rad
    wrist: float  # rad
    shoulder_velocity: float  # rad/s
    wrist_velocity: float  # rad/s
    finger_x: float  # m
    finger_y: float  # m


def step(state, action):
    # Define the gains and sizes
    shoulder_gain = 0.5
    wrist_gain = 0.5
    finger_gain = 0.5
    shoulder_length = 0.12
    wrist_length = 0.12
    finger_length = 0.01
    
    # Calculate the new shoulder position
    shoulder = state.shoulder + action[0] * shoulder_gain * shoulder_length
    
    # Calculate the new wrist position
    wrist = state.wrist + action[1] * wrist_gain * wrist_length
    
    # Calculate the new shoulder velocity
    shoulder_velocity = (shoulder - state.shoulder) / 0.1
    
    # Calculate the new wrist velocity
    wrist_velocity = (wrist - state.wrist) / 0.1
    
    # Calculate the new finger position
    finger_x = state.finger_x + action[0] * finger_gain * finger_length
    
    # Calculate the new finger position
    finger_y = state.finger_y + action[1] * finger_gain * finger_length
    
    # Return the next State
    return State(
        shoulder=shoulder,
        wrist=wrist,
        shoulder_velocity=shoulder_velocity,
        wrist_velocity=wrist_velocity,
        finger_x=finger_x,
        finger_y=finger_y
    )
