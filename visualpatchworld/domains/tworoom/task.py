"""What counts as success in Two-room, and how far a predicted state is from the true one."""

import numpy as np

SUCCESS_PX = 16.0


def agent_px(state: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Distance between two agent positions."""
    return np.linalg.norm(state - other, axis=-1)


def at_goal(state: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """The agent is within the success radius of its goal."""
    return agent_px(state, goal) < SUCCESS_PX


METRICS = {"at_goal": at_goal}
QUANTITIES = {"agent_px": agent_px}
