"""What a Reacher scene shows: the base, two links and the fingertip."""

from visualpatchworld.domains.reacher.simulator import LINK_RADIUS_M, STATE_SPACE, ReacherConstants
from visualpatchworld.scene.schema import Geometry, Pose, SceneObject
from visualpatchworld.scene.template import SceneTemplate
from visualpatchworld.trace.layout import Column, TraceLayout


def objects(constants: ReacherConstants) -> tuple[SceneObject, ...]:
    """The arm from its base to its fingertip; a link's angle is its joint's, relative to the link before."""
    return (
        SceneObject(name="base", kind="base", pose=Pose(x=0.0, y=0.0), geometry=Geometry(radius=LINK_RADIUS_M)),
        SceneObject(name="upper_arm", kind="link", geometry=Geometry(length=constants.link1, radius=LINK_RADIUS_M)),
        SceneObject(name="forearm", kind="link", geometry=Geometry(length=constants.link2, radius=LINK_RADIUS_M)),
        SceneObject(name="finger", kind="fingertip", geometry=Geometry(radius=LINK_RADIUS_M)),
    )


SCENE = SceneTemplate(domain="reacher", state_space=STATE_SPACE, objects=objects, length_unit="m", near=0.01)
QPOS, QVEL = Column("qpos", 2), Column("qvel", 2)
LAYOUT = TraceLayout(engine_state=(QPOS, QVEL), state=(QPOS, QVEL, Column("finger_pos", 2)), action=Column("action", 2))
