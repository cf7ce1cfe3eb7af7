"""A folder that someone may have sent: what is read of it lies in it, and is a plain file of a sane size."""

from __future__ import annotations

from pathlib import Path

from visualpatchworld.bench.results import Results, read_results
from visualpatchworld.errors import VpwError
from visualpatchworld.input import NotRegular, check_inside

LARGEST_JSON, LARGEST_EPISODES, LARGEST_FILM = 200_000_000, 50_000_000_000, 12_000_000  # bytes that are read of a file


class NotSent(VpwError):
    """A file that leads out of its folder, is no plain file, or is too large."""


def sent(folder: Path, path: Path, most_bytes: int) -> Path:
    """This path, if nothing is there or a file that may be read; otherwise `NotSent` says why not."""
    name = path.relative_to(folder)
    try:
        return check_inside(path, folder, most_bytes)
    except FileNotFoundError:
        return path
    except NotRegular as error:
        raise NotSent(f"{name} is not read: {error}.") from None
    except (OSError, RuntimeError) as error:  # links in a circle among them
        raise NotSent(f"{name} cannot be read: {getattr(error, 'strerror', None) or 'its links lead in a circle'}.") from None


def lies_in(folder: Path, path: Path) -> bool:
    """Whether a path, whatever links lead there, ends within the folder."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # links in a circle end nowhere
        return False


def sent_results(folder: Path) -> Results:
    """The results of a folder, each file of which may be read."""
    kept = folder / "results" if (folder / "results").is_dir() else folder
    for path in kept.glob("*.jsonl"):
        sent(folder, path, LARGEST_JSON)
    return read_results(folder)


def check_records(folder: Path) -> None:
    """Every record in the folder and its folders may be read; otherwise `NotSent` names the first that may not."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() and path.is_dir():
            if not lies_in(folder, path):
                raise NotSent(f"{path.relative_to(folder)} is not read: it is a link that leads out of the folder.")
        elif path.suffix in (".json", ".jsonl"):
            sent(folder, path, LARGEST_JSON)
