"""What a slider scene shows: the puck and the rail."""

from slider.simulator import RAIL_HALF_LENGTH_M, STATE_SPACE, SliderConstants
from visualpatchworld.scene.schema import Geometry, Pose, SceneObject
from visualpatchworld.scene.state import SceneTemplate
from visualpatchworld.trace.layout import Column, TraceLayout


def objects(constants: SliderConstants) -> tuple[SceneObject, ...]:
    """The puck, and the rail it never leaves."""
    rail = Geometry(half_sizes=(RAIL_HALF_LENGTH_M, constants.radius))
    return (
        SceneObject(name="puck", kind="agent", pose=Pose(y=0.0), geometry=Geometry(radius=constants.radius)),
        SceneObject(name="rail", kind="rail", fixed=True, pose=Pose(x=0.0, y=0.0), geometry=rail),
    )


SCENE = SceneTemplate(domain="slider", state_space=STATE_SPACE, objects=objects, length_unit="m", near=0.01)
STATE = Column("state", 2)
LAYOUT = TraceLayout(engine_state=(STATE,), state=(STATE,), action=Column("action", 1))
