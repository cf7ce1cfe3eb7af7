"""What counts as success in Cube, and how far a predicted state is from the true one."""

from typing import Any

import numpy as np

SUCCESS_M = 0.04
EFFECTOR = slice(0, 3)
YAW, OPENING, BLOCK_YAW = 3, 4, 9
BLOCK = slice(6, 9)

# What the planner's cost weighs. Lengths are about half a block; a quarter turn of misalignment or a closed empty hand costs as much as
# five to ten centimetres.
HALF_BLOCK_M = 0.02
ALIGNED_RAD = 0.2
FUNNEL_M = 0.01  # how far aside the hand may be to come down all the way
FUNNEL_SLOPE = 2.0
HOVER_M = 0.06  # above the block while the hand is aside
M_PER_RAD = 0.05
M_PER_OPENING = 0.1


def effector_m(state: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Distance between two effector positions."""
    return np.linalg.norm(state[..., EFFECTOR] - other[..., EFFECTOR], axis=-1)


def block_m(state: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Distance between two block centres."""
    return np.linalg.norm(state[..., BLOCK] - other[..., BLOCK], axis=-1)


def block_match(state: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """The block's centre is within the success radius of its goal, however it is turned."""
    return block_m(state, goal) < SUCCESS_M


def cost(states: Any, goal: Any) -> Any:
    """What is left to do in the end: the block's way to its goal, and before that the hand's way to where it can grip the block.

    The hand comes from above, turned along the block's sides, and stays open until the block lies between its fingers.
    """
    after = states[..., -1, :]
    way = _length((states - goal)[..., -1, BLOCK])
    from_block = after[..., EFFECTOR] - after[..., BLOCK]
    aside, above = _length(from_block[..., 0:2]), from_block[..., 2]
    above_funnel = abs(above - (FUNNEL_SLOPE * (aside - FUNNEL_M)).clip(0.0, HOVER_M))
    turned = abs((after[..., YAW] - after[..., BLOCK_YAW] + np.pi / 4) % (np.pi / 2) - np.pi / 4)
    between = (aside < HALF_BLOCK_M) & (abs(above) < HALF_BLOCK_M) & (turned < ALIGNED_RAD)
    return way + aside + above_funnel + M_PER_RAD * turned + M_PER_OPENING * after[..., OPENING] * (1 - between)


def _length(vectors: Any) -> Any:
    return (vectors**2).sum(-1) ** 0.5


def block_distance(state: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """The block's distance from its goal, in success radii."""
    return block_m(state, goal) / SUCCESS_M


def grasp_cost(states: Any, goal: Any) -> Any:
    """What is left to do in the end, in success radii."""
    return cost(states, goal) / SUCCESS_M


METRICS = {"block_match": block_match}
QUANTITIES = {"effector_m": effector_m, "block_m": block_m}
GOAL_DISTANCES = {"block_match": block_distance}
GOAL_COSTS = {"block_match": grasp_cost}
