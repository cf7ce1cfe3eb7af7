"""Written by qwen2.5-coder-1.5b-instruct-q4_k_m in a cwm-game search."""

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
    shoulder = np.clip(state.shoulder + action[0] * 0.5, -np.pi, np.pi)
    wrist = np.clip(state.wrist + action[1] * 0.5, -np.pi, np.pi)
    shoulder_velocity = (shoulder - state.shoulder_velocity) * 0.5
    wrist_velocity = (wrist - state.wrist_velocity) * 0.5
    finger_x = np.clip(state.finger_x + action[0] * 0.05, -0.1, 0.1)
    finger_y = np.clip(state.finger_y + action[1] * 0.05, -0.1, 0.1)
    return state._replace(shoulder=shoulder, wrist=wrist, shoulder_velocity=shoulder_velocity, wrist_velocity=wrist_velocity, finger_x=finger_x, finger_y=finger_y)
