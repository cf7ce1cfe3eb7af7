"""Pictures in and out of files, and outlines drawn over them."""

from __future__ import annotations

import base64
import colorsys
import io
import itertools
import struct
import warnings
import zlib
from pathlib import Path

import numpy as np
from jaxtyping import Float, UInt8

from visualpatchworld.errors import BadPicture
from visualpatchworld.extras import PIL, cv2
from visualpatchworld.files import read_bytes, writing
from visualpatchworld.scene.schema import SceneGraph, SceneObject
from visualpatchworld.scene.tool.look import Camera, Sighting, rotation


def read_picture(path: Path) -> UInt8[np.ndarray, "h w 3"]:
    """The picture in a file, in red, green and blue."""
    content = read_bytes(path, "picture", BadPicture)
    try:
        # Not OpenCV: of a picture that is cut short it makes one that is black below, and complains past us.
        with warnings.catch_warnings():
            warnings.simplefilter("error", PIL.Image.DecompressionBombWarning)
            decoded = PIL.Image.open(io.BytesIO(content), formats=("PNG", "JPEG")).convert("RGB")
        return np.array(decoded, np.uint8)
    except (
        OSError,
        SyntaxError,
        ValueError,
        EOFError,
        MemoryError,
        OverflowError,
        struct.error,
        zlib.error,
        *_too_large(),
    ):
        raise BadPicture(
            f"'{path}' is not a picture that can be read, or it is damaged; PNG and JPEG can be read."
        ) from None


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


ROUND = np.linspace(0, 2 * np.pi, 49)
MARK_PX = 5.0  # half of a cross for what has a place but no shape

Line = Float[np.ndarray, "N 2"]


def outlines(graph: SceneGraph, camera: Camera) -> dict[str, list[Line]]:
    """Lines in pixels for every object that moves and has a place."""
    placed = [item for item in graph.objects if not item.fixed and item.pose.x is not None and item.pose.y is not None]
    return {item.name: _lines(item, camera) for item in placed}


def _lines(item: SceneObject, camera: Camera) -> list[Line]:
    shape, place = item.geometry, np.array([item.pose.x, item.pose.y, item.pose.z or 0.0])
    turn = rotation(item.pose.angle or 0.0, 3)

    def pixels(points: np.ndarray) -> Line:
        flat = np.concatenate([points, np.zeros((len(points), 3 - points.shape[1]))], axis=1)
        return camera.project(flat @ turn + place)

    if shape.polygons is not None:
        return [pixels(np.array([*polygon, polygon[0]])) for polygon in shape.polygons]
    if shape.half_sizes is not None:
        corners = np.array(list(itertools.product(*[(-size, size) for size in shape.half_sizes])))
        hull = cv2.convexHull(pixels(corners).astype(np.float32))[:, 0]
        return [np.concatenate([hull, hull[:1]])]
    if shape.length is not None:
        return [pixels(np.array([[0.0, 0.0], [shape.length, 0.0]]))]
    if shape.radius is not None:
        return [pixels(shape.radius * np.stack([np.cos(ROUND), np.sin(ROUND)], axis=1))]
    return [
        camera.project(place) + MARK_PX * np.array(arm)
        for arm in ([[-1.0, 0.0], [1.0, 0.0]], [[0.0, -1.0], [0.0, 1.0]])
    ]
