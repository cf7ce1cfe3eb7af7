"""Written by qwen2.5-coder-1.5b-instruct-q4_k_m in a pomdp-coder search."""

from typing import NamedTuple
import math
import numpy as np


class State(NamedTuple):
    agent_x: float  # px
    agent_y: float  # px


def step(state, action):
    # Convert action to speed in pixels per step
    speed = 5
    
    # Calculate new positions based on action
    agent_x = state.agent_x + speed * action[0]
    agent_y = state.agent_y + speed * action[1]
    
    return state._replace(agent_x=agent_x, agent_y=agent_y)
