"""Pictures in and out of files: what someone has as a PNG becomes an array, and an array becomes a PNG that can be sent."""

from __future__ import annotations

import base64
import io
import struct
import warnings
import zlib
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from visualpatchworld.errors import BadPicture
from visualpatchworld.extras import PIL, cv2
from visualpatchworld.input import read_bytes
from visualpatchworld.output import writing


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
