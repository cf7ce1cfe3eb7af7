"""What counts as success for the slider, and how far a predicted state is from the true one."""

from typing import Any

import numpy as np

SUCCESS_M = 0.1


def puck_m(state: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Distance between two puck positions."""
    return np.abs(state[..., 0] - other[..., 0])


def at_goal(state: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """The puck is near its goal; its velocity does not matter."""
    return puck_m(state, goal) < SUCCESS_M


def cost(states: Any, goal: Any) -> Any:
    """The least distance from its goal that the puck ever has."""
    return abs((states - goal)[..., 0]).min(-1)


METRICS = {"at_goal": at_goal}
QUANTITIES = {"puck_m": puck_m}
