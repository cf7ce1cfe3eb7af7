"""Pictures in and out of files: what someone has as a PNG becomes an array, and an array becomes a PNG that can be sent."""

from __future__ import annotations

import base64
from pathlib import Path

import cv2
import numpy as np
from jaxtyping import UInt8

from visualpatchworld.errors import BadPicture
from visualpatchworld.input import read_bytes
from visualpatchworld.output import writing


def read_picture(path: Path) -> UInt8[np.ndarray, "h w 3"]:
    """The picture in a file, in red, green and blue."""
    content = read_bytes(path, "picture", BadPicture)
    try:
        decoded = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR) if content else None
    except (cv2.error, MemoryError):  # larger than OpenCV would ever take
        decoded = None
    if decoded is None:
        raise BadPicture(f"'{path}' is not a picture that can be read; PNG and JPEG are.")
    return np.ascontiguousarray(decoded[..., ::-1]).astype(np.uint8)


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
