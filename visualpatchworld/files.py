"""Plain files read whole or refused in one sentence, written whole or not at all,
and JSON that every reader understands, both ways.
"""

from __future__ import annotations

import glob
import json
import math
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from visualpatchworld.errors import BadTrace, CannotWrite, VpwError

MOST_BYTES = 256 * 2**20
MOST_UNPACKED = 512 * 2**20  # bytes of a log once its numbers are floats; a few MB can be packed from gigabytes
FLOAT_BYTES = 8


class NotRegular(Exception):
    """Something else than a plain file of a sane size; the message is the reason, without a name."""


def read_bytes(path: Path, what: str, error: type[VpwError], *, most: int = MOST_BYTES) -> bytes:
    """What a file holds, or this `error` saying why it cannot be read; `what` names its kind."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            about = os.fstat(file.fileno())
            _check(about, most)
            content = file.read(about.st_size + 1)
            if len(content) > about.st_size:  # it has grown since, or does not say its size
                content += file.read(most + 1 - len(content))
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
    # Without blocking, a pipe that nobody writes to opens at once;
    # what it is can then be asked of the open file itself.
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _check(about: os.stat_result, most_bytes: int) -> None:
    if not stat.S_ISREG(about.st_mode):
        raise NotRegular("it is a folder" if stat.S_ISDIR(about.st_mode) else "it is a pipe or a device, not a file")
    if about.st_size > most_bytes:
        raise NotRegular(_too_large(about.st_size, most_bytes))


def _too_large(size: int, most_bytes: int) -> str:
    return f"it has {size / 1e6:.1f} MB, and at most {most_bytes / 1e6:g} MB are read"


@contextmanager
def unpacking(path: Path, kind: str) -> Iterator[None]:
    """Turn everything that a library raises on a damaged file into one sentence: there is no list of what that may be."""
    try:
        yield
    except (VpwError, PermissionError):
        raise
    except Exception as error:
        raise BadTrace(f"'{path}' can not be read; it is damaged or not {kind}.") from error


def check_unpacked(path: Path, num_bytes: int) -> None:
    """Refuse a log that would be so large before it is unpacked."""
    if num_bytes > MOST_UNPACKED:
        raise BadTrace(
            f"'{path}' would take {num_bytes / 1e6:.0f} MB unpacked, and at most {MOST_UNPACKED / 1e6:.0f} MB are read; "
            "give a part of it."
        )


def as_floats(count: int, item_bytes: int = 0) -> int:
    """Bytes of so many items once they are floats, or as they are where they are larger."""
    return count * max(item_bytes, FLOAT_BYTES)


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """A path to write to that becomes `path` when the block ends well; whatever else happens, nothing is left of it."""
    aside = path.parent / f".{path.name}.{os.getpid()}.part"
    try:
        _check_target(path)
        _sweep(path)
        aside.unlink(missing_ok=True)  # whatever has that name, a link among others, is not written through
        aside.touch(exist_ok=False)  # an unwritable folder is told before the long work, not after it
        yield aside
        _flush_to_disk(aside)
        aside.replace(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise CannotWrite(f"Could not write '{path}' ({reason}); nothing was left there.") from error
    finally:
        with suppress(OSError):
            aside.unlink()


def make_folder(path: Path) -> Path:
    """The folder, made if it was not there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite(f"Could not make the folder '{path}' ({error.strerror}).") from error
    return path


def write_text(path: Path, text: str) -> None:
    """Write a whole text file."""
    write_lines(path, [text])


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write pieces of text as they come."""
    with writing(path) as aside, aside.open("w", encoding="utf-8", errors="backslashreplace") as file:
        file.writelines(lines)


def _check_target(path: Path) -> None:
    if not path.parent.is_dir():
        raise CannotWrite(f"Could not write '{path}': there is no folder '{path.parent}'; make it first.")
    if path.exists() and not path.is_file():
        raise CannotWrite(f"Could not write '{path}': it exists and is not a file; choose another name.")


def _sweep(path: Path) -> None:
    """Take away what writers of this file left that were killed."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        writer = left.name.split(".")[-2]
        if writer.isdecimal() and not _is_running(int(writer)):
            with suppress(OSError):
                left.unlink()


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass  # it is somebody else's
    return True


def _flush_to_disk(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


LONGEST_WHOLE = 18  # digits of a whole number; what is longer reads as a float


def to_json(value: Any, *, indent: int | None = None, sort_keys: bool = False) -> str:
    """One JSON text; a number that is not finite becomes null."""
    return json.dumps(_plain(value), indent=indent, sort_keys=sort_keys, allow_nan=False)


def from_json(text: str | bytes) -> Any:
    """What a JSON text holds, or a `ValueError`, whatever is wrong with it;
    a number that is not finite reads as null.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        found = json.loads(text, parse_float=_finite, parse_int=_whole, parse_constant=lambda _: None)
        # Half of a character can be read, and then never be shown.
        json.dumps(found, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise ValueError("its lists are too deep") from None
    return found


def _plain(value: Any) -> Any:
    """The same without numbers that JSON does not know and without halves of characters."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_plain(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    # What numpy computes is a number, too.
    return _plain(value.item()) if hasattr(value, "item") else value


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def _whole(digits: str) -> int | float | None:
    return int(digits) if len(digits) <= LONGEST_WHOLE else _finite(digits)
