"""What counts as success for the puck, and how far a predicted state is from the true one."""

from typing import Any

import numpy as np

SUCCESS_M = 0.3


def puck_m(state: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Distance between two places of the puck."""
    return np.linalg.norm(state[..., :2] - other[..., :2], axis=-1)


def at_goal(state: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """The puck is near its goal; how fast it passes does not matter."""
    return puck_m(state, goal) < SUCCESS_M


def cost(states: Any, goal: Any) -> Any:
    """The least distance from its goal that the puck ever has."""
    return ((states - goal)[..., :2] ** 2).sum(-1).min(-1) ** 0.5


METRICS = {"at_goal": at_goal}
QUANTITIES = {"puck_m": puck_m}
