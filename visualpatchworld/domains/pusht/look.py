"""How PushT looks: a blue disc and a slate gray block on a white table, gray walls, the goal in green."""

from visualpatchworld.scene.tool.look import Look, Paint, Palette
from visualpatchworld.scene.tool.shape import Shape
from visualpatchworld.scene.tool.walls import Walls

WHITE = (255, 255, 255)

LOOK = Look(
    palette=Palette(
        paints=(
            Paint("table", (WHITE,)),
            Paint("wall", ((211, 211, 211),)),
            Paint("goal", ((144, 238, 144),)),
            Paint("agent", ((65, 105, 225), (78, 126, 255))),  # a rim, and lighter inside
            Paint("block", ((119, 136, 153), (142, 163, 183))),
        ),
        background=WHITE,
    ),
    parts=(
        Shape("agent", kind="agent", paint="agent", behind=("block",)),
        Shape("block", kind="block", paint="block", turns=True, rim=4.0),
        Walls(paint="wall"),
    ),
    seen_constants=("agent_radius", "block_scale", "block_shape"),
    num_episodes=6,
)
