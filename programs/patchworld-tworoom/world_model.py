"""Written by qwen2.5-coder-1.5b-instruct-q4_k_m in a patchworld search."""

from typing import NamedTuple
import math
import numpy as np


class State(NamedTuple):
    agent_x: float  # px
    agent_y: float  # px


def step(state, action):
    agent_x, agent_y = state
    action_x, action_y = action
    
    # Calculate the new target position
    target_x = agent_x + action_x
    target_y = agent_y + action_y
    
    # Check if the target is within the house
    if 0 <= target_x <= 112 - 98 and 0 <= target_y <= 112 - 98:
        # Move to the target
        agent_x = target_x
        agent_y = target_y
    else:
        # Calculate the next available path
        # Check if the agent is touching the wall
        if agent_x == 112 and action_x == 1:
            # Move to the left wall
            agent_x = 112 - 5
        elif agent_x == 112 and action_x == -1:
            # Move to the right wall
            agent_x = 112 + 5
        elif agent_y == 112 and action_y == 1:
            # Move to the top wall
            agent_y = 112 - 5
        elif agent_y == 112 and action_y == -1:
            # Move to the bottom wall
            agent_y = 112 + 5
        # Check if the agent is touching the door
        elif 112 - 14 <= agent_x <= 112 and 49 <= agent_y <= 63:
            # Move to the door
            agent_x = 112 - 14
            agent_y = 57
        # If none of the above conditions are met, the agent stays at the same position
        else:
            agent_x = agent_x
            agent_y = agent_y
    
    return State(agent_x, agent_y)
