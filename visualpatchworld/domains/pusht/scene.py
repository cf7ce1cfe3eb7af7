"""What a PushT scene shows: the agent, the block and the four walls."""

from visualpatchworld.domains.pusht.simulator import STATE_SPACE, WALL_RADIUS_PX, WALLS_PX, PushTConstants, block_boxes, disc_radius
from visualpatchworld.scene.schema import Geometry, Pose, SceneObject
from visualpatchworld.scene.state import SceneTemplate
from visualpatchworld.trace.layout import Column, TraceLayout


def objects(constants: PushTConstants) -> tuple[SceneObject, ...]:
    """The disc, the block it pushes, and the walls; a wall's segment is given from its middle."""
    polygons = tuple(tuple((float(x), float(y)) for x, y in box) for box in block_boxes(constants))
    radius = disc_radius(constants)
    outline = Geometry(polygons=polygons) if radius is None else Geometry(radius=radius)
    return (
        SceneObject(name="agent", kind="agent", geometry=Geometry(radius=constants.agent_radius)),
        SceneObject(name="block", kind="block", geometry=outline, attributes={"shape": constants.block_shape}),
        *(_wall(side, start, end) for side, (start, end) in WALLS_PX.items()),
    )


def _wall(side: str, start: tuple[float, float], end: tuple[float, float]) -> SceneObject:
    middle = Pose(x=(start[0] + end[0]) / 2, y=(start[1] + end[1]) / 2)
    half = ((end[0] - start[0]) / 2, (end[1] - start[1]) / 2)
    line = Geometry(segment=((-half[0], -half[1]), half), radius=WALL_RADIUS_PX)
    return SceneObject(name=f"{side}_wall", kind="wall", fixed=True, pose=middle, geometry=line)


SCENE = SceneTemplate(domain="pusht", state_space=STATE_SPACE, objects=objects, length_unit="px", near=5.0, y_axis="down")
STATE = Column("state", 7)
BLOCK_VELOCITY = Column("block_velocity", 3, optional=True)  # only an inertial block has one
LAYOUT = TraceLayout(engine_state=(STATE, BLOCK_VELOCITY), state=(STATE,), action=Column("action", 2, "float32"))
