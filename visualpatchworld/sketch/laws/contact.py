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
    c, s = np.cos(angle), np.sin(angle)
    overlap, normal, deepest = -np.inf, (0.0, 0.0), (0.0, 0.0)
    for wall_x, wall_y, offset in walls:
        nx, ny = c * wall_x + s * wall_y, c * wall_y - s * wall_x
        free = offset - wall_x * position[0] - wall_y * position[1]
        depth, corner = -np.inf, (0.0, 0.0)
        for x, y in corners:
            corner_depth = free - nx * x - ny * y
            deeper = corner_depth > depth
            depth, corner = np.maximum(depth, corner_depth), (np.where(deeper, x, corner[0]), np.where(deeper, y, corner[1]))
        deeper = depth > overlap
        overlap, normal = np.maximum(overlap, depth), (np.where(deeper, nx, normal[0]), np.where(deeper, ny, normal[1]))
        deepest = (np.where(deeper, corner[0], deepest[0]), np.where(deeper, corner[1], deepest[1]))
    return overlap, normal, deepest
