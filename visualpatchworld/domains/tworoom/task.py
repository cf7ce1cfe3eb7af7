"""What counts as success in Two-room, and how far a predicted state is from the true one."""

from typing import Any

import numpy as np

SUCCESS_PX = 16.0


def agent_px(state: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Distance between two agent positions."""
    return np.linalg.norm(state - other, axis=-1)


def at_goal(state: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """The agent is within the success radius of its goal."""
    return agent_px(state, goal) < SUCCESS_PX


def cost(states: Any, goal: Any) -> Any:
    """The least distance from its goal that the agent ever has."""
    return ((states - goal) ** 2).sum(-1).min(-1) ** 0.5


def goal_distance(state: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """The agent's distance from its goal, in success radii."""
    return agent_px(state, goal) / SUCCESS_PX


def goal_cost(states: Any, goal: Any) -> Any:
    """The least distance from its goal that the agent ever has, in success radii."""
    return cost(states, goal) / SUCCESS_PX


METRICS = {"at_goal": at_goal}
QUANTITIES = {"agent_px": agent_px}
GOAL_DISTANCES = {"at_goal": goal_distance}
GOAL_COSTS = {"at_goal": goal_cost}
