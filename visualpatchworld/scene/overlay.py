"""A graph over its pixels: outlines, names and numbers of what was seen, drawn on the picture for a person to judge."""

from __future__ import annotations

import colorsys

import numpy as np
from jaxtyping import UInt8

from visualpatchworld.extras import cv2
from visualpatchworld.scene.schema import SceneGraph
from visualpatchworld.scene.tool.part import Sighting

SCALE = 4  # the overlay is so many times as large as the picture
SUBPIXEL_BITS = 4  # lines are drawn between pixels, too
GOLDEN = 0.618034  # neighbouring objects get hues far apart


def overlay(frame: UInt8[np.ndarray, "h w 3"], sighting: Sighting, graph: SceneGraph) -> UInt8[np.ndarray, "H W 3"]:
    """The picture, enlarged, with every outline and with what the graph says of each object that moves."""
    canvas = cv2.resize(frame, None, fx=SCALE, fy=SCALE, interpolation=cv2.INTER_NEAREST)
    moving = [item for item in graph.objects if not item.fixed]
    for i, item in enumerate(moving):
        color = tuple(round(255 * part) for part in colorsys.hsv_to_rgb((0.33 + i * GOLDEN) % 1.0, 1.0, 1.0))
        for line in sighting.outlines.get(item.name, ()):
            points = np.round(((line + 0.5) * SCALE - 0.5) * 2**SUBPIXEL_BITS).astype(np.int32)
            cv2.polylines(canvas, [points], False, color, 1, cv2.LINE_AA, SUBPIXEL_BITS)
        numbers = {**item.pose.model_dump(exclude_none=True), **item.attributes}
        said = ", ".join(f"{key} {value:.3g}" for key, value in numbers.items() if isinstance(value, float))
        text = f"{item.name}: {said if item.visible else 'hidden'}"
        where = (8, 20 + 20 * i)
        cv2.putText(canvas, text, where, cv2.FONT_HERSHEY_SIMPLEX, 0.55, (0, 0, 0), 3, cv2.LINE_AA)
        cv2.putText(canvas, text, where, cv2.FONT_HERSHEY_SIMPLEX, 0.55, color, 1, cv2.LINE_AA)
    return canvas.astype(np.uint8)
