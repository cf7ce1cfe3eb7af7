"""What counts as success in Reacher, and how far a predicted state is from the true one."""

from typing import Any

import numpy as np

SUCCESS_M = 0.05
SUCCESS_RAD = 0.05
FINGER = slice(-2, None)


def finger_m(state: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Distance between two fingertips."""
    return np.linalg.norm(state[..., FINGER] - other[..., FINGER], axis=-1)


def q_rad(state: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The largest of the joints' differences, without wrapping."""
    joints = slice(0, (state.shape[-1] - 2) // 2)  # as many speeds follow, and the fingertip
    return np.abs(state[..., joints] - other[..., joints]).max(axis=-1)


def finger_match(state: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """The fingertip is within the success radius of the goal's."""
    return finger_m(state, goal) < SUCCESS_M


def qpos_match(state: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """All joints are within the success angle of the goal's, without wrapping."""
    return q_rad(state, goal) < SUCCESS_RAD


def cost(states: Any, goal: Any) -> Any:
    """The fingertip's distance from its goal in the end."""
    return ((states[..., -1, FINGER] - goal[FINGER]) ** 2).sum(-1) ** 0.5


def finger_distance(state: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """The fingertip's distance from its goal, in success radii."""
    return finger_m(state, goal) / SUCCESS_M


def qpos_distance(state: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """The largest of the joints' differences, in success angles."""
    return q_rad(state, goal) / SUCCESS_RAD


def finger_cost(states: Any, goal: Any) -> Any:
    """The least distance from its goal that the fingertip ever has, in success radii."""
    return (((states - goal)[..., FINGER] ** 2).sum(-1) ** 0.5).min(-1) / SUCCESS_M


def qpos_cost(states: Any, goal: Any) -> Any:
    """The least that the joints ever lack of their goals, all together and in success angles."""
    joints = slice(0, (states.shape[-1] - 2) // 2)
    return (((states - goal)[..., joints] ** 2).sum(-1) ** 0.5).min(-1) / SUCCESS_RAD


METRICS = {"finger_match": finger_match, "qpos_match": qpos_match}
QUANTITIES = {"finger_m": finger_m, "q_rad": q_rad}
GOAL_DISTANCES = {"finger_match": finger_distance, "qpos_match": qpos_distance}
GOAL_COSTS = {"finger_match": finger_cost, "qpos_match": qpos_cost}
