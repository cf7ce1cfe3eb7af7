"""A scene as shapes that move: outlines once, in each object's own frame, and where each object is, moment by moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from visualpatchworld.scene.schema import SceneObject
from visualpatchworld.scene.state import SceneTemplate, StateSpace

POSE = ("pose.x", "pose.y", "pose.z", "pose.angle", "attributes.opening")  # what a page places an object by
MARGIN = 0.08  # of the extent, around what is drawn
POINT = 0.02  # of the extent: the size of an object that has none


@dataclass(frozen=True)
class Drawing:
    """The objects of a scene, where each of their numbers lies in a state, and the box that holds everything."""

    objects: tuple[SceneObject, ...]
    columns: tuple[tuple[int, ...], ...]  # per object: the field of each number of POSE, -1 where no field holds it
    low: tuple[float, ...]
    high: tuple[float, ...]
    unit: str
    y_down: bool
    solid: bool  # drawn in three dimensions

    @property
    def moving(self) -> list[int]:
        """Numbers of the objects that move."""
        return [i for i, item in enumerate(self.objects) if not item.fixed]

    def places(self, states: Float[np.ndarray, "T S"], objects: Sequence[int]) -> Float[np.ndarray, "T N 5"]:
        """x, y, z, angle and opening of these objects at each moment.

        A link without a place of its own begins where the object listed before it ends, and its angle counts from that one's.
        """
        found = np.stack([self._place(states, i) for i in range(len(self.objects))], axis=1)
        for i, item in enumerate(self.objects):
            if item.geometry.length is None or self.columns[i][0] >= 0 or item.pose.x is not None or i == 0:
                continue
            before, length = found[:, i - 1], self.objects[i - 1].geometry.length or 0.0
            found[:, i, 3] += before[:, 3] if length else 0.0
            found[:, i, 0] = before[:, 0] + length * np.cos(before[:, 3])
            found[:, i, 1] = before[:, 1] + length * np.sin(before[:, 3])
        return found[:, list(objects)]

    def _place(self, states: Float[np.ndarray, "T S"], number: int) -> Float[np.ndarray, "T 5"]:
        pose = self.objects[number].pose
        rest = (pose.x, pose.y, pose.z, pose.angle, 0.0)
        parts = [
            states[:, column] if column >= 0 else np.full(len(states), value or 0.0)
            for column, value in zip(self.columns[number], rest, strict=True)
        ]
        return np.stack(parts, axis=1)

    def shapes(self) -> list[dict[str, Any]]:
        """The objects for a page: name, kind, shape in its own frame, and the fields that a drag of it changes."""
        size = max(high - low for low, high in zip(self.low, self.high, strict=True))
        return [
            {
                "name": item.name,
                "kind": item.kind,
                "fixed": item.fixed,
                "fields": list(columns[:4]),
                "opens": columns[4] >= 0,
                "shape": item.geometry.model_dump(mode="json", exclude_none=True) or {"radius": POINT * size},
            }
            for item, columns in zip(self.objects, self.columns, strict=True)
        ]


def drawing_of(template: SceneTemplate, constants: Any, seen: Float[np.ndarray, "T S"]) -> Drawing:
    """How to draw a domain's scenes; what was seen tells how large they are where no object does."""
    objects = template.objects(constants)
    columns = tuple(tuple(_column(template.state_space, f"{item.name}.{part}") for part in POSE) for item in objects)
    solid = any(row[2] >= 0 for row in columns) or any(item.geometry.length is not None for item in objects)
    rough = Drawing(objects, columns, (0.0,) * 3, (0.0,) * 3, template.length_unit, template.y_axis == "down", solid)
    corners = [rough.places(seen, range(len(objects)))[:, :, :3].reshape(-1, 3)]
    if template.workspace is not None:
        corners.append(np.array([[*corner, 0.0, 0.0][:3] for corner in template.workspace]))
    reach = sum(item.geometry.length or 0.0 for item in objects)
    for item in objects:
        around = (reach + (item.geometry.radius or 0.0)) if item.geometry.length is not None else _around(item)
        middle = np.array([item.pose.x or 0.0, item.pose.y or 0.0, item.pose.z or 0.0])
        if item.fixed or item.geometry.length is not None:
            wide = np.array([*np.broadcast_to(around, 2), 0.0])
            corners.append(np.stack([middle - wide, middle + wide]))
    points = np.concatenate(corners)
    low, high = points.min(axis=0), points.max(axis=0)
    pad = MARGIN * max(float((high - low).max()), 1e-9)
    low, high = low - pad, high + pad
    if solid:
        low[2] = min(0.0, points[:, 2].min())  # things stand on the ground
    return Drawing(objects, columns, tuple(low.tolist()), tuple(high.tolist()), rough.unit, rough.y_down, solid)


def _column(space: StateSpace, place: str) -> int:
    return next((i for i, field in enumerate(space) if field.at == place), -1)


def _around(item: SceneObject) -> Float[np.ndarray, " 2"]:
    """How far an object reaches from its middle, along x and y."""
    shape, radius = item.geometry, item.geometry.radius or 0.0
    if shape.half_sizes is not None:
        return np.array(shape.half_sizes[:2]) + radius
    points = [point for polygon in shape.polygons or () for point in polygon] + list(shape.segment or ())
    return (np.abs(np.array(points)).max(axis=0) if points else np.zeros(2)) + radius
