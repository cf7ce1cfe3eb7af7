"""How a block can be touched: its outline, the walls around it, and the laws by which it meets the disc and them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from visualpatchworld.laws.contact import touch_disc, touch_disc_when_round, touch_planes, touch_planes_when_round
from visualpatchworld.laws.form import Line, Shape, Use
from visualpatchworld.laws.scene import Scene
from visualpatchworld.scene.schema import SceneObject

Polygon = tuple[tuple[float, float], ...]


def touches_of(scene: Scene, agent: SceneObject, block: SceneObject, contacts: str) -> list[Use | Line]:
    """The laws by which a block touches the disc and the walls."""
    name, unit = block.name, scene.length_unit
    planes = Shape("WALLS", planes_of(scene), unit, "normal into the room and offset of each wall")
    radius = Shape(f"{agent.name}_radius".upper(), agent.geometry.radius or 0.0, unit, f"radius of the {agent.name}")
    if block.geometry.polygons:
        hull = Shape(f"{name}_hull".upper(), hull_of(block), unit, "corners of its convex hull")
        touch = Use(
            touch_disc, contacts, (name, agent.name), shapes={"polygons": outline_of(scene, block), "radius": radius}
        )
        stop = Use(touch_planes, contacts, (contacts, name), shapes={"hull": hull, "planes": planes})
    else:
        own = {"own_radius": outline_of(scene, block)}
        touch = Use(touch_disc_when_round, contacts, (name, agent.name), shapes={**own, "radius": radius})
        stop = Use(touch_planes_when_round, contacts, (contacts, name), shapes={**own, "planes": planes})
    return [touch, stop] if planes.value else [touch]


def outline_of(scene: Scene, block: SceneObject) -> Shape:
    """The convex parts of a block, or the radius of a round one."""
    name, unit = block.name, scene.length_unit
    if block.geometry.polygons:
        return Shape(f"{name}_parts".upper(), parts_of(block), unit, f"convex parts of the {name}, in its own frame")
    return Shape(f"{name}_radius".upper(), block.geometry.radius, unit, f"radius of the {name}")


def names_of(block: SceneObject, blocks: Sequence[SceneObject]) -> dict[str, str | tuple[str, ...]]:
    """The names of a block's constants; what belongs to contacts is the same for all blocks."""
    own: dict[str, str | tuple[str, ...]] = {
        "center": (f"{block.name}_center_x".upper(), f"{block.name}_center_y".upper())
    }
    return own | (
        {part: f"contact_{part}".upper() for part in ("recovery", "slop", "friction")} if len(blocks) > 1 else {}
    )


def parts_of(block: SceneObject) -> tuple[Polygon, ...]:
    """The convex parts, each counter-clockwise."""
    return tuple(_counter_clockwise(tuple(polygon)) for polygon in block.geometry.polygons or ())


def _counter_clockwise(polygon: Polygon) -> Polygon:
    area = sum(ax * by - bx * ay for (ax, ay), (bx, by) in zip(polygon, polygon[1:] + polygon[:1], strict=True))
    return polygon if area > 0 else polygon[::-1]


def hull_of(block: SceneObject) -> Polygon:
    """The corners of the convex hull."""
    from scipy.spatial import ConvexHull  # takes a while to load, and only pushing needs it

    corners = np.array([corner for polygon in parts_of(block) for corner in polygon])
    return tuple(map(tuple, corners[ConvexHull(corners).vertices].tolist()))


def planes_of(scene: Scene) -> tuple[tuple[float, float, float], ...]:
    """Each straight wall as (normal into the room, offset): a point is free while normal . point > offset."""
    walls = [item for item in scene.of_kind("wall") if item.geometry.segment is not None]
    places = [np.array([wall.pose.x, wall.pose.y]) for wall in walls]
    middle = np.mean(places, axis=0) if places else np.zeros(2)
    planes = []
    for wall, place in zip(walls, places, strict=True):
        start, end = np.array(wall.geometry.segment)
        normal = np.array([start[1] - end[1], end[0] - start[0]]) / np.linalg.norm(end - start)
        normal = normal * np.sign(normal @ (middle - place))
        planes.append((*(normal + 0.0).tolist(), float(normal @ (place + start)) + (wall.geometry.radius or 0.0)))
    return tuple(planes)
