"""How the slider looks: a red puck on white."""

from visualpatchworld.scene.tool.look import Look, Paint, Palette
from visualpatchworld.scene.tool.shape import Shape

WHITE = (255, 255, 255)

LOOK = Look(
    palette=Palette(paints=(Paint("table", (WHITE,)), Paint("puck", ((200, 0, 0),))), background=WHITE),
    parts=(Shape("puck", kind="agent", paint="puck"),),
)
