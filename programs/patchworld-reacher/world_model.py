"""Written by qwen2.5-coder-1.5b-instruct-q4_k_m in a patchworld search."""

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
    # Define the gains
    K_p = 0.1
    K_i = 0.01
    K_d = 0.1
    
    # Calculate the error
    e = action - np.array([state.shoulder, state.wrist])
    
    # Calculate the integral error
    e_integral = state.shoulder_velocity * np.sum(e) + state.wrist_velocity * np.sum(e)
    
    # Calculate the derivative error
    e_derivative = e[1] - e[0]
    
    # Calculate the control input
    u = K_p * e + K_i * e_integral + K_d * e_derivative
    
    # Calculate the next state
    next_state = state._replace(
        shoulder=state.shoulder + u[0],
        wrist=state.wrist + u[1],
        shoulder_velocity=u[0],
        wrist_velocity=u[1]
    )
    
    return next_state
