"""Rigid contact in the plane: where shapes touch, and the least motion of a body that lets none of them enter another."""

import numpy as np


def gap_to_polygon(point, corners):
    """Distance from a point to a convex polygon (negative inside) and the unit normal from the polygon to the point."""
    square, near, depth, out = np.inf, (0.0, 0.0), -np.inf, (0.0, 0.0)
    for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1], strict=True):  # counter-clockwise
        length = ((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5
        ux, uy = (bx - ax) / length, (by - ay) / length
        x, y = point[0] - ax, point[1] - ay
        edge_depth = uy * x - ux * y
        along = np.clip(ux * x + uy * y, 0.0, length)
        x, y = x - along * ux, y - along * uy
        nearer, deeper = x * x + y * y < square, edge_depth > depth
        square, near = np.minimum(square, x * x + y * y), (np.where(nearer, x, near[0]), np.where(nearer, y, near[1]))
        depth, out = np.maximum(depth, edge_depth), (np.where(deeper, uy, out[0]), np.where(deeper, -ux, out[1]))
    outside = depth > 0
    distance = np.sqrt(np.where(outside, square, 1.0))
    normal = (np.where(outside, near[0] / distance, out[0]), np.where(outside, near[1] / distance, out[1]))
    return np.where(outside, distance, depth), normal


def deepest_in_walls(corners, position, angle, walls):
    """The corner of a body deepest inside a wall: the overlap, the wall's normal and the corner in the body's frame."""
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
