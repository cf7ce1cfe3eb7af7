"""How Cube looks: a red block and a purple gripper on a steel arm, over a dark floor."""

from visualpatchworld.scene.tool.box import Box
from visualpatchworld.scene.tool.hand import Hand
from visualpatchworld.scene.tool.look import Look, Paint, Palette

# Everything is lit from one side, so that each paint goes from dark to bright.
BLOCK = ((62, 20, 27), (88, 26, 34), (111, 31, 40), (132, 36, 46), (184, 53, 66), (211, 81, 101), (255, 98, 123))
GRIPPER = ((40, 20, 54), (56, 27, 75), (68, 32, 92), (79, 37, 106), (88, 41, 118), (107, 52, 143), (142, 70, 185), (189, 92, 238))
STEEL = ((30, 30, 30), (60, 60, 62), (96, 101, 110), (126, 131, 153), (172, 180, 204), (228, 242, 247))
FLOOR = ((8, 10, 14), (16, 20, 26), (29, 40, 56), (42, 52, 72), (55, 64, 89))

LOOK = Look(
    palette=Palette(
        paints=(Paint("floor", FLOOR), Paint("steel", STEEL), Paint("gripper", GRIPPER), Paint("block", BLOCK)),
        background=(55, 65, 90),
        background_percentile=75.0,  # the brighter half of the floor: the middle lies between its two tiles
        softness=12.0,
    ),
    parts=(
        Hand("gripper", kind="gripper", paint="gripper", behind=("block", "steel"), reach=0.2),
        Box("block", kind="block", paint="block", behind=("gripper", "steel"), holder="gripper"),
    ),
    projection="perspective",
    anchor="block",
    seen_constants=("cube_half_size",),
    num_episodes=14,
    num_wandering=8,  # the policy's hand closes on the block alone, and keeps away from the edges of its room
    every=3,
)
