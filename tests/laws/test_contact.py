"""Contacts against what brute force finds: the deepest corner in a half-plane, and turns that undo each other."""

import numpy as np
import pytest

from visualpatchworld.laws.contact import touch_planes
from visualpatchworld.laws.vector import rotate, rotate_back

HULL = ((-3.0, 0.0), (4.0, -1.0), (5.0, 2.0), (0.5, 6.0), (-2.5, 4.0))
PLANES = ((1.0, 0.0, 1.0), (0.0, 1.0, 2.0), (-1.0, 0.0, -20.0), (0.6, -0.8, -9.0))


@pytest.mark.parametrize("seed", range(20))
def test_the_deepest_corner_is_found(seed: int):
    rng = np.random.default_rng(seed)
    body = (*rng.uniform(2, 18, 2), rng.uniform(-4, 4))
    corners = np.array([np.add(rotate(corner, body[2]), body[:2]) for corner in HULL])
    overlaps = np.array([[offset - nx * x - ny * y for x, y in corners] for nx, ny, offset in PLANES])
    plane, corner = np.unravel_index(np.argmax(overlaps), overlaps.shape)
    [(depth, normal, place, speed, slide)] = touch_planes([], body, hull=HULL, planes=PLANES)
    assert depth == pytest.approx(overlaps.max(), abs=1e-9)
    np.testing.assert_allclose(rotate(normal, body[2]), -np.array(PLANES[plane][:2]), atol=1e-9)  # outwards, of the body
    np.testing.assert_allclose(place, HULL[corner])
    assert (speed, slide) == (0.0, 0.0)


def test_turning_back_undoes_a_turn():
    np.testing.assert_allclose(rotate_back(rotate((1.0, 2.0), 0.7), 0.7), (1.0, 2.0))
