"""Files come in whole or are refused in one sentence: only regular ones, up to a size that such a file can have."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from visualpatchworld.errors import VpwError

MOST_BYTES = 256 * 2**20


def read_bytes(path: Path, what: str, error: type[VpwError], *, most: int = MOST_BYTES) -> bytes:
    """What a file holds, or this `error` saying why it cannot be read; `what` names its kind."""

    def refused(reason: object) -> VpwError:
        return error(f"Cannot read the {what} '{path}': {reason}.")

    try:
        with open(path, "rb", opener=_without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise refused("it is not a regular file")
            content = file.read(most + 1)
    except OSError as failure:
        raise refused(failure.strerror or failure) from None
    except ValueError as failure:  # a name that no file can have
        raise refused(failure) from None
    if len(content) > most:
        raise refused(f"it is longer than {most} bytes")
    return content


def read_text(path: Path, what: str, error: type[VpwError], *, most: int = MOST_BYTES) -> str:
    """The text of a file, or this `error` saying why it cannot be read."""
    content = read_bytes(path, what, error, most=most)
    try:
        return content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise error(f"Cannot read the {what} '{path}': it is not text.") from None


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # a pipe without a writer would be waited for
