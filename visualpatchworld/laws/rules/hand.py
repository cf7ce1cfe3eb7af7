"""A hand with fingers over blocks: whether it lags behind its target, whether it grips, and what a block does that is let go."""

from __future__ import annotations

from collections.abc import Mapping

from visualpatchworld.laws.form import Body, Family, Form, Hidden, Line, Shape, Use
from visualpatchworld.laws.grip import close_fingers, fall, fingers_around, go_along, go_to_target, hold, lag_behind_target
from visualpatchworld.laws.rules.hand_probes import probes_of
from visualpatchworld.laws.scene import Scene
from visualpatchworld.scene.schema import SceneObject

POSE = ("pose.x", "pose.y", "pose.z", "pose.angle")


def hand(scene: Scene) -> Family | None:
    """Actions move and turn a gripper and close its fingers; boxes are free of it, coupled to it, or held while it grips."""
    grippers = [item for item in scene.of_kind("gripper") if len(scene.fields(item, *POSE, "attributes.opening")) == 5]
    blocks = [item for item in scene.of_kind("block") if len(scene.fields(item, *POSE)) == 4 and len(item.geometry.half_sizes or ()) == 3]
    if len(grippers) != 1 or not blocks or scene.action_dim != 5:
        return None
    gripper = grippers[0]
    fingers = scene.fields(gripper, "attributes.opening")[0]
    me = gripper.name
    inner = tuple(f"{me}_{part}" for part in ("out", "spin", "lift", "wrist"))
    close = Use(close_fingers, "closing", ("closing", "action[4]"), me)

    def build(choices: Mapping[str, str]) -> Form:
        gripped, falls = choices["object"] == "gripped", choices["object"] == "gripped" and choices["release"] == "falls"
        bodies, hidden = [Body("hand", scene.fields(gripper, *POSE)), Body("closing", fingers)], []
        once: list[Use | Line] = [Line("before", "hand")] if choices["object"] != "free" else []
        if choices["effector"] == "lagged":
            bodies.append(Body("motion", inner))
            unit = f"{scene.length_unit} and rad per step, motions of the arm; not observed, like all that follow"
            hidden += [Hidden(name, "" if i else unit) for i, name in enumerate(inner)]
            once.append(Use(lag_behind_target, "hand, motion", ("hand", "motion", "action"), me))
        else:
            once.append(Use(go_to_target, "hand", ("hand", "action"), me))
        last: list[Use | Line] = [close]
        for block in blocks:
            name, around, sinks = block.name, f"{block.name}_around", f"{block.name}_fall"
            half = {"half": Shape(f"{name}_half".upper(), _half(block), scene.length_unit, f"half of the {name}'s height")}
            pose = scene.fields(block, *POSE)
            bodies.append(Body(name, (*pose, sinks) if falls else pose))
            if choices["object"] == "coupled":
                last.append(Use(go_along, name, (name, "before", "hand"), shapes=half))
            if gripped:
                bodies.append(Body(around, around))
                hidden += [Hidden(sinks, f"{scene.length_unit} per step")] if falls else []
                hidden.append(Hidden(around, f"0 as soon as the {name} is known not to be between the fingers", 1.0))
                once.append(Use(fingers_around, around, (around, "before", name, "closing"), me, shapes=half))
                last.append(
                    Use(fall, "released", (name,), names={"fall": f"{name}_fall".upper()}, shapes=half) if falls else Line("released", name)
                )
                last.append(Use(hold, f"{name}, closing", (around, "before", "hand", "closing", name, "released"), me, shapes=half))
        title = f"{choices['effector']} hand, {choices['object']} block"
        title += f" that {choices['release']} when it is let go." if gripped else "."
        return Form(
            choices, title, scene.units, tuple(bodies), tuple(once), (), tuple(last), tuple(hidden),
            length_unit=scene.length_unit, size=scene.size,
        )  # fmt: skip

    axes = {"object": ("free", "coupled", "gripped"), "effector": ("direct", "lagged"), "release": ("floats", "falls")}
    return Family(axes, build, probes_of(scene, gripper, blocks))


def _half(block: SceneObject) -> float:
    assert block.geometry.half_sizes is not None
    return block.geometry.half_sizes[2]
