"""A driven disc among bodies that it may push: how it follows its target, whether they yield, and whether they keep their motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.spatial import ConvexHull

from visualpatchworld.laws.contact import (
    coast,
    follow,
    follow_when_near,
    move,
    move_on,
    push_roughly,
    push_smoothly,
    touch_disc,
    touch_disc_when_round,
    touch_planes,
    touch_planes_when_round,
    undoing,
    yielding,
)
from visualpatchworld.laws.drive import aim, glide, halt, pull, set_off, shift
from visualpatchworld.laws.form import Body, Family, Form, Hidden, Line, Shape, Use
from visualpatchworld.laws.rules.moving import agent_of
from visualpatchworld.laws.rules.pushing_probes import probes_of
from visualpatchworld.laws.scene import Scene
from visualpatchworld.scene.schema import SceneObject

Polygon = tuple[tuple[float, float], ...]
REST = "(0.0, 0.0, 0.0)"


def pushing(scene: Scene) -> Family | None:
    """A disc with a velocity is drawn to a target or goes there directly; bodies with an outline are pushed, or not."""
    agent = agent_of(scene)
    blocks = pushable(scene)
    if agent is None or not blocks or scene.action_dim != 2:
        return None
    fields = scene.fields(agent, "pose.x", "pose.y", "velocity.x", "velocity.y")
    if len(fields) != 4:
        return None
    me = agent.name
    target = Use(aim, "target", (me, "action"), of=me)
    common = {"length_unit": scene.length_unit, "size": scene.size}

    def bodies(*, keep_motion: bool) -> tuple[tuple[Body, ...], tuple[Hidden, ...]]:
        found, hidden = [Body(me, fields)], []
        for block in blocks:
            pose = scene.fields(block, "pose.x", "pose.y", "pose.angle")
            unseen = tuple(f"{block.name}_{part}" for part in ("vx", "vy", "spin")) if keep_motion else ()
            found.append(Body(block.name, (*pose, *unseen)))
            docs = (f"{scene.length_unit}/s, of the centre of mass; not observed", "", "rad/s")
            hidden += [Hidden(name, doc) for name, doc in zip(unseen, docs, strict=False)]
        return tuple(found), tuple(hidden)

    def build(choices: Mapping[str, str]) -> Form:
        frozen, keep_motion = choices["block"] == "frozen", choices["response"] == "inertial" and choices["block"] != "frozen"
        push = push_roughly if choices["contact"] == "rough" else push_smoothly
        direct = choices["drive"] == "direct"
        yields: list[Use | Line] = []
        for block in () if frozen else blocks:
            yields += _yield(scene, agent, block, push, keep_motion=keep_motion, gives=f"pushed_{block.name}" if direct else block.name)
        if direct:
            # Each block follows once the disc has moved; what the last physics step would have made of it is forgotten.
            moved = () if frozen else blocks
            ahead, back = _renamed(moved, "pushed_{0}", "{0}"), _renamed(moved, "{0}", "pushed_{0}")
            once = (Use(set_off, me, (me, "action", "STEP_SECONDS"), of=me), *ahead)
            often = (*back, Use(glide, me, (me, "dt")), *yields)
            last: tuple[Use, ...] = (Use(halt, me, (me,)),)
        else:
            once, often, last = (target,), (*yields, Use(pull, me, (me, "target", "dt"), of=me)), ()
        drawn, hidden = bodies(keep_motion=keep_motion)
        what = "frozen block" if frozen else f"{choices['response']} block, rigid {choices['contact']} contact"
        return Form(choices, f"{choices['drive']} {me}, {what}.", scene.units, drawn, once, often, last, hidden, **common)

    def template(name: str, title: str, near: bool) -> Form:
        shifts: list[Use | Line] = [Line("before", me), Use(shift, me, (me, "action"), of=me)]
        for block in blocks:
            middle = Shape(
                f"{block.name}_middle".upper(),
                tuple(np.mean(hull_of(block), axis=0)) if block.geometry.polygons else (0.0, 0.0),
                scene.length_unit,
                "middle of its corners",
            )
            law, shapes = (follow_when_near, {"middle": middle}) if near else (follow, {})
            shifts.append(Use(law, block.name, (block.name, "before", me), of=block.name, shapes=shapes))
        return Form({"form": name}, title, scene.units, bodies(keep_motion=False)[0], tuple(shifts), **common)

    return Family(
        {
            "drive": ("direct", "PD"),
            "block": ("frozen", "pushed"),
            "response": ("quasi-static", "inertial"),
            "contact": ("smooth", "rough"),
        },
        build,
        probes_of(scene, agent, blocks),
        extra=(template("linear", "linear template.", near=False), template("collision-gated", "collision gate.", near=True)),
    )


def pushable(scene: Scene) -> tuple[SceneObject, ...]:
    """Bodies in the plane that can turn and have an outline."""
    return tuple(
        item
        for item in scene.objects
        if len(scene.fields(item, "pose.x", "pose.y", "pose.angle")) == 3
        and not item.fixed
        and (item.geometry.polygons or item.geometry.radius)
    )


def _yield(scene: Scene, agent: SceneObject, block: SceneObject, push, *, keep_motion: bool, gives: str) -> list[Use | Line]:
    """The laws by which a block yields to what touches it, in a physics step."""
    name, unit = block.name, scene.length_unit
    names = {"center": (f"{name}_center_x".upper(), f"{name}_center_y".upper())}
    planes = Shape("WALLS", planes_of(scene), unit, "normal into the room and offset of each wall")
    radius = Shape(f"{agent.name}_radius".upper(), agent.geometry.radius or 0.0, unit, f"radius of the {agent.name}")
    if block.geometry.polygons:
        polygons = Shape(f"{name}_parts".upper(), parts_of(block), unit, f"convex parts of the {name}, in its own frame")
        hull = Shape(f"{name}_hull".upper(), hull_of(block), unit, "corners of its convex hull")
        touch = Use(touch_disc, "contacts", (name, agent.name), shapes={"polygons": polygons, "radius": radius})
        stop = Use(touch_planes, "contacts", ("contacts", name), shapes={"hull": hull, "planes": planes})
    else:
        own = Shape(f"{name}_radius".upper(), block.geometry.radius, unit, f"radius of the {name}")
        touch = Use(touch_disc_when_round, "contacts", (name, agent.name), shapes={"own_radius": own, "radius": radius})
        stop = Use(touch_planes_when_round, "contacts", ("contacts", name), shapes={"own_radius": own, "planes": planes})
    laws: list[Use | Line] = [touch, stop] if planes.value else [touch]
    if keep_motion:
        laws.append(Use(coast, "motion", (name, "dt"), name))
        laws.append(Use(push, "motion", ("contacts", "motion"), name, names))
        laws.append(Use(undoing, "overlaps", ("contacts",), name))
        laws.append(Use(push, "undone", ("overlaps", REST), name, names))
        laws.append(Use(move_on, gives, (name, "motion", "undone", "dt"), name, names))
    else:
        laws.append(Use(yielding, "contacts", ("contacts",), name))
        laws.append(Use(push, "motion", ("contacts", REST), name, names))
        laws.append(Use(move, gives, (name, "motion", "dt"), name, names))
    return laws


def _renamed(blocks: Sequence[SceneObject], gives: str, takes: str) -> list[Line]:
    return [Line(gives.format(block.name), takes.format(block.name)) for block in blocks]


def parts_of(block: SceneObject) -> tuple[Polygon, ...]:
    """The convex parts, each counter-clockwise."""
    return tuple(_counter_clockwise(tuple(polygon)) for polygon in block.geometry.polygons or ())


def _counter_clockwise(polygon: Polygon) -> Polygon:
    area = sum(ax * by - bx * ay for (ax, ay), (bx, by) in zip(polygon, polygon[1:] + polygon[:1], strict=True))
    return polygon if area > 0 else polygon[::-1]


def hull_of(block: SceneObject) -> Polygon:
    """The corners of the convex hull."""
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
