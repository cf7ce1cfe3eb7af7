"""Arms in the plane: where two links end, and how torques turn the joints between them."""

import numpy as np


def fingertip(shoulder, wrist, link_1, link_2):
    """The end of two links; the second one's angle counts from the first."""
    x = link_1 * np.cos(shoulder) + link_2 * np.cos(shoulder + wrist)
    y = link_1 * np.sin(shoulder) + link_2 * np.sin(shoulder + wrist)
    return x, y


def accelerations(inertia, torques):
    """Of two joints whose inertia is the matrix ((a, b), (b, c))."""
    a, b, c = inertia
    det = a * c - b * b
    return (c * torques[0] - b * torques[1]) / det, (a * torques[1] - b * torques[0]) / det
