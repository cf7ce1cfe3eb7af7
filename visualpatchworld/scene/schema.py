"""The one schema of scene graphs, whichever path made them, and the relations that
follow from poses and shapes alone.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from visualpatchworld.errors import BadGraph, first_problem

Source = Literal["oracle", "tool", "vlm"]
Direction = Literal["left", "right", "above", "below", "here"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Pose(_Part):
    """Where an object is, in the graph's length unit; angles in radians. Empty where the path could not measure it."""

    x: float | None = None
    y: float | None = None
    z: float | None = None
    angle: float | None = None


class Velocity(_Part):
    """How an object moves, per second."""

    x: float | None = None
    y: float | None = None
    z: float | None = None
    spin: float | None = None


class Geometry(_Part):
    """An object's shape in its own frame: convex polygons, a radius, a box's half sizes, a link's length,
    or a line with a width.
    """

    radius: float | None = None
    polygons: tuple[tuple[tuple[float, float], ...], ...] | None = None
    half_sizes: tuple[float, ...] | None = None
    length: float | None = None
    segment: tuple[tuple[float, float], tuple[float, float]] | None = None


class SceneObject(_Part):
    """One thing in the scene: `fixed` when it never moves;
    `visible` is false when the path knows of it but could not see it this time.
    """

    name: str
    kind: str
    fixed: bool = False
    visible: bool = True
    pose: Pose = Pose()
    velocity: Velocity = Velocity()
    geometry: Geometry = Geometry()
    attributes: dict[str, float | str | bool] = Field(default_factory=dict)


class Relation(_Part):
    """How one object stands to another, seen from the first."""

    subject: str
    object: str
    distance: float | None = None
    near_contact: bool | None = None
    direction: Direction | None = None


class Metadata(_Part):
    """Which world, which path, which moment and which units."""

    domain: str
    source: Source
    length_unit: str
    y_axis: Literal["up", "down"] = "up"
    step: int | None = None
    notes: tuple[str, ...] = ()


class SceneGraph(_Part):
    """A scene as text: metadata, objects with pose and shape, and the relations between them."""

    metadata: Metadata
    objects: tuple[SceneObject, ...]
    relations: tuple[Relation, ...] = ()

    @model_validator(mode="after")
    def _names_are_unique_and_known(self) -> SceneGraph:
        names = [item.name for item in self.objects]
        if len(set(names)) != len(names):
            raise ValueError(f"two objects share a name among {', '.join(names)}")
        for relation in self.relations:
            for name in (relation.subject, relation.object):
                if name not in names:
                    raise ValueError(f"a relation names '{name}', which is not an object")
        return self

    def __getitem__(self, name: str) -> SceneObject:
        """The object of that name."""
        for item in self.objects:
            if item.name == name:
                return item
        raise BadGraph(
            f"The scene graph has no object '{name}'; it has {', '.join(o.name for o in self.objects) or 'none'}."
        )

    def data(self) -> dict[str, Any]:
        """The graph as JSON values, without the fields that hold nothing."""
        return self.model_dump(mode="json", exclude_none=True, exclude_defaults=True)

    def text(self) -> str:
        """The graph as readable JSON, without the fields that hold nothing."""
        return json.dumps(self.data(), indent=2)


def parse_graph(text: str) -> SceneGraph:
    """The graph a JSON text describes, or `BadGraph` with the first thing that is wrong with it."""
    try:
        return SceneGraph.model_validate_json(text)
    except ValidationError as error:
        raise BadGraph(f"Not a scene graph: {first_problem(error, 'the graph')}.") from None


CONTAINER = "border"  # the kind of object that others are inside of


def relate(objects: Sequence[SceneObject], *, near: float, y_axis: str) -> tuple[Relation, ...]:
    """One relation for every pair of placed objects of which at least one moves;
    `near` is the gap below which they nearly touch.
    """
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
class _Convex:
    """A convex shape seen from above: all within `radius` of the hull of `corners`."""

    corners: Float[np.ndarray, "N 2"]
    radius: float


def _parts(item: SceneObject) -> list[_Convex]:
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
    return [_Convex(outline @ turn + _position(item)[:2], radius) for outline in outlines]


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


def _part_gap(a: _Convex, b: _Convex) -> float:
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
