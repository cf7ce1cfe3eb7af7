"""What a Cube scene shows: the gripper and the blocks."""

from typing import Any

from visualpatchworld.domains.cube.simulator import BLOCK_NAMES, CubeConstants, engine_widths, state_space
from visualpatchworld.scene.schema import Geometry, SceneObject
from visualpatchworld.scene.state import SceneTemplate
from visualpatchworld.trace.layout import Column, TraceLayout


def objects(constants: CubeConstants) -> tuple[SceneObject, ...]:
    """The gripper is a point between its fingertips; a block is a box."""
    box = Geometry(half_sizes=(constants.cube_half_size,) * 3)
    blocks = (SceneObject(name=name, kind="block", geometry=box) for name in BLOCK_NAMES[: constants.blocks])
    return (SceneObject(name="gripper", kind="gripper"), *blocks)


WORKSPACE_M = ((0.3, -0.3, 0.02), (0.55, 0.3, 0.3))  # the table before the arm; lower, the fingers touch it
CONTACT = Column("proprio/gripper_contact", 1)


def of_blocks(constants: CubeConstants) -> dict[str, Any]:
    """Scene and layout of a table with that many blocks."""
    blocks = constants.blocks
    space, (positions, velocities, *_) = state_space(blocks), engine_widths(blocks)
    scene = SceneTemplate(domain="cube", state_space=space, objects=objects, length_unit="m", near=0.03, workspace=WORKSPACE_M)
    poses = [(Column(f"privileged/block_{i}_pos", 3), Column(f"privileged/block_{i}_yaw", 1)) for i in range(blocks)]
    layout = TraceLayout(
        engine_state=(
            Column("qpos", positions),
            Column("qvel", velocities),
            CONTACT,
            Column("qacc_warmstart", velocities, optional=True),
            Column("arm_qpos_earlier", 6, optional=True),
        ),
        state=(
            Column("proprio/effector_pos", 3),
            Column("proprio/effector_yaw", 1),
            Column("proprio/gripper_opening", 1),
            CONTACT,
            *(column for pose in poses for column in pose),
        ),
        action=Column("action", 5, "float32"),
    )
    return {"scene": scene, "layout": layout}


SCENE, LAYOUT = of_blocks(CubeConstants()).values()
