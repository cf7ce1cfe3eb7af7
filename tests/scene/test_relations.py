"""Gaps between shapes, against positions where the answer is plain and against dense sampling."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from visualpatchworld.scene.schema import Geometry, Pose, SceneObject, gap, relate

BAR = ((-60.0, 0.0), (60.0, 0.0), (60.0, 30.0), (-60.0, 30.0))
STEM = ((-15.0, 30.0), (15.0, 30.0), (15.0, 120.0), (-15.0, 120.0))


def thing(
    name: str = "a",
    x: float = 0.0,
    y: float = 0.0,
    *,
    z: float | None = None,
    angle: float | None = None,
    kind="thing",
    **shape,
):
    return SceneObject(name=name, kind=kind, pose=Pose(x=x, y=y, z=z, angle=angle), geometry=Geometry(**shape))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (thing(radius=1.0), thing("b", 5, radius=2.0), 2.0),
        (thing(radius=3.0), thing("b", 4, radius=2.0), 0.0),
        (thing(half_sizes=(5.0, 98.0)), thing("b", 30, 80, radius=7.0), 18.0),
        (thing(half_sizes=(1.0, 1.0)), thing("b", 4, 5, half_sizes=(1.0, 1.0)), math.hypot(2, 3)),
        (thing(half_sizes=(2.0, 1.0), angle=math.pi / 2), thing("b", 4, radius=1.0), 2.0),
        (thing(polygons=(BAR, STEM)), thing("b", 40, 90, radius=15.0), 10.0),
        (thing(polygons=(BAR, STEM), angle=math.pi), thing("b", -40, -90, radius=15.0), 10.0),
        (thing(segment=((0.0, 0.0), (10.0, 0.0)), radius=2.0), thing("b", 5, 8, radius=1.0), 5.0),
        (thing(segment=((0.0, 0.0), (10.0, 0.0)), radius=2.0), thing("b", 13, 4), 3.0),
        (thing(length=2.0, angle=math.pi / 2), thing("b", 1, 1), 1.0),
        (thing(half_sizes=(10.0, 10.0), kind="border"), thing("b", 7, 0, radius=2.0), 1.0),
        (thing("b", 0, -9, radius=2.0), thing(half_sizes=(10.0, 10.0), kind="border"), 0.0),
        (thing(half_sizes=(0.02,) * 3, z=0.02), thing("b", 0, 0, z=0.1), 0.06),
        (thing(half_sizes=(0.02,) * 3, z=0.02), thing("b", 0.05, 0, z=0.08), 0.05),
    ],
)
def test_gap_where_the_answer_is_plain(a: SceneObject, b: SceneObject, expected: float):
    assert gap(a, b) == pytest.approx(expected, abs=1e-9)
    assert gap(b, a) == pytest.approx(expected, abs=1e-9)


coordinate = st.floats(-20, 20)
angle = st.floats(-math.pi, math.pi)
half_size = st.floats(0.5, 5)


@given(coordinate, coordinate, angle, angle, half_size, half_size, half_size)
def test_gap_of_turned_boxes_matches_sampling(
    x: float, y: float, turn: float, other_turn: float, w: float, h: float, side: float
):
    first = thing(half_sizes=(w, h), angle=turn)
    second = thing("b", x, y, half_sizes=(side, side), angle=other_turn)
    sampled = np.linalg.norm(outline(first)[:, None] - outline(second)[None], axis=-1).min()
    spacing = 2 * 5 / 40
    # Sampled outlines are at most one spacing farther apart than the shapes; overlapping shapes have crossing or nested
    # outlines.
    assert gap(first, second) <= sampled + 1e-9
    if gap(first, second) > 0:
        assert sampled <= gap(first, second) + 2 * spacing


def outline(item: SceneObject) -> np.ndarray:
    """Points along a box's sides."""
    assert item.geometry.half_sizes is not None
    assert item.pose.angle is not None
    corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * item.geometry.half_sizes
    along = np.linspace(0, 1, 41)[:, None]
    points = np.concatenate([a + along * (b - a) for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True)])
    cos, sin = math.cos(item.pose.angle), math.sin(item.pose.angle)
    return points @ np.array([[cos, sin], [-sin, cos]]) + [item.pose.x, item.pose.y]


def test_two_fixed_objects_and_unseen_ones_have_no_relation():
    wall = thing("wall", half_sizes=(1.0, 1.0)).model_copy(update={"fixed": True})
    door = wall.model_copy(update={"name": "door"})
    hidden = thing("hidden").model_copy(update={"visible": False})
    lost = SceneObject(name="lost", kind="thing")
    pairs = [
        (r.subject, r.object) for r in relate([wall, door, thing("agent", 9), hidden, lost], near=1.0, y_axis="up")
    ]
    assert pairs == [("wall", "agent"), ("door", "agent")]


@pytest.mark.parametrize(("y_axis", "direction"), [("up", "above"), ("down", "below")])
def test_direction_follows_the_y_axis(y_axis: str, direction: str):
    (relation,) = relate([thing(), thing("b", 1, 5)], near=1.0, y_axis=y_axis)
    assert relation.direction == direction
    assert relation.distance == pytest.approx(math.sqrt(26))


def test_near_contact_begins_at_the_given_gap():
    disc = thing(radius=1.0)
    assert relate([disc, thing("b", 4, radius=1.0)], near=2.0, y_axis="up")[0].near_contact is True
    assert relate([disc, thing("b", 4.1, radius=1.0)], near=2.0, y_axis="up")[0].near_contact is False
