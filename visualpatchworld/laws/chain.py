"""Planar chains of slides and hinges: what moving a link asks of every other, and the accelerations that follow.

A link has an angle in the plane and a speed. `lumps[i][j]` is what couples links i and j: their kinetic energy is half the sum of
lumps[i][j] * speed_i * speed_j * cos(angle_i - angle_j). A slide is a link whose angle is its fixed direction and whose spin is zero.
"""

import numpy as np


def mass_matrix(lumps, angles):
    """The force on link i per acceleration of link j."""
    links = range(len(angles))
    return [[lumps[i][j] * np.cos(angles[i] - angles[j]) for j in links] for i in links]


def centrifugal(lumps, angles, spins):
    """The force that the turning of all links asks of each."""
    links = range(len(angles))
    return [sum(lumps[i][j] * np.sin(angles[i] - angles[j]) * spins[j] ** 2 for j in links) for i in links]


def add_at_joints(matrix, amounts, parents):
    """The mass matrix with inertia added at joints: it resists a link's speed relative to its parent (None: to the ground)."""
    matrix = [list(row) for row in matrix]
    for link, parent in enumerate(parents):
        matrix[link][link] = matrix[link][link] + amounts[link]
        if parent is not None:
            matrix[parent][parent] = matrix[parent][parent] + amounts[link]
            matrix[link][parent] = matrix[link][parent] - amounts[link]
            matrix[parent][link] = matrix[parent][link] - amounts[link]
    return matrix


def solve(matrix, right):
    """The solution of a few linear equations by elimination; a mass matrix is positive definite and needs no pivots."""
    if len(right) == 0:
        return ()
    top, rest = matrix[0], range(1, len(right))
    shares = [row[0] / top[0] for row in matrix]
    smaller = [[matrix[i][j] - shares[i] * top[j] for j in rest] for i in rest]
    others = solve(smaller, [right[i] - shares[i] * right[0] for i in rest])
    return ((right[0] - sum(top[j] * others[j - 1] for j in rest)) / top[0], *others)
