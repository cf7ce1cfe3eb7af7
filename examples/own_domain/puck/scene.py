"""What a scene of the puck shows, and which columns its trace files have."""

from puck.simulator import STATE_SPACE, PuckConstants
from visualpatchworld.scene.schema import Geometry, SceneObject
from visualpatchworld.scene.state import SceneTemplate
from visualpatchworld.trace.layout import Column, TraceLayout


def objects(constants: PuckConstants) -> tuple[SceneObject, ...]:
    """The puck; its place and velocity come from the state."""
    return (SceneObject(name="puck", kind="agent", geometry=Geometry(radius=constants.radius)),)


SCENE = SceneTemplate(domain="puck", state_space=STATE_SPACE, objects=objects, length_unit="m", near=0.01, y_axis="down")
STATE = Column("state", 4)
LAYOUT = TraceLayout(engine_state=(STATE,), state=(STATE,), action=Column("action", 2))
