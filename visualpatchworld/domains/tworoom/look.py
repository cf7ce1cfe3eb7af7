"""How Two-room looks: a red dot that fades, black lines for the border and for the wall with its door."""

from visualpatchworld.scene.tool.look import Look, Paint, Palette
from visualpatchworld.scene.tool.shape import Shape
from visualpatchworld.scene.tool.walls import Walls

WHITE = (255, 255, 255)

LOOK = Look(
    palette=Palette(paints=(Paint("floor", (WHITE,)), Paint("line", ((0, 0, 0),)), Paint("agent", ((255, 0, 0),))), background=WHITE),
    parts=(
        Shape("agent", kind="agent", paint="agent", behind=("line",), glow=True),
        Walls(paint="line", border="house", wall="wall", door="door"),
    ),
    seen_constants=("radius", "wall_thickness", "door_center", "door_half_width", "border", "wall"),
    num_episodes=6,
)
