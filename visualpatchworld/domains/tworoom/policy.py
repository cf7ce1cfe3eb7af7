"""Data for Two-room: a noisy expert that walks to the door first when its goal lies in the other room."""

from __future__ import annotations

import numpy as np

from visualpatchworld.domain import Policy
from visualpatchworld.domains.tworoom import task
from visualpatchworld.domains.tworoom.simulator import TwoRoom, sample_position, walls

NOISE = 2.0
REPEAT_PROBABILITY = 0.05


def door_expert(simulator: TwoRoom, rng: np.random.Generator) -> Policy:
    """Walks to a random goal through the doors, with noise; the episode is over when it arrives."""
    goal = sample_position(simulator.constants, rng)
    last = np.zeros(2)

    def act() -> np.ndarray | None:
        nonlocal last
        position = simulator.observe()
        if task.at_goal(position, goal):
            return None
        if rng.random() >= REPEAT_PROBABILITY:
            ahead = _waypoint(position, goal, simulator) - position
            direction = ahead / max(float(np.linalg.norm(ahead)), 1e-9)
            last = np.clip(direction + rng.normal(0.0, NOISE, 2), -1.0, 1.0)
        return last

    return act


def _waypoint(position: np.ndarray, goal: np.ndarray, simulator: TwoRoom) -> np.ndarray:
    between = [place for place in walls(simulator.constants) if (position[0] < place[0]) != (goal[0] < place[0])]
    if not between:
        return goal
    wall, doors = min(between, key=lambda place: abs(place[0] - position[0]))
    return np.array([wall, min(doors, key=lambda door: abs(door - position[1]))])
