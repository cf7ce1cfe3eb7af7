"""Contacts against what brute force finds: the deepest corner in a half-plane, and turns that undo each other."""

import itertools

import numpy as np
import pytest

from visualpatchworld.laws.contact import gap_to_polygon, push_smoothly, rotate, touch_planes

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
    # Outwards, of the body.
    np.testing.assert_allclose(rotate(normal, body[2]), -np.array(PLANES[plane][:2]), atol=1e-9)
    np.testing.assert_allclose(place, HULL[corner])
    assert (speed, slide) == (0.0, 0.0)


@pytest.mark.parametrize(
    "corners", [HULL, ((0.0, 0.0), (9.0, 0.0), (0.5, 1.0)), ((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0))]
)
def test_the_gap_is_that_to_the_nearest_place_of_the_outline(corners: tuple):
    points, ends = np.random.default_rng(0).uniform(-12, 12, (500, 2)), np.array([*corners, corners[0]])
    nearest, inside = np.full(500, np.inf), np.ones(500, bool)
    for start, end in itertools.pairwise(ends):
        side, away = end - start, points - start
        place = start + np.clip(away @ side / (side @ side), 0, 1)[:, None] * side
        nearest, inside = (
            np.minimum(nearest, np.linalg.norm(points - place, axis=1)),
            inside & (side[0] * away[:, 1] > side[1] * away[:, 0]),
        )
    gap, normal = gap_to_polygon(points.T, corners)
    np.testing.assert_allclose(gap, np.where(inside, -nearest, nearest), atol=1e-9)
    # On the outline.
    np.testing.assert_allclose(
        gap_to_polygon((points - gap[:, None] * np.transpose(normal)).T, corners)[0], 0, atol=1e-9
    )


def test_contacts_push_a_body_until_it_enters_none_and_none_pulls():
    rng = np.random.default_rng(1)
    for _ in range(50):
        bearing = rng.uniform(0, 2) + np.array([0.0, 2.2, 4.4])  # a body that is nearly shut in
        normals, places, speeds = (
            np.array([np.cos(bearing), np.sin(bearing)]).T,
            rng.uniform(-1, 1, (3, 2)),
            rng.uniform(-1, 0.2, 3),
        )
        contacts = [(0.1, *each, 0.0) for each in zip(normals, places, speeds, strict=True)]
        apart = [*contacts[:2], (-0.1, *contacts[2][1:])]
        vx, vy, spin = push_smoothly(apart, (0.0, 0.0, 0.0), inertia=2.0, center=(0.0, 0.0))
        turns = places[:, 0] * normals[:, 1] - places[:, 1] * normals[:, 0]
        closing = (normals @ (vx, vy) + spin * turns - speeds)[:2]
        assert (closing < 0.02).all()
        pushes = np.linalg.lstsq(-np.array([*normals[:2].T, turns[:2] / 2.0]), (vx, vy, spin), rcond=None)[0]
        assert (pushes > -1e-9).all()
        assert (np.abs(pushes * closing) < 0.02).all()


def test_turning_back_undoes_a_turn():
    np.testing.assert_allclose(rotate(rotate((1.0, 2.0), 0.7), 0.7, -1.0), (1.0, 2.0))
