"""Relations between objects: distance, near contact and direction, from poses and shapes alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from visualpatchworld.scene.schema import Direction, Relation, SceneObject

CONTAINER = "border"  # the kind of object that others are inside of


def relate(objects: Sequence[SceneObject], *, near: float, y_axis: str) -> tuple[Relation, ...]:
    """One relation for every pair of placed objects of which at least one moves; `near` is the gap below which they nearly touch."""
    placed = [item for item in objects if item.visible and item.pose.x is not None and item.pose.y is not None]
    pairs = ((a, b) for a, b in itertools.combinations(placed, 2) if not (a.fixed and b.fixed))
    return tuple(_relation(a, b, near, y_axis) for a, b in pairs)


def gap(a: SceneObject, b: SceneObject) -> float:
    """The free space between two objects, 0 where they touch or overlap; to a border it is measured from the inside."""
    if a.kind == CONTAINER:
        return _room(a, b)
    if b.kind == CONTAINER:
        return _room(b, a)
    across = min(_part_gap(part, other) for part in _parts(a) for other in _parts(b))
    rise = abs((a.pose.z or 0.0) - (b.pose.z or 0.0)) - _half_height(a) - _half_height(b)
    return math.hypot(across, max(rise, 0.0))


def _relation(a: SceneObject, b: SceneObject, near: float, y_axis: str) -> Relation:
    offset = _position(b) - _position(a)
    return Relation(
        subject=a.name,
        object=b.name,
        distance=float(np.linalg.norm(offset)),
        near_contact=gap(a, b) <= near,
        direction=_direction(offset, y_axis),
    )


def _position(item: SceneObject) -> Float[np.ndarray, " 3"]:
    return np.array([item.pose.x, item.pose.y, item.pose.z or 0.0], dtype=np.float64)


def _direction(offset: np.ndarray, y_axis: str) -> Direction:
    x, y = offset[0], offset[1] if y_axis == "up" else -offset[1]
    if x == 0 and y == 0:
        return "here"
    if abs(x) >= abs(y):
        return "right" if x > 0 else "left"
    return "above" if y > 0 else "below"


@dataclass(frozen=True)
class _Part:
    """A convex shape seen from above: all within `radius` of the hull of `corners`."""

    corners: Float[np.ndarray, "N 2"]
    radius: float


def _parts(item: SceneObject) -> list[_Part]:
    shape = item.geometry
    radius = shape.radius or 0.0
    if shape.polygons is not None:
        outlines = [np.array(polygon) for polygon in shape.polygons]
    elif shape.half_sizes is not None:
        outlines = [np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * shape.half_sizes[:2]]
    elif shape.segment is not None:
        outlines = [np.array(shape.segment)]
    elif shape.length is not None:
        outlines = [np.array([[0.0, 0.0], [shape.length, 0.0]])]
    else:
        outlines = [np.zeros((1, 2))]
    angle = item.pose.angle or 0.0
    turn = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    return [_Part(outline @ turn + _position(item)[:2], radius) for outline in outlines]


def _half_height(item: SceneObject) -> float:
    sizes = item.geometry.half_sizes
    return sizes[2] if sizes is not None and len(sizes) > 2 else item.geometry.radius or 0.0


def _room(container: SceneObject, item: SceneObject) -> float:
    """How far an object inside a convex container is from its nearest side."""
    corners = _hull(_parts(container)[0].corners)
    sides = np.roll(corners, -1, axis=0) - corners
    inward = np.stack([-sides[:, 1], sides[:, 0]], axis=1) / np.linalg.norm(sides, axis=1, keepdims=True)
    rooms = [((part.corners[:, None] - corners) * inward).sum(-1).min() - part.radius for part in _parts(item)]
    return max(float(min(rooms)), 0.0)


def _part_gap(a: _Part, b: _Part) -> float:
    # Two convex shapes are as far apart as the origin is from the set of all differences of their points.
    differences = (a.corners[:, None] - b.corners[None]).reshape(-1, 2)
    return max(_distance_from_origin(_hull(differences)) - a.radius - b.radius, 0.0)


def _distance_from_origin(corners: Float[np.ndarray, "N 2"]) -> float:
    """How far the origin is from a convex hull with corners in counter-clockwise order."""
    sides = np.roll(corners, -1, axis=0) - corners
    if len(corners) > 2 and np.all(sides[:, 1] * corners[:, 0] >= sides[:, 0] * corners[:, 1]):
        return 0.0
    along = np.clip(-(corners * sides).sum(1) / np.maximum((sides**2).sum(1), np.finfo(float).tiny), 0, 1)
    return float(np.linalg.norm(corners + along[:, None] * sides, axis=1).min())


def _hull(points: Float[np.ndarray, "N 2"]) -> Float[np.ndarray, "M 2"]:
    """The corners of the convex hull, counter-clockwise and without points on its sides."""
    ordered = sorted(set(map(tuple, points.tolist())))
    if len(ordered) < 3:
        return np.array(ordered)
    return np.array(_chain(ordered) + _chain(ordered[::-1]))


def _chain(ordered: list[tuple[float, float]]) -> list[tuple[float, float]]:
    chain: list[tuple[float, float]] = []
    for point in ordered:
        while len(chain) > 1 and not _turns_left(chain[-2], chain[-1], point):
            chain.pop()
        chain.append(point)
    return chain[:-1]


def _turns_left(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[0] - a[0]) * (c[1] - a[1]) > (b[1] - a[1]) * (c[0] - a[0])
