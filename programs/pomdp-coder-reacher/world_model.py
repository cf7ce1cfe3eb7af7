"""Written by qwen2.5-coder-1.5b-instruct-q4_k_m in a pomdp-coder search."""

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
    shoulder = state.shoulder + action[0] * 0.1
    wrist = state.wrist + action[1] * 0.1
    shoulder_velocity = (shoulder - state.shoulder) / 0.01
    wrist_velocity = (wrist - state.wrist) / 0.01
    finger_x = state.finger_x + action[0] * 0.001
    finger_y = state.finger_y + action[1] * 0.001
    return State(shoulder, wrist, shoulder_velocity, wrist_velocity, finger_x, finger_y)
