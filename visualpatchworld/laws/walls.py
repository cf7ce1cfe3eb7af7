"""Walls for a disc that moves in jumps: the border of a room, and walls across it that have doors."""

import numpy as np

from visualpatchworld.laws.constant import signed, threshold


def keep_inside(place, *, middle, half_size, radius):
    """The nearest place at which the disc is inside the border."""
    x = np.clip(place[0], middle[0] - half_size[0] + radius, middle[0] + half_size[0] - radius)
    y = np.clip(place[1], middle[1] - half_size[1] + radius, middle[1] + half_size[1] - radius)
    return x, y


def stop_at_walls(
    before,
    place,
    *,
    walls,
    radius,
    margin=threshold("L", "room at a door beyond its drawn half width", -0.02, 0.02),
    push_back=signed("L", "how far a wall throws the disc back", 0, 0.03),
):
    """A move that would enter a wall ends before it, unless it goes through a door."""
    place = list(place)
    for across, wall, half, doors in walls:  # across: the coordinate that the wall bounds, 0 for x and 1 for y
        side = np.where(before[across] < wall, -1.0, 1.0)
        stopped = side * (place[across] - wall) < half + radius
        for door, door_half in doors:
            stopped = stopped & (np.abs(place[1 - across] - door) > door_half + margin)
        place[across] = np.where(stopped, wall + side * (half + radius + push_back), place[across])
    return place[0], place[1]
