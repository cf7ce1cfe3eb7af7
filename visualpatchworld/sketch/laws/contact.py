"""Rigid contact in the plane: where shapes touch, and the least motion of a body that lets none of them enter another."""

import numpy as np


def gap_to_polygon(point, corners):
    """Distance from a point to a convex polygon (negative inside) and the unit normal from the polygon to the point."""
    corners = np.array(corners)  # they run counter-clockwise
    edges = np.roll(corners, -1, axis=0) - corners
    lengths = np.sqrt(edges[:, 0] ** 2 + edges[:, 1] ** 2)
    along_x, along_y = edges[:, 0] / lengths, edges[:, 1] / lengths
    x, y = point[0] - corners[:, 0], point[1] - corners[:, 1]
    depths = along_y * x - along_x * y
    along = np.clip(along_x * x + along_y * y, 0.0, lengths)
    x, y = x - along * along_x, y - along * along_y
    squares = x * x + y * y
    nearest, deepest = np.argmin(squares), np.argmax(depths)
    outside = depths[deepest] > 0
    distance = np.sqrt(np.where(outside, squares[nearest], 1.0))
    normal_x = np.where(outside, x[nearest] / distance, along_y[deepest])
    normal_y = np.where(outside, y[nearest] / distance, -along_x[deepest])
    return np.where(outside, distance, depths[deepest]), (normal_x, normal_y)


def deepest_in_walls(corners, position, angle, walls):
    """The corner of a body deepest inside a wall: the overlap, the wall's normal and the corner in the body's frame.

    A wall is (normal x, normal y, offset): a point is free while normal . point > offset.
    """
    corners, walls = np.array(corners), np.array(walls)
    normal_x = np.cos(angle) * walls[:, 0] + np.sin(angle) * walls[:, 1]
    normal_y = np.cos(angle) * walls[:, 1] - np.sin(angle) * walls[:, 0]
    offsets = walls[:, 2] - walls[:, 0] * position[0] - walls[:, 1] * position[1]
    overlaps = offsets[:, None] - normal_x[:, None] * corners[:, 0] - normal_y[:, None] * corners[:, 1]
    wall, corner = np.argmax(np.max(overlaps, axis=1)), np.argmax(np.max(overlaps, axis=0))
    return overlaps[wall, corner], (normal_x[wall], normal_y[wall]), (corners[corner, 0], corners[corner, 1])
