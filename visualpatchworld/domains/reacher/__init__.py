"""Reacher: a two-link arm that torques drive in a plane."""

from __future__ import annotations

from typing import Any

import numpy as np

from visualpatchworld.domain import Domain, Policy
from visualpatchworld.domains.reacher.simulator import (
    JOINTS,
    LINK_RADIUS_M,
    Reacher,
    ReacherConstants,
    lengths,
    state_space,
)
from visualpatchworld.plan.cem import CEM, siblings
from visualpatchworld.scene.schema import Geometry, Pose, SceneObject
from visualpatchworld.scene.state import SceneTemplate
from visualpatchworld.scene.tool.chain import Chain
from visualpatchworld.scene.tool.look import Look, Paint, Palette
from visualpatchworld.simulator import Column, TraceLayout
from visualpatchworld.task import FieldDistance

SUCCESS_M = 0.05
SUCCESS_RAD = 0.05

# How it looks: yellow links from a light blue base to an orange fingertip, over a dark blue floor.
# Links and fingertip are lit, so that each goes from dark edges to a bright middle; the last shades of each are cut off
# by strong light.
LINK = (
    (212, 152, 91),
    (238, 168, 100),
    (255, 200, 120),
    (255, 220, 132),
    (255, 245, 152),
    (255, 255, 180),
    (222, 190, 115),
    (222, 218, 150),
)
FINGER = ((200, 115, 58), (255, 148, 73), (255, 170, 85), (222, 135, 68))
FLOOR = ((35, 72, 107), (39, 79, 118), (44, 88, 130), (40, 66, 92), (74, 115, 156), (110, 150, 190))

LOOK = Look(
    palette=Palette(
        paints=(Paint("floor", FLOOR), Paint("link", LINK), Paint("finger", FINGER), Paint("base", ((195, 252, 252),))),
        background=(38, 76, 114),
        softness=15.0,  # the fingertip is nearly the colour of a link's edge
    ),
    parts=(
        Chain(
            base="base",
            links=("upper_arm", "forearm"),
            tip="finger",
            base_paint="base",
            link_paint="link",
            tip_paint="finger",
        ),
    ),
    seen_constants=("link1", "link2"),
    num_episodes=6,
)


def random_torques(simulator: Reacher, rng: np.random.Generator) -> Policy:
    """A new uniform action each step; it needs to see nothing."""
    return lambda: rng.uniform(-1.0, 1.0, simulator.action_dim)


def objects(constants: ReacherConstants) -> tuple[SceneObject, ...]:
    """The arm from its base to its fingertip; a link's angle is its joint's, relative to the link before."""
    names = JOINTS[constants.links].values()
    return (
        SceneObject(name="base", kind="base", pose=Pose(x=0.0, y=0.0), geometry=Geometry(radius=LINK_RADIUS_M)),
        *(
            SceneObject(name=name, kind="link", geometry=Geometry(length=length, radius=LINK_RADIUS_M))
            for name, length in zip(names, lengths(constants), strict=True)
        ),
        SceneObject(name="finger", kind="fingertip", geometry=Geometry(radius=LINK_RADIUS_M)),
    )


def of_links(constants: ReacherConstants) -> dict[str, Any]:
    """Scene and layout of an arm with that many links."""
    links = constants.links
    qpos, qvel = Column("qpos", links), Column("qvel", links)
    return {
        "scene": SceneTemplate(objects=objects, near=0.01, state_space=state_space(links)),
        "layout": TraceLayout(
            engine_state=(qpos, qvel), state=(qpos, qvel, Column("finger_pos", 2)), action=Column("action", links)
        ),
    }


def _joints(difference: Any) -> Any:
    """Of the joints; as many speeds follow, and the fingertip."""
    return difference[..., : (difference.shape[-1] - 2) // 2]


def q_rad(state: Any, other: Any) -> Any:
    """The largest of the joints' differences, without wrapping."""
    return abs(_joints(state - other)).max(-1)


def qpos_cost(states: Any, goal: Any) -> Any:
    """The least that the joints ever lack of their goals, all together and in success angles."""
    return ((_joints(states - goal) ** 2).sum(-1) ** 0.5).min(-1) / SUCCESS_RAD


# A second ahead: time to swing there, and joints as well as the fingertip are met in passing.
SEARCH = CEM(
    samples=300, iterations=10, elites=30, horizon=25, replan_every=5, init_std=0.7,
    hold=5, restarts=2, warm_start=True, enough=0.3, heeds_budget=True,
)  # fmt: skip

DOMAIN = Domain(
    name="reacher",
    title="Reacher",
    engine="MuJoCo (dm_control)",
    challenge="second-order arm dynamics",
    simulator=Reacher,
    constants=ReacherConstants(),
    goals={"finger_match": {"finger_m": SUCCESS_M}, "qpos_match": {"q_rad": SUCCESS_RAD}},
    look=LOOK,
    policy=random_torques,
    episode_steps=200,  # as upstream's episodes
    error_metrics={"finger_m": FieldDistance((-2, -1)), "q_rad": q_rad},
    # Joints are not asked for: a form that moves the fingertip says nothing about them. The wrong forms are off by
    # centimetres.
    probe_tolerances={"finger_m": 0.002},
    horizon=12,
    costs={"qpos_match": qpos_cost},
    # The paper's frame-level planner: one step ahead, executed, and again; the first draw covers all torques.
    planner=CEM(samples=300, iterations=10, elites=30, horizon=1, replan_every=1, init_std=0.7),
    planners={"default": SEARCH, **siblings(SEARCH)},
    variant=of_links,
    **of_links(ReacherConstants()),
)
