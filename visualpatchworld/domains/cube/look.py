"""How Cube looks: a red block and a purple gripper over a dark floor."""

from visualpatchworld.scene.tool.look import Look
from visualpatchworld.scene.tool.paint import Palette

LOOK = Look(palette=Palette(paints=(), background=(35, 45, 65)), parts=())
