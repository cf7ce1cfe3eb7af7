"""Files appear whole or not at all: written aside, then renamed."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from visualpatchworld.errors import CannotWrite


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
