"""How the puck looks: a blue disc on white."""

from visualpatchworld.scene.tool.look import Look, Paint, Palette
from visualpatchworld.scene.tool.shape import Shape

WHITE = (255, 255, 255)

LOOK = Look(
    palette=Palette(paints=(Paint("ice", (WHITE,)), Paint("puck", ((40, 60, 160),))), background=WHITE),
    parts=(Shape("puck", kind="agent", paint="puck"),),
    seen_constants=("radius",),
)
