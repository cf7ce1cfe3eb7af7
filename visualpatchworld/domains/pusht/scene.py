"""What a PushT scene shows: the agent, the blocks and the four walls."""

from typing import Any

from visualpatchworld.domains.pusht.simulator import (
    WALL_RADIUS_PX,
    WALLS_PX,
    PushTConstants,
    block_boxes,
    disc_radius,
    shape_of,
    state_space,
)
from visualpatchworld.scene.schema import Geometry, Pose, SceneObject
from visualpatchworld.scene.template import SceneTemplate
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
    name = f"block_{number + 1}" if number else "block"
    return SceneObject(name=name, kind="block", geometry=outline, attributes={"shape": shape_of(constants, number)})


def _wall(side: str, start: tuple[float, float], end: tuple[float, float]) -> SceneObject:
    middle = Pose(x=(start[0] + end[0]) / 2, y=(start[1] + end[1]) / 2)
    half = ((end[0] - start[0]) / 2, (end[1] - start[1]) / 2)
    line = Geometry(segment=((-half[0], -half[1]), half), radius=WALL_RADIUS_PX)
    return SceneObject(name=f"{side}_wall", kind="wall", fixed=True, pose=middle, geometry=line)


def of_blocks(constants: PushTConstants) -> dict[str, Any]:
    """Scene and layout of a table with that many blocks."""
    space = state_space(constants.blocks)
    state = Column("state", len(space))
    block_velocity = Column("block_velocity", 3 * constants.blocks, optional=True)  # only inertial blocks have one
    scene = SceneTemplate(domain="pusht", state_space=space, objects=objects, length_unit="px", near=5.0, y_axis="down")
    return {
        "scene": scene,
        "layout": TraceLayout(engine_state=(state, block_velocity), state=(state,), action=Column("action", 2, "float32")),
    }


SCENE, LAYOUT = of_blocks(PushTConstants()).values()
