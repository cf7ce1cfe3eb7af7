"""What counts as success in PushT, and how far a predicted state is from the true one."""

from typing import Any

import numpy as np

SUCCESS_PX = 20.0
SUCCESS_RAD = np.pi / 9
AGENT_WEIGHT = 0.3  # in the planner's cost


def agent_px(state: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Distance between two agent positions."""
    return np.linalg.norm(state[..., 0:2] - other[..., 0:2], axis=-1)


def block_px(state: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Distance between two block origins."""
    return np.linalg.norm(state[..., 2:4] - other[..., 2:4], axis=-1)


def angle_rad(state: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Difference of two block angles, the short way round."""
    return np.abs(np.mod(state[..., 4] - other[..., 4] + np.pi, 2 * np.pi) - np.pi)


def pose_match(state: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Agent and block together within the success distance of their goals, and the block turned as its goal is."""
    return (np.linalg.norm(state[..., 0:4] - goal[..., 0:4], axis=-1) < SUCCESS_PX) & (angle_rad(state, goal) < SUCCESS_RAD)


def cost(states: Any, goal: Any) -> Any:
    """The least that a future ever lacks of its goal, in success radii; the agent, which is free to move, counts less than the block."""
    agent, block, turns = states[..., 0:2] - goal[0:2], states[..., 2:4] - goal[2:4], states[..., 4] - goal[4]
    turned = abs((turns + np.pi) % (2 * np.pi) - np.pi) / SUCCESS_RAD
    away = ((block**2).sum(-1) ** 0.5 + AGENT_WEIGHT * (agent**2).sum(-1) ** 0.5) / SUCCESS_PX
    return (away + turned).min(-1)


def pose_distance(state: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """How far a pose is from its goal, in success radii: the larger one of distance and turn."""
    return np.maximum(np.linalg.norm(state[..., 0:4] - goal[..., 0:4], axis=-1) / SUCCESS_PX, angle_rad(state, goal) / SUCCESS_RAD)


def pose_cost(states: Any, goal: Any) -> Any:
    """The least that a future ever lacks of its goal, in success radii; far away the block comes first, nearby the agent counts in full."""
    lack = states - goal
    agent, block = (lack[..., 0:2] ** 2).sum(-1) / SUCCESS_PX**2, (lack[..., 2:4] ** 2).sum(-1) / SUCCESS_PX**2
    turned = abs((lack[..., 4] + np.pi) % (2 * np.pi) - np.pi) / SUCCESS_RAD
    distance, progress = (agent + block) ** 0.5, block**0.5 + AGENT_WEIGHT * agent**0.5 + turned
    return ((distance + progress + abs(distance - progress)) / 2).min(-1)  # the larger of the two


METRICS = {"pose_match": pose_match}
QUANTITIES = {"agent_px": agent_px, "block_px": block_px, "angle_rad": angle_rad}
GOAL_DISTANCES = {"pose_match": pose_distance}
GOAL_COSTS = {"pose_match": pose_cost}
