"""Arms in the plane: where a chain of links ends."""

import numpy as np


def fingertip(shoulder, wrist, link_1, link_2):
    """The end of two links; the second one's angle counts from the first."""
    x = link_1 * np.cos(shoulder) + link_2 * np.cos(shoulder + wrist)
    y = link_1 * np.sin(shoulder) + link_2 * np.sin(shoulder + wrist)
    return x, y
