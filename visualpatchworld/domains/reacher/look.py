"""How Reacher looks: yellow links from a light blue base to an orange fingertip, over a dark blue floor."""

from visualpatchworld.scene.tool.chain import Chain
from visualpatchworld.scene.tool.look import Look, Paint, Palette

# Links and fingertip are lit, so that each goes from dark edges to a bright middle; the last shades of each are cut off by strong light.
LINK = (
    (212, 152, 91),
    (238, 168, 100),
    (255, 200, 120),
    (255, 220, 132),
    (255, 245, 152),
    (255, 255, 180),
    (222, 190, 115),
    (222, 218, 150),
)
FINGER = ((200, 115, 58), (255, 148, 73), (255, 170, 85), (222, 135, 68))
FLOOR = ((35, 72, 107), (39, 79, 118), (44, 88, 130), (40, 66, 92), (74, 115, 156), (110, 150, 190))

LOOK = Look(
    palette=Palette(
        paints=(Paint("floor", FLOOR), Paint("link", LINK), Paint("finger", FINGER), Paint("base", ((195, 252, 252),))),
        background=(38, 76, 114),
        softness=15.0,  # the fingertip is nearly the colour of a link's edge
    ),
    parts=(Chain(base="base", links=("upper_arm", "forearm"), tip="finger", base_paint="base", link_paint="link", tip_paint="finger"),),
    seen_constants=("link1", "link2"),
    num_episodes=6,
)
