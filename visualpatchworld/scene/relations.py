"""Relations between objects: distance, near contact and direction, from poses and shapes alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from visualpatchworld.scene.schema import Relation, SceneObject


def relate(objects: Sequence[SceneObject], *, near: float, y_axis: str) -> tuple[Relation, ...]:
    """One relation for every pair of objects that have a position; `near` is the gap below which two objects nearly touch."""
    placed = [item for item in objects if item.visible and item.pose.x is not None and item.pose.y is not None]
    return tuple(_relation(a, b, near, y_axis) for a, b in itertools.combinations(placed, 2))


def _relation(a: SceneObject, b: SceneObject, near: float, y_axis: str) -> Relation:
    offset = _position(b) - _position(a)
    distance = float(np.linalg.norm(offset))
    return Relation(
        subject=a.name,
        object=b.name,
        distance=distance,
        near_contact=_gap(a, b, distance) <= near,
        direction=_direction(offset, y_axis),
    )


def _position(item: SceneObject) -> np.ndarray:
    return np.array([item.pose.x, item.pose.y, item.pose.z or 0.0], dtype=np.float64)


def _direction(offset: np.ndarray, y_axis: str) -> str:
    x, y = offset[0], offset[1] if y_axis == "up" else -offset[1]
    if x == 0 and y == 0:
        return "here"
    if abs(x) >= abs(y):
        return "right" if x > 0 else "left"
    return "above" if y > 0 else "below"


def _gap(a: SceneObject, b: SceneObject, distance: float) -> float:
    """The free space between two shapes; a polygon is measured from the other object's centre, boxes by their half size."""
    for shape, other in ((a, b), (b, a)):
        if shape.geometry.polygons is not None:
            return _distance_to_polygons(shape, _position(other)[:2]) - _extent(other)
    return distance - _extent(a) - _extent(b)


def _extent(item: SceneObject) -> float:
    if item.geometry.radius is not None:
        return item.geometry.radius
    if item.geometry.half_sizes is not None:
        return max(item.geometry.half_sizes)
    return 0.0


def _distance_to_polygons(item: SceneObject, point: np.ndarray) -> float:
    angle = item.pose.angle or 0.0
    cos, sin = math.cos(angle), math.sin(angle)
    local = np.array([[cos, sin], [-sin, cos]]) @ (point - _position(item)[:2])
    return min(_distance_to_polygon(local, np.array(polygon)) for polygon in item.geometry.polygons or ())


def _distance_to_polygon(point: np.ndarray, corners: np.ndarray) -> float:
    ends = np.roll(corners, -1, axis=0)
    edges = ends - corners
    along = np.clip(((point - corners) * edges).sum(1) / (edges**2).sum(1), 0, 1)
    nearest = corners + along[:, None] * edges
    cross = edges[:, 0] * (point - corners)[:, 1] - edges[:, 1] * (point - corners)[:, 0]
    inside = bool(np.all(cross >= 0) or np.all(cross <= 0))
    return 0.0 if inside else float(np.linalg.norm(point - nearest, axis=1).min())
