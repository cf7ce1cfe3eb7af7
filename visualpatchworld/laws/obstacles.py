"""Obstacles for a disc: the border of a room, and a wall across it that has one door."""

import numpy as np


def keep_inside(position, center, half_size):
    """The position, brought back to the nearest point of a box."""
    x = np.clip(position[0], center[0] - half_size[0], center[0] + half_size[0])
    y = np.clip(position[1], center[1] - half_size[1], center[1] + half_size[1])
    return x, y


def stop_at_wall(before, after, wall_x, reach, door_y, door_reach, push_back):
    """A move that would come closer to an upright wall than `reach` ends there, unless it goes through the door."""
    side = np.where(before[0] < wall_x, -1.0, 1.0)
    entered = side * (after[0] - wall_x) < reach
    beside_door = np.abs(after[1] - door_y) > door_reach
    return np.where(entered & beside_door, wall_x + side * (reach + push_back), after[0]), after[1]
