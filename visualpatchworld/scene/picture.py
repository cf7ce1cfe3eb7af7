"""Pictures in and out of files, and outlines drawn over them."""

from __future__ import annotations

import base64
import colorsys
import io
import struct
import warnings
import zlib
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from visualpatchworld.errors import BadPicture
from visualpatchworld.extras import PIL, cv2
from visualpatchworld.files import read_bytes, writing
from visualpatchworld.scene.schema import SceneGraph
from visualpatchworld.scene.tool.look import Sighting


def read_picture(path: Path) -> UInt8[np.ndarray, "h w 3"]:
    """The picture in a file, in red, green and blue."""
    content = read_bytes(path, "picture", BadPicture)
    try:
        # Not OpenCV: of a picture that is cut short it makes one that is black below, and complains past us.
        with warnings.catch_warnings():
            warnings.simplefilter("error", PIL.Image.DecompressionBombWarning)
            decoded = PIL.Image.open(io.BytesIO(content), formats=("PNG", "JPEG")).convert("RGB")
        return np.array(decoded, np.uint8)
    except (OSError, SyntaxError, ValueError, EOFError, MemoryError, OverflowError, struct.error, zlib.error, *_too_large()):
        raise BadPicture(f"'{path}' is not a picture that can be read, or it is damaged; PNG and JPEG can be read.") from None


def _too_large() -> tuple[type[Exception], ...]:
    return PIL.Image.DecompressionBombError, PIL.Image.DecompressionBombWarning


def as_data_url(picture: UInt8[np.ndarray, "h w 3"]) -> str:
    """The picture as text, the way it is put into a message."""
    fine, content = cv2.imencode(".png", np.ascontiguousarray(picture[..., ::-1]))
    assert fine, "an array of bytes with three channels is a picture"
    return f"data:image/png;base64,{base64.b64encode(content.tobytes()).decode()}"


def write_picture(path: Path, picture: UInt8[np.ndarray, "h w 3"]) -> None:
    """Write a picture as a PNG file, whole or not at all."""
    fine, content = cv2.imencode(".png", np.ascontiguousarray(picture[..., ::-1]))
    assert fine, "an array of bytes with three channels is a picture"
    with writing(path) as aside:
        aside.write_bytes(content.tobytes())


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
