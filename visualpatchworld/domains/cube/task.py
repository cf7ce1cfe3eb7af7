"""What counts as success in Cube, and how far a predicted state is from the true one."""

from functools import reduce
from typing import Any

import numpy as np

SUCCESS_M = 0.04
EFFECTOR = slice(0, 3)
YAW, OPENING, FIRST_BLOCK = 3, 4, 6

# What the planner's cost weighs. Lengths are about half a block; a quarter turn of misalignment or a closed empty hand costs as much as
# five to ten centimetres.
HALF_BLOCK_M = 0.02
ALIGNED_RAD = 0.2
FUNNEL_M = 0.01  # how far aside the hand may be to come down all the way
FUNNEL_SLOPE = 2.0
HOVER_M = 0.06  # above the block while the hand is aside
M_PER_RAD = 0.05
M_PER_OPENING = 0.1
# Where there are several blocks: one that is as good as there does not wait for the hand, and one that waits costs more than any way.
DONE_M = 0.02
M_PER_WAITING_BLOCK = 1.0


def effector_m(state: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Distance between two effector positions."""
    return np.linalg.norm(state[..., EFFECTOR] - other[..., EFFECTOR], axis=-1)


def block_poses(state: Any) -> list[Any]:
    """Place and yaw of each block."""
    return [state[..., i : i + 4] for i in range(FIRST_BLOCK, state.shape[-1], 4)]


def block_m(state: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Distance between two block centres; where there are two blocks, of the one that is farther off."""
    pairs = zip(block_poses(state), block_poses(other), strict=True)
    return np.max([np.linalg.norm(pose[..., :3] - goal[..., :3], axis=-1) for pose, goal in pairs], axis=0)


def cost(states: Any, goal: Any) -> Any:
    """What is left to do in the end: the block's way to its goal, and before that the hand's way to where it can grip the block.

    Of several blocks, the hand cares for the nearest that is not where it should be.
    """
    after = states[..., -1, :]
    blocks, lacks = block_poses(after), block_poses((states - goal)[..., -1, :])
    waiting = M_PER_WAITING_BLOCK if len(blocks) > 1 else 0.0
    ways, cares = 0.0, []
    for block, lack in zip(blocks, lacks, strict=True):
        way = _length(lack[..., :3])
        waits = way > DONE_M
        cares.append(_to_grip(after, block) + waiting * (1 - waits))
        ways = ways + way + 2 * waiting * waits
    return ways + reduce(lambda one, other: (one + other - abs(one - other)) / 2, cares)  # the least


def _to_grip(after: Any, block: Any) -> Any:
    """The hand's way to a block: from above, turned along the block's sides, and open until the block lies between its fingers."""
    from_block = after[..., EFFECTOR] - block[..., :3]
    aside, above = _length(from_block[..., 0:2]), from_block[..., 2]
    above_funnel = abs(above - (FUNNEL_SLOPE * (aside - FUNNEL_M)).clip(0.0, HOVER_M))
    turned = abs((after[..., YAW] - block[..., 3] + np.pi / 4) % (np.pi / 2) - np.pi / 4)
    between = (aside < HALF_BLOCK_M) & (abs(above) < HALF_BLOCK_M) & (turned < ALIGNED_RAD)
    return aside + above_funnel + M_PER_RAD * turned + M_PER_OPENING * after[..., OPENING] * (1 - between)


def _length(vectors: Any) -> Any:
    return (vectors**2).sum(-1) ** 0.5


def grasp_cost(states: Any, goal: Any) -> Any:
    """What is left to do in the end, in success radii."""
    return cost(states, goal) / SUCCESS_M
