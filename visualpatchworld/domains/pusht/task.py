"""What counts as success in PushT, and how far a predicted state is from the true one."""

from functools import partial
from typing import Any

import numpy as np

SUCCESS_PX = 20.0
SUCCESS_RAD = np.pi / 9
AGENT_WEIGHT = 0.3  # in the planner's cost


def agent_px(state: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Distance between two agent positions."""
    return np.linalg.norm(state[..., 0:2] - other[..., 0:2], axis=-1)


def block_poses(state: Any, blocks: int) -> list[Any]:
    """Place and angle of each block; those of a second one come behind the agent's velocity."""
    return [state[..., start : start + 3] for start in (2, 7)[:blocks]]


def block_px(state: np.ndarray, other: np.ndarray, blocks: int = 1) -> np.ndarray:
    """Distance between two block origins; where there are two blocks, of the one that is farther off."""
    return np.max(_block_distances(state, other, blocks), axis=0)


def angle_rad(state: np.ndarray, other: np.ndarray, blocks: int = 1) -> np.ndarray:
    """Difference of two block angles, the short way round; where there are two blocks, of the one that is farther off."""
    pairs = zip(block_poses(state, blocks), block_poses(other, blocks), strict=True)
    turns = [pose[..., 2] - goal[..., 2] for pose, goal in pairs]
    return np.max([np.abs(np.mod(turn + np.pi, 2 * np.pi) - np.pi) for turn in turns], axis=0)


def _block_distances(state: np.ndarray, other: np.ndarray, blocks: int) -> list[np.ndarray]:
    pairs = zip(block_poses(state, blocks), block_poses(other, blocks), strict=True)
    return [np.linalg.norm(pose[..., :2] - goal[..., :2], axis=-1) for pose, goal in pairs]


def cost(states: Any, goal: Any, blocks: int = 1) -> Any:
    """The least that a future ever lacks of its goal, in success radii; the agent, which is free to move, counts less than the blocks."""
    lack, away, turned = states - goal, 0.0, 0.0
    for pose in block_poses(lack, blocks):
        away, turned = away + _length(pose[..., :2]), turned + abs((pose[..., 2] + np.pi) % (2 * np.pi) - np.pi) / SUCCESS_RAD
    return ((away + AGENT_WEIGHT * _length(lack[..., 0:2])) / SUCCESS_PX + turned).min(-1)


def _length(vectors: Any) -> Any:
    return (vectors**2).sum(-1) ** 0.5


def pose_distance(state: np.ndarray, goal: np.ndarray, blocks: int = 1) -> np.ndarray:
    """How far a pose is from its goal, in success radii: the larger one of distance and turn."""
    away = np.linalg.norm([agent_px(state, goal), *_block_distances(state, goal, blocks)], axis=0)
    return np.maximum(away / SUCCESS_PX, angle_rad(state, goal, blocks) / SUCCESS_RAD)


def pose_cost(states: Any, goal: Any, blocks: int = 1) -> Any:
    """The least that a future ever lacks of its goal, in success radii; far away the blocks come first, nearby the agent counts in full."""
    lack = states - goal
    agent, squares, away, turned = (lack[..., 0:2] ** 2).sum(-1) / SUCCESS_PX**2, 0.0, 0.0, 0.0
    for pose in block_poses(lack, blocks):
        block = (pose[..., :2] ** 2).sum(-1) / SUCCESS_PX**2
        squares, away = squares + block, away + block**0.5
        turned = turned + abs((pose[..., 2] + np.pi) % (2 * np.pi) - np.pi) / SUCCESS_RAD
    distance, progress = (agent + squares) ** 0.5, away + AGENT_WEIGHT * agent**0.5 + turned
    return ((distance + progress + abs(distance - progress)) / 2).min(-1)  # the larger of the two


ERROR_METRICS = {"agent_px": agent_px, "block_px": block_px, "angle_rad": angle_rad}


def of_blocks(blocks: int) -> dict[str, Any]:
    """What counts where there are so many blocks."""
    return {
        "goals": {"pose_match": partial(pose_distance, blocks=blocks)},
        "error_metrics": {
            "agent_px": agent_px,
            "block_px": partial(block_px, blocks=blocks),
            "angle_rad": partial(angle_rad, blocks=blocks),
        },
        "cost": partial(cost, blocks=blocks),
        "costs": {"pose_match": partial(pose_cost, blocks=blocks)},
    }
