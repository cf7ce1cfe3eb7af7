"""What a Reacher scene shows: the base, the links and the fingertip."""

from typing import Any

from visualpatchworld.domains.reacher.simulator import JOINTS, LINK_RADIUS_M, ReacherConstants, lengths, state_space
from visualpatchworld.scene.schema import Geometry, Pose, SceneObject
from visualpatchworld.scene.state import SceneTemplate
from visualpatchworld.trace.layout import Column, TraceLayout


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
    scene = SceneTemplate(domain="reacher", state_space=state_space(links), objects=objects, length_unit="m", near=0.01)
    return {
        "scene": scene,
        "layout": TraceLayout(engine_state=(qpos, qvel), state=(qpos, qvel, Column("finger_pos", 2)), action=Column("action", links)),
    }


SCENE, LAYOUT = of_links(ReacherConstants()).values()
