"""What counts as success in Cube, and how far a predicted state is from the true one."""

import numpy as np

SUCCESS_M = 0.04
EFFECTOR = slice(0, 3)
BLOCK = slice(6, 9)


def effector_m(state: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Distance between two effector positions."""
    return np.linalg.norm(state[..., EFFECTOR] - other[..., EFFECTOR], axis=-1)


def block_m(state: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Distance between two block centres."""
    return np.linalg.norm(state[..., BLOCK] - other[..., BLOCK], axis=-1)


def block_match(state: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """The block's centre is within the success radius of its goal, however it is turned."""
    return block_m(state, goal) < SUCCESS_M


METRICS = {"block_match": block_match}
QUANTITIES = {"effector_m": effector_m, "block_m": block_m}
