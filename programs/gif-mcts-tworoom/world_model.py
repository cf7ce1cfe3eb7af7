"""Written by qwen2.5-coder-1.5b-instruct-q4_k_m in a gif-mcts search."""

from typing import NamedTuple
import math
import numpy as np


class State(NamedTuple):
    agent_x: float  # px
    agent_y: float  # px


def step(state, action):
    agent_x, agent_y = state.agent_x, state.agent_y
    action_x, action_y = np.array(action) * 4  # Adjusting the action range to -20 to 20 units

    # Move the agent
    new_agent_x = agent_x + action_x
    new_agent_y = agent_y + action_y

    # Update the agent position
    return State(agent_x=new_agent_x, agent_y=new_agent_y)
