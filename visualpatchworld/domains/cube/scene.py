"""What a Cube scene shows: the gripper and the block."""

from visualpatchworld.domains.cube.simulator import STATE_SPACE, CubeConstants
from visualpatchworld.scene.schema import Geometry, SceneObject
from visualpatchworld.scene.state import SceneTemplate
from visualpatchworld.trace.layout import Column, TraceLayout


def objects(constants: CubeConstants) -> tuple[SceneObject, ...]:
    """The gripper is a point between its fingertips; the block is a box."""
    half = constants.cube_half_size
    return (
        SceneObject(name="gripper", kind="gripper"),
        SceneObject(name="block", kind="block", geometry=Geometry(half_sizes=(half, half, half))),
    )


WORKSPACE_M = ((0.3, -0.3, 0.02), (0.55, 0.3, 0.3))  # the table before the arm; lower, the fingers touch it
SCENE = SceneTemplate(domain="cube", state_space=STATE_SPACE, objects=objects, length_unit="m", near=0.03, workspace=WORKSPACE_M)
CONTACT = Column("proprio/gripper_contact", 1)
LAYOUT = TraceLayout(
    engine_state=(
        Column("qpos", 21),
        Column("qvel", 20),
        CONTACT,
        Column("qacc_warmstart", 20, optional=True),
        Column("arm_qpos_earlier", 6, optional=True),
    ),
    state=(
        Column("proprio/effector_pos", 3),
        Column("proprio/effector_yaw", 1),
        Column("proprio/gripper_opening", 1),
        CONTACT,
        Column("privileged/block_0_pos", 3),
        Column("privileged/block_0_yaw", 1),
    ),
    action=Column("action", 5, "float32"),
)
