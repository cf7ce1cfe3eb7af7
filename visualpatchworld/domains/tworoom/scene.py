"""What a Two-room scene shows: the agent, the border, the wall and its door."""

from visualpatchworld.domains.tworoom.simulator import SIZE_PX, STATE_SPACE, TwoRoomConstants, walls
from visualpatchworld.scene.schema import Geometry, Pose, SceneObject
from visualpatchworld.scene.state import SceneTemplate
from visualpatchworld.trace.layout import Column, TraceLayout


def objects(constants: TwoRoomConstants) -> tuple[SceneObject, ...]:
    """The agent and the fixed parts of the house."""
    middle = SIZE_PX / 2
    inner_half = middle - constants.border
    parts = [
        SceneObject(name="agent", kind="agent", geometry=Geometry(radius=constants.radius)),
        SceneObject(
            name="house", kind="border", fixed=True, pose=Pose(x=middle, y=middle), geometry=Geometry(half_sizes=(inner_half, inner_half))
        ),
    ]
    solid = Geometry(half_sizes=(constants.wall_thickness / 2, inner_half))
    gap = Geometry(half_sizes=(constants.wall_thickness / 2, constants.door_half_width))
    for number, (wall, doors) in enumerate(walls(constants)):
        which = f"_{number + 1}" if number else ""
        parts.append(SceneObject(name=f"wall{which}", kind="wall", fixed=True, pose=Pose(x=wall, y=middle), geometry=solid))
        for name, door in zip((f"door{which}", f"other_door{which}"), doors, strict=False):
            parts.append(SceneObject(name=name, kind="door", fixed=True, pose=Pose(x=wall, y=door), geometry=gap))
    return tuple(parts)


SCENE = SceneTemplate(domain="tworoom", state_space=STATE_SPACE, objects=objects, length_unit="px", near=5.0, y_axis="down")
STATE = Column("state", 2, "float32")
LAYOUT = TraceLayout(engine_state=(STATE,), state=(STATE,), action=Column("action", 2, "float32"))
