"""Written by qwen2.5-coder-1.5b-instruct-q4_k_m in a cwm-game search."""

from typing import NamedTuple
import math
import numpy as np


class State(NamedTuple):
    agent_x: float  # px
    agent_y: float  # px
    block_x: float  # px
    block_y: float  # px
    block_angle: float  # rad
    agent_vx: float  # px/s
    agent_vy: float  # px/s


def step(state, action):
    # Constants for physics simulation
    G = 0.1  # Gravity in m/s^2
    T = 1  # Time step in s
    M = 1  # Mass of the agent in kg
    C = 0.2  # Coefficient of friction
    L = 0.1  # Length of the agent's leg in m

    # Convert action to speed in m/s
    vx = action[0] * T
    vy = action[1] * T

    # Update agent's velocity
    state = state._replace(agent_vx=state.agent_vx + vx, agent_vy=state.agent_vy + vy)

    # Update agent's position
    state = state._replace(agent_x=state.agent_x + state.agent_vx, agent_y=state.agent_y + state.agent_vy)

    # Check collisions with walls
    if state.agent_x < 0 or state.agent_x > 506:
        state = state._replace(agent_vx=-state.agent_vx, agent_x=max(0, min(state.agent_x, 506)))
    if state.agent_y < 0 or state.agent_y > 506:
        state = state._replace(agent_vy=-state.agent_vy, agent_y=max(0, min(state.agent_y, 506)))

    # Check collisions with block
    if np.allclose(state.block_x, state.agent_x) and np.allclose(state.block_y, state.agent_y):
        # Calculate the normal vector of the block relative to the agent
        normal = np.array([state.block_y - state.agent_y, state.agent_x - state.block_x])
        normal /= np.linalg.norm(normal)

        # Calculate the frictional force
        frictional_force = -C * M * normal

        # Update agent's velocity
        state = state._replace(agent_vx=state.agent_vx + frictional_force[0], agent_vy=state.agent_vy + frictional_force[1])

        # Update agent's position
        state = state._replace(agent_x=state.agent_x + state.agent_vx, agent_y=state.agent_y + state.agent_vy)

    return state
