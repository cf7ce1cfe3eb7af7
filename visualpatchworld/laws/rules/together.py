"""Blocks that meet: each yields to what touches it and to every other, in a physics step."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from visualpatchworld.laws.contact import coast, move, move_on, undoing, yielding
from visualpatchworld.laws.form import Line, Use
from visualpatchworld.laws.meeting import (
    meet,
    meet_round,
    meet_when_round,
    push_all_roughly,
    push_all_smoothly,
    with_undoing,
    without_undoing,
)
from visualpatchworld.laws.rules.touching import names_of, outline_of, touches_of
from visualpatchworld.laws.scene import Scene
from visualpatchworld.scene.schema import SceneObject

REST = "(0.0, 0.0, 0.0)"


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
