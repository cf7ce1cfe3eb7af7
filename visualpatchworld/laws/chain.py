"""Planar chains of slides and hinges: what moving a link asks of every other, and the accelerations that follow.

A link has an angle in the plane and a speed. `lumps[i][j]` is what couples links i and j: their kinetic energy is half the sum of
lumps[i][j] * speed_i * speed_j * cos(angle_i - angle_j). A slide is a link whose angle is its fixed direction and whose spin is zero.
"""

import numpy as np


def mass_matrix(lumps, angles):
    """The force on link i per acceleration of link j."""
    return [[lump * np.cos(a - b) for lump, b in zip(row, angles)] for row, a in zip(lumps, angles)]  # noqa: B905


def centrifugal(lumps, angles, spins):
    """The force that the turning of all links asks of each."""
    return [
        sum(lump * np.sin(a - b) * spin * spin for lump, b, spin in zip(row, angles, spins))  # noqa: B905
        for row, a in zip(lumps, angles)  # noqa: B905
    ]


def add_at_joints(matrix, amounts, parents):
    """The mass matrix with inertia added at joints: it resists a link's speed relative to its parent (None: to the ground)."""
    matrix = [list(row) for row in matrix]
    for link, (amount, parent) in enumerate(zip(amounts, parents)):  # noqa: B905
        matrix[link][link] = matrix[link][link] + amount
        if parent is not None:
            matrix[parent][parent] = matrix[parent][parent] + amount
            matrix[link][parent] = matrix[link][parent] - amount
            matrix[parent][link] = matrix[parent][link] - amount
    return matrix


def solve(matrix, right):
    """The solution of a few linear equations by elimination; a mass matrix is positive definite and needs no pivots."""
    pivot, top = matrix[0][0], matrix[0][1:]
    if len(right) == 1:
        return (right[0] / pivot,)
    shares = [row[0] / pivot for row in matrix[1:]]
    smaller = [[a - share * b for a, b in zip(row[1:], top)] for row, share in zip(matrix[1:], shares)]  # noqa: B905
    others = solve(smaller, [value - share * right[0] for value, share in zip(right[1:], shares)])  # noqa: B905
    return ((right[0] - sum(a * x for a, x in zip(top, others))) / pivot, *others)  # noqa: B905
