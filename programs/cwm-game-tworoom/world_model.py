"""Written by qwen2.5-coder-1.5b-instruct-q4_k_m in a cwm-game search."""

from typing import NamedTuple
import math
import numpy as np


class State(NamedTuple):
    agent_x: float  # px
    agent_y: float  # px


def step(state, action):
    # Define constants
    agent_radius = 7
    house_half_sizes = (98, 98)
    wall_half_sizes = (5, 98)
    door_half_sizes = (5, 14)
    x_house = 112
    y_house = 112

    # Calculate new agent position based on action
    new_agent_x = state.agent_x + action[0] * 1  # speed in x
    new_agent_y = state.agent_y + action[1] * 1  # speed in y

    # Check if the agent is within the house boundaries
    if new_agent_x < x_house - house_half_sizes[0] or new_agent_x > x_house + house_half_sizes[0] or new_agent_y < y_house - house_half_sizes[1] or new_agent_y > y_house + house_half_sizes[1]:
        # If out of bounds, move within the house
        new_agent_x = max(new_agent_x, x_house - house_half_sizes[0])
        new_agent_x = min(new_agent_x, x_house + house_half_sizes[0])
        new_agent_y = max(new_agent_y, y_house - house_half_sizes[1])
        new_agent_y = min(new_agent_y, y_house + house_half_sizes[1])

    # Check if the agent is within the wall boundaries
    if new_agent_x < x_house + wall_half_sizes[0] and new_agent_x > x_house - wall_half_sizes[0] and new_agent_y == y_house - wall_half_sizes[1] or new_agent_y == y_house + wall_half_sizes[1]:
        # If out of bounds, move down the wall
        new_agent_y = new_agent_y - 1
    elif new_agent_x < x_house + wall_half_sizes[0] and new_agent_x > x_house - wall_half_sizes[0] and new_agent_y == y_house + wall_half_sizes[1]:
        # If out of bounds, move up the wall
        new_agent_y = new_agent_y + 1

    # Return the new state
    return state._replace(agent_x=new_agent_x, agent_y=new_agent_y)
