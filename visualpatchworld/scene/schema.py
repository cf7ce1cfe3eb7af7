"""The one schema of scene graphs, whichever path made them."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from visualpatchworld.errors import BadGraph

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
    """An object's shape in its own frame: convex polygons, a radius, a box's half sizes, a link's length, or a line with a width."""

    radius: float | None = None
    polygons: tuple[tuple[tuple[float, float], ...], ...] | None = None
    half_sizes: tuple[float, ...] | None = None
    length: float | None = None
    segment: tuple[tuple[float, float], tuple[float, float]] | None = None


class SceneObject(_Part):
    """One thing in the scene: `fixed` when it never moves; `visible` is false when the path knows of it but could not see it this time."""

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
        raise BadGraph(f"The scene graph has no object '{name}'; it has {', '.join(o.name for o in self.objects) or 'none'}.")

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
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the graph"
        raise BadGraph(f"Not a scene graph: {where}: {first['msg'].lower()}.") from None
