"""Reading what someone sent: only plain files, only up to a size, and none that lies outside the folder it came in."""

from __future__ import annotations

import os
import stat
from pathlib import Path


class NotRegular(Exception):
    """Something else than a plain file of a sane size; the message is the reason, without a name."""


def read_regular(path: Path, most_bytes: int) -> bytes:
    """What a plain file holds; a pipe is not waited for and a device not read."""
    # Without blocking, a pipe that nobody writes to opens at once; what it is can then be asked of the open file itself.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        _check(os.fstat(descriptor), most_bytes)
        data = file.read(most_bytes + 1)  # it may have grown since
    if len(data) > most_bytes:
        raise NotRegular(_too_large(len(data), most_bytes))
    return data


def check_inside(path: Path, folder: Path, most_bytes: int) -> Path:
    """This path, if it is a plain file of at most this size that lies in the folder, whatever links lead to it.

    `FileNotFoundError` where nothing is there, `NotRegular` with the reason otherwise.
    """
    found = path.resolve(strict=True)
    if not found.is_relative_to(folder.resolve(strict=True)):
        raise NotRegular("it is a link that leads out of the folder")
    _check(found.stat(), most_bytes)
    return path


def _check(about: os.stat_result, most_bytes: int) -> None:
    if not stat.S_ISREG(about.st_mode):
        raise NotRegular("it is a folder" if stat.S_ISDIR(about.st_mode) else "it is a pipe or a device, not a file")
    if about.st_size > most_bytes:
        raise NotRegular(_too_large(about.st_size, most_bytes))


def _too_large(size: int, most_bytes: int) -> str:
    return f"it has {size / 1e6:.1f} MB, and at most {most_bytes / 1e6:g} MB are read"
