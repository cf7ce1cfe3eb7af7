"""Written by qwen2.5-coder-1.5b-instruct-q4_k_m in a gif-mcts search."""

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
    shoulder = state.shoulder + action[0] * 0.01
    wrist = state.wrist + action[1] * 0.01

    # Define the gains for the shoulder and wrist
    shoulder_gain = 0.5
    wrist_gain = 0.5

    shoulder_velocity = shoulder_gain * (shoulder - state.shoulder_velocity)
    wrist_velocity = wrist_gain * (wrist - state.wrist_velocity)

    finger_x = state.finger_x + action[0] * 0.01 * np.cos(state.shoulder)
    finger_y = state.finger_y + action[0] * 0.01 * np.sin(state.shoulder)

    next_state = State(
        shoulder=shoulder,
        wrist=wrist,
        shoulder_velocity=shoulder_velocity,
        wrist_velocity=wrist_velocity,
        finger_x=finger_x,
        finger_y=finger_y
    )

    return next_state
