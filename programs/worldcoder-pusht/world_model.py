"""Written by qwen2.5-coder-1.5b-instruct-q4_k_m in a worldcoder search."""

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
    agent_x = state.agent_x + action[0] * state.agent_vx
    agent_y = state.agent_y + action[1] * state.agent_vy
    block_x = state.block_x + action[0] * state.agent_vx
    block_y = state.block_y + action[1] * state.agent_vy

    return state._replace(agent_x=agent_x, agent_y=agent_y, block_x=block_x, block_y=block_y)
