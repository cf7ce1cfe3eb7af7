"""A chain of links with hinges, and a fingertip at its end: what the
action moves, whether motion is remembered, what bends how far.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from visualpatchworld.laws.chain import (
    clip_angle,
    end_of_links,
    soft_stop,
    speeds_between,
    swing,
    turn,
    weigh_chain,
    within_bend,
    within_length,
)
from visualpatchworld.laws.drive import slide_on, walk, way_between
from visualpatchworld.laws.form import Body, Family, Form, Hidden, Line, Probe, Scene, Use

STEPS = 16
PUSHES = 8


def arm(scene: Scene) -> Family | None:
    """Links that torques or speeds turn; or, where actions are as
    many as its coordinates, a fingertip that is moved itself.
    """
    links, tips = scene.of_kind("link"), scene.of_kind("fingertip")
    hinges = tuple(name for link in links for name in scene.fields(link, "pose.angle"))
    speeds = tuple(name for link in links for name in scene.fields(link, "velocity.spin"))
    tip = tuple(name for item in tips for name in scene.fields(item, "pose.x", "pose.y"))
    if not links or not len(links) == len(hinges) == len(speeds) == scene.action_dim or len(tip) != 2:
        return None
    finger = tips[0].name
    limited = [i for i in range(len(hinges)) if i > 0 or len(hinges) == 1]  # the base turns freely
    bends = "-and-".join(hinges[i] for i in limited)
    of_links = {
        "length": tuple(f"{link.name}_length".upper() for link in links),
        "inertia": tuple(f"{link.name}_inertia".upper() for link in links),
        "coupling": tuple(f"{link.name}_coupling".upper() for link in links[1:]),
        "damping": "HINGE_DAMPING",
    }
    end = Use(end_of_links, finger, ("angles",), names=of_links)

    def joint(order: str, stops: bool) -> dict:
        bodies = (Body("angles", hinges), Body("speeds", speeds), Body(finger, tip))
        if order == "first":
            clips = tuple(Use(clip_angle, "angles", ("angles", str(i)), of=hinges[i]) for i in limited if stops)
            moves = (Line("before", "angles"), Use(turn, "angles", ("angles", "action", "dt"), of="hinge"), *clips)
            return {
                "bodies": bodies,
                "once": moves,
                "last": (Use(speeds_between, "speeds", ("before", "angles", "dt")), end),
                "clock": "step",
            }
        weigh = Use(weigh_chain, "matrix, torques", ("angles", "speeds", "action"), names=of_links)
        springs = ("torques", "matrix", "angles", "speeds")
        soft = tuple(Use(soft_stop, "torques", (*springs, str(i)), of=hinges[i]) for i in limited if stops)
        go = Use(swing, "angles, speeds", ("angles", "speeds", "matrix", "torques", "dt"), names=of_links)
        return {"bodies": bodies, "often": (weigh, *soft, go), "last": (end,)}

    def cartesian(order: str, stops: bool) -> dict:
        within = Use(within_bend if stops else within_length, finger, (finger,), of=finger)
        move = Use(walk, finger, (finger, "action"), of=finger)
        if order == "first":
            return {"bodies": (Body(finger, tip),), "once": (move, within)}
        ways = tuple(f"{finger}_way_{axis}" for axis in "xy")
        return {
            "bodies": (Body(finger, tip), Body("way", ways)),
            "once": (Line("before", finger), Use(slide_on, finger, (finger, "way"), of=finger), move, within),
            "last": (Use(way_between, "way", ("before", finger)),),
            "hidden": (Hidden(ways[0], f"{scene.length_unit}, in the last step; not observed"), Hidden(ways[1], "")),
        }

    def build(choices: Mapping[str, str]) -> Form:
        stops = choices["limits"] != "none"
        parts = (joint if choices["space"] == "joint" else cartesian)(choices["order"], stops)
        drives = {
            ("cartesian", "first"): f"a {finger} that the action moves",
            ("cartesian", "second"): f"a {finger} that the action moves and that glides on",
            ("joint", "first"): f"{len(links)} links that turn as the action says",
            ("joint", "second"): f"{len(links)} links with inertia and damping, turned by torques",
        }
        title = f"{drives[choices['space'], choices['order']]}; {choices['limits']} limited."
        return Form(choices, title, scene.units, **parts, length_unit=scene.length_unit, size=scene.size)

    def probes(rng: np.random.Generator) -> tuple[Probe, ...]:
        """Pushes in many poses ask for the space, coasting for the order, and bending for the limits."""
        runs = [_push(scene, hinges, rng, i) for i in range(PUSHES)]
        runs += [_coast(scene, hinges, rng, i, f"{hinges[i]} {k + 1}") for i in range(len(hinges)) for k in range(2)]
        lengths = [link.geometry.length or 1.0 for link in links]
        runs += [_bend(scene, hinges, lengths, rng, i, side) for i in limited for side in (1.0, -1.0)]
        return tuple(runs)

    spaces = ("cartesian", "joint") if scene.action_dim == 2 else ("joint",)
    return Family({"space": spaces, "order": ("first", "second"), "limits": ("none", bends)}, build, probes)


def _push(scene: Scene, hinges: tuple[str, ...], rng: np.random.Generator, number: int) -> Probe:
    """Changing pushes: a fingertip goes where it is pushed in every pose, a hinge turns."""
    actions = np.repeat(rng.uniform(-1.0, 1.0, (STEPS // 2, len(hinges))), 2, axis=0)
    angles = [rng.uniform(-np.pi, np.pi), *rng.uniform(-1.0, 1.0, len(hinges) - 1)]
    return Probe(f"push {number + 1}", "space", _at(scene, hinges, angles), actions)


def _coast(scene: Scene, hinges: tuple[str, ...], rng: np.random.Generator, hinge: int, name: str) -> Probe:
    """One hinge is pushed there and back, and left alone after each: does it go on, and do the others feel it?"""
    strength = rng.choice([-1.0, 1.0]) * rng.uniform(0.7, 1.0)
    actions = np.zeros((STEPS, len(hinges)))
    actions[:, hinge] = np.repeat([strength, 0.0, -strength, 0.0], STEPS // 4)
    bent = rng.choice([-1.0, 1.0], len(hinges) - 1) * rng.uniform(0.5, 1.0, len(hinges) - 1)
    return Probe(
        f"turn the {name} and coast", "order", _at(scene, hinges, [rng.uniform(-np.pi, np.pi), *bent]), actions
    )


def _bend(
    scene: Scene, hinges: tuple[str, ...], lengths: list[float], rng: np.random.Generator, hinge: int, side: float
) -> Probe:
    """From a strong bend on and on the same way, harder and softer: where does it end?

    The fingertip starts where the same push drives it across the base, in case it is the fingertip that is pushed.
    """
    actions = rng.uniform(-1.0, 1.0, (STEPS, len(hinges)))
    actions[:, hinge] = side * rng.uniform(0.4, 1.0, STEPS)
    angles = np.zeros(len(hinges))
    angles[hinge] = side * rng.uniform(2.6, 2.8)
    if hinge > 0:
        x, y = end_of_links(angles, length=lengths)
        angles[0] = -side * np.pi / 2 - np.arctan2(y, x)
    return Probe(
        f"bend the {hinges[hinge]} {'left' if side > 0 else 'right'}", "limits", _at(scene, hinges, angles), actions
    )


def _at(scene: Scene, hinges: tuple[str, ...], angles: object) -> np.ndarray:
    """At rest; where the fingertip is follows from the hinges."""
    return scene.start(dict(zip(hinges, np.asarray(angles, dtype=float).tolist(), strict=True)))
