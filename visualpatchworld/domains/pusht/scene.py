"""What a PushT scene shows: the agent, the blocks and the four walls."""

from typing import Any

from visualpatchworld.domains.pusht import task
from visualpatchworld.domains.pusht.simulator import (
    BLOCK_NAMES,
    WALL_RADIUS_PX,
    WALLS_PX,
    PushTConstants,
    block_boxes,
    disc_radius,
    shape_of,
    state_space,
)
from visualpatchworld.scene.schema import Geometry, Pose, SceneObject
from visualpatchworld.scene.state import SceneTemplate
from visualpatchworld.trace.layout import Column, TraceLayout


def objects(constants: PushTConstants) -> tuple[SceneObject, ...]:
    """The disc, the blocks it pushes, and the walls; a wall's segment is given from its middle."""
    return (
        SceneObject(name="agent", kind="agent", geometry=Geometry(radius=constants.agent_radius)),
        *(_block(constants, number) for number in range(constants.blocks)),
        *(_wall(side, start, end) for side, (start, end) in WALLS_PX.items()),
    )


def _block(constants: PushTConstants, number: int) -> SceneObject:
    polygons = tuple(tuple((float(x), float(y)) for x, y in box) for box in block_boxes(constants, number))
    radius = disc_radius(constants, number)
    outline = Geometry(polygons=polygons) if radius is None else Geometry(radius=radius)
    name = BLOCK_NAMES[number]
    return SceneObject(name=name, kind="block", geometry=outline, attributes={"shape": shape_of(constants, number)})


def _wall(side: str, start: tuple[float, float], end: tuple[float, float]) -> SceneObject:
    middle = Pose(x=(start[0] + end[0]) / 2, y=(start[1] + end[1]) / 2)
    half = ((end[0] - start[0]) / 2, (end[1] - start[1]) / 2)
    line = Geometry(segment=((-half[0], -half[1]), half), radius=WALL_RADIUS_PX)
    return SceneObject(name=f"{side}_wall", kind="wall", fixed=True, pose=middle, geometry=line)


def of_blocks(constants: PushTConstants) -> dict[str, Any]:
    """Scene, layout and task of a table with these blocks."""
    moving = constants.response == "inertial"
    numbers = Column("state", 4 + 3 * constants.blocks)
    block_velocity = Column("block_velocity", 3 * constants.blocks, optional=True)  # only inertial blocks have one
    space = state_space(constants.blocks, moving=moving)
    return {
        "scene": SceneTemplate(domain="pusht", state_space=space, objects=objects, length_unit="px", near=5.0, y_axis="down"),
        "layout": TraceLayout(
            engine_state=(numbers, block_velocity),
            state=(numbers, block_velocity) if moving else (numbers,),
            action=Column("action", 2, "float32"),
        ),
        **(task.of_blocks(constants.blocks) if constants.blocks > 1 else {}),
    }


SCENE, LAYOUT = of_blocks(PushTConstants()).values()
