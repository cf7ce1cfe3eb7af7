"""Rules for bodies that push others: forms from who can touch whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from visualpatchworld.laws.contact import (
    coast,
    follow,
    follow_when_near,
    move,
    move_on,
    push_roughly,
    push_smoothly,
    undoing,
    yielding,
)
from visualpatchworld.laws.drive import aim, glide, halt, pull, set_off, shift
from visualpatchworld.laws.form import Body, Family, Form, Hidden, Line, Shape, Use
from visualpatchworld.laws.rules.moving import agent_of
from visualpatchworld.laws.rules.push_probes import probes_of
from visualpatchworld.laws.rules.together import REST, yield_together
from visualpatchworld.laws.rules.touching import hull_of, names_of, touches_of
from visualpatchworld.laws.scene import Scene
from visualpatchworld.scene.schema import SceneObject


def pushing(scene: Scene) -> Family | None:
    """A disc with a velocity is drawn to a target or goes there directly; bodies with an outline are pushed, or not."""
    agent = agent_of(scene)
    blocks = sorted(pushable(scene), key=lambda block: not block.geometry.polygons)  # round ones last
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
            seen = scene.fields(block, "velocity.x", "velocity.y", "velocity.spin")
            if keep_motion and len(seen) == 3:
                found.append(Body(block.name, (*pose, *seen)))
                continue
            unseen = tuple(f"{block.name}_{part}" for part in ("vx", "vy", "spin")) if keep_motion else ()
            found.append(Body(block.name, (*pose, *unseen)))
            docs = (f"{scene.length_unit}/s, of the centre of mass; not observed", "", "rad/s")
            hidden += [Hidden(name, doc) for name, doc in zip(unseen, docs, strict=False)]
        return tuple(found), tuple(hidden)

    def build(choices: Mapping[str, str]) -> Form:
        frozen, keep_motion = (
            choices["block"] == "frozen",
            choices["response"] == "inertial" and choices["block"] != "frozen",
        )
        rough, direct = choices["contact"] == "rough", choices["drive"] == "direct"
        gives = "pushed_{0}" if direct else "{0}"
        yields: list[Use | Line] = []
        if not frozen and choices.get("blocks") == "meet":
            yields += yield_together(scene, agent, blocks, rough=rough, keep_motion=keep_motion, gives=gives)
        elif not frozen:
            for block in blocks:
                yields += yield_alone(
                    scene, agent, block, blocks, rough=rough, keep_motion=keep_motion, gives=gives.format(block.name)
                )
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
        if len(blocks) > 1:
            what = what.replace("block", "blocks") + (
                ", each with every other" if choices["blocks"] == "meet" and not frozen else ""
            )
        return Form(
            choices, f"{choices['drive']} {me}, {what}.", scene.units, drawn, once, often, last, hidden, **common
        )

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

    among = {"blocks": ("pass", "meet")} if len(blocks) > 1 else {}
    return Family(
        {
            "drive": ("direct", "PD"),
            "block": ("frozen", "pushed"),
            "response": ("quasi-static", "inertial"),
            "contact": ("smooth", "rough"),
            **among,
        },
        build,
        probes_of(scene, agent, blocks),
        extra=(
            template("linear", "linear template.", near=False),
            template("collision-gated", "collision gate.", near=True),
        ),
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


def _renamed(blocks: Sequence[SceneObject], gives: str, takes: str) -> list[Line]:
    return [Line(gives.format(block.name), takes.format(block.name)) for block in blocks]
