"""What counts as success in PushT, and how far a predicted state is from the true one."""

from typing import Any

import numpy as np

SUCCESS_PX = 20.0
SUCCESS_RAD = np.pi / 9
AGENT_WEIGHT = 0.3  # in the planner's cost


def agent_px(state: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Distance between two agent positions."""
    return np.linalg.norm(state[..., 0:2] - other[..., 0:2], axis=-1)


def block_poses(state: Any) -> list[Any]:
    """Place and angle of each block; those of a second one come last in a state."""
    return [state[..., 2:5], *(state[..., i : i + 3] for i in range(7, state.shape[-1], 3))]


def block_px(state: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Distance between two block origins; where there are two blocks, of the one that is farther off."""
    return np.max(_block_distances(state, other), axis=0)


def angle_rad(state: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Difference of two block angles, the short way round; where there are two blocks, of the one that is farther off."""
    turns = [pose[..., 2] - goal[..., 2] for pose, goal in zip(block_poses(state), block_poses(other), strict=True)]
    return np.max([np.abs(np.mod(turn + np.pi, 2 * np.pi) - np.pi) for turn in turns], axis=0)


def pose_match(state: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Agent and blocks together within the success distance of their goals, and every block turned as its goal is."""
    away = np.linalg.norm([agent_px(state, goal), *_block_distances(state, goal)], axis=0)
    return (away < SUCCESS_PX) & (angle_rad(state, goal) < SUCCESS_RAD)


def _block_distances(state: np.ndarray, other: np.ndarray) -> list[np.ndarray]:
    pairs = zip(block_poses(state), block_poses(other), strict=True)
    return [np.linalg.norm(pose[..., :2] - goal[..., :2], axis=-1) for pose, goal in pairs]


def cost(states: Any, goal: Any) -> Any:
    """The least that a future ever lacks of its goal, in success radii; the agent, which is free to move, counts less than the blocks."""
    agent, left = states[..., 0:2] - goal[0:2], 0.0
    for pose, wanted in zip(block_poses(states), block_poses(goal), strict=True):
        away, turns = pose[..., :2] - wanted[:2], pose[..., 2] - wanted[2]
        left = left + (away**2).sum(-1) ** 0.5 / SUCCESS_PX + abs((turns + np.pi) % (2 * np.pi) - np.pi) / SUCCESS_RAD
    return (left + AGENT_WEIGHT * (agent**2).sum(-1) ** 0.5 / SUCCESS_PX).min(-1)


METRICS = {"pose_match": pose_match}
QUANTITIES = {"agent_px": agent_px, "block_px": block_px, "angle_rad": angle_rad}
