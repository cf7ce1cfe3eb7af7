"""How blocks can be touched: their outlines, the walls around them, and the laws by which they yield to all of it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from visualpatchworld.laws.contact import (
    coast,
    meet,
    meet_round,
    meet_when_round,
    move,
    move_on,
    push_all_roughly,
    push_all_smoothly,
    push_roughly,
    push_smoothly,
    touch_disc,
    touch_disc_when_round,
    touch_planes,
    touch_planes_when_round,
    undoing,
    with_undoing,
    without_undoing,
    yielding,
)
from visualpatchworld.laws.form import Line, Scene, Shape, Use
from visualpatchworld.scene.schema import SceneObject

Polygon = tuple[tuple[float, float], ...]
REST = "(0.0, 0.0, 0.0)"


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


def yield_alone(
    scene: Scene,
    agent: SceneObject,
    block: SceneObject,
    blocks: Sequence[SceneObject],
    *,
    rough: bool,
    keep_motion: bool,
    gives: str,
) -> list[Use | Line]:
    """The laws by which a block yields to what touches it, in a physics step."""
    name, names = block.name, names_of(block, blocks)
    push = push_roughly if rough else push_smoothly
    laws = touches_of(scene, agent, block, "contacts")
    if keep_motion:
        laws.append(Use(coast, "motion", (name, "dt"), name))
        laws.append(Use(push, "motion", ("contacts", "motion"), name, names))
        laws.append(Use(undoing, "overlaps", ("contacts",), name, names))
        laws.append(Use(push, "undone", ("overlaps", REST), name, names))
        laws.append(Use(move_on, gives, (name, "motion", "undone", "dt"), name, names))
    else:
        laws.append(Use(yielding, "contacts", ("contacts",), name, names))
        laws.append(Use(push, "motion", ("contacts", REST), name, names))
        laws.append(Use(move, gives, (name, "motion", "dt"), name, names))
    return laws


def yield_together(
    scene: Scene, agent: SceneObject, blocks: Sequence[SceneObject], *, rough: bool, keep_motion: bool, gives: str
) -> list[Use | Line]:
    """The laws by which blocks yield to what touches them and to each other, in a physics step."""
    names = [names_of(block, blocks) for block in blocks]
    of_all = names[0] | {
        "mass": tuple(f"{block.name}_mass".upper() for block in blocks[1:]),
        "inertia": tuple(f"{block.name}_inertia".upper() for block in blocks),
        "center": tuple(part for own in names for part in own["center"]),
    }
    push = push_all_roughly if rough else push_all_smoothly

    def each(text: str) -> str:
        return "(" + ", ".join(text.format(block.name) for block in blocks) + ")"

    laws: list[Use | Line] = []
    for block in blocks:
        laws += touches_of(scene, agent, block, f"{block.name}_contacts")
    pairs, meetings = list(itertools.combinations(range(len(blocks)), 2)), []
    for i, j in pairs:
        which = "meetings" if len(pairs) == 1 else f"meetings_{i}_{j}"
        meetings.append(f"({i}, {j}, {which})")
        laws.append(_meet(scene, blocks[i], blocks[j], which))
    met = "(" + ", ".join(meetings) + ",)"
    motions = each("{0}_motion")[1:-1]

    def undo(law, contacts: str) -> list[Use | Line]:
        found: list[Use | Line] = [
            Use(law, contacts.format(block.name), (f"{block.name}_contacts",), "", names[0]) for block in blocks
        ]
        found += [
            Use(with_undoing, meeting, (meeting,), "", names[0])
            for meeting in (part.split()[-1][:-1] for part in meetings)
        ]
        return found

    if keep_motion:
        laws += [Use(coast, f"{block.name}_motion", (block.name, "dt"), block.name) for block in blocks]
        laws += [
            Use(without_undoing, f"resting_{meeting}", (meeting,))
            for meeting in (part.split()[-1][:-1] for part in meetings)
        ]
        laws.append(
            Use(
                push,
                motions,
                (each("{0}_contacts"), met.replace("meetings", "resting_meetings"), each("{0}_motion")),
                "",
                of_all,
            )
        )
        laws += undo(undoing, "{0}_overlaps")
        laws.append(Use(push, each("{0}_undone")[1:-1], (each("{0}_overlaps"), met, each(REST)), "", of_all))
        for block, own in zip(blocks, names, strict=True):
            moved = (block.name, f"{block.name}_motion", f"{block.name}_undone", "dt")
            laws.append(Use(move_on, gives.format(block.name), moved, block.name, own))
    else:
        laws += undo(yielding, "{0}_contacts")
        laws.append(Use(push, motions, (each("{0}_contacts"), met, each(REST)), "", of_all))
        for block, own in zip(blocks, names, strict=True):
            laws.append(
                Use(move, gives.format(block.name), (block.name, f"{block.name}_motion", "dt"), block.name, own)
            )
    return laws


def _meet(scene: Scene, block: SceneObject, other: SceneObject, gives: str) -> Use:
    """Where two blocks touch; of a round one and another, the round one is the second."""
    own, others = outline_of(scene, block), outline_of(scene, other)
    bodies = (block.name, other.name)
    if block.geometry.polygons and other.geometry.polygons:
        return Use(meet, gives, bodies, shapes={"polygons": own, "other_polygons": others})
    if block.geometry.polygons:
        return Use(meet_round, gives, bodies, shapes={"polygons": own, "other_radius": others})
    return Use(meet_when_round, gives, bodies, shapes={"radius": own, "other_radius": others})
