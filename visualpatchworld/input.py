"""Files come in whole or are refused in one sentence: only plain ones, only up to a size, and none outside the folder it came in."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from visualpatchworld.errors import VpwError

MOST_BYTES = 256 * 2**20


class NotRegular(Exception):
    """Something else than a plain file of a sane size; the message is the reason, without a name."""


def read_bytes(path: Path, what: str, error: type[VpwError], *, most: int = MOST_BYTES) -> bytes:
    """What a file holds, or this `error` saying why it cannot be read; `what` names its kind."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            _check(os.fstat(file.fileno()), most)
            content = file.read(most + 1)  # it may have grown since
        if len(content) > most:
            raise NotRegular(_too_large(len(content), most))
    except OSError as failure:
        raise error(f"Cannot read the {what} '{path}': {failure.strerror or failure}.") from None
    except (ValueError, NotRegular) as failure:  # also a name that no file can have
        raise error(f"Cannot read the {what} '{path}': {failure}.") from None
    return content


def read_text(path: Path, what: str, error: type[VpwError], *, most: int = MOST_BYTES) -> str:
    """The text of a file, or this `error` saying why it cannot be read."""
    content = read_bytes(path, what, error, most=most)
    try:
        return content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise error(f"Cannot read the {what} '{path}': it is not text.") from None


def check_inside(path: Path, folder: Path, most_bytes: int) -> Path:
    """This path, if it is a plain file of at most this size that lies in the folder, whatever links lead to it.

    `FileNotFoundError` where nothing is there, `NotRegular` with the reason otherwise.
    """
    found = path.resolve(strict=True)
    if not found.is_relative_to(folder.resolve(strict=True)):
        raise NotRegular("it is a link that leads out of the folder")
    _check(found.stat(), most_bytes)
    return path


def _without_waiting(path: str, flags: int) -> int:
    # Without blocking, a pipe that nobody writes to opens at once; what it is can then be asked of the open file itself.
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _check(about: os.stat_result, most_bytes: int) -> None:
    if not stat.S_ISREG(about.st_mode):
        raise NotRegular("it is a folder" if stat.S_ISDIR(about.st_mode) else "it is a pipe or a device, not a file")
    if about.st_size > most_bytes:
        raise NotRegular(_too_large(about.st_size, most_bytes))


def _too_large(size: int, most_bytes: int) -> str:
    return f"it has {size / 1e6:.1f} MB, and at most {most_bytes / 1e6:g} MB are read"
