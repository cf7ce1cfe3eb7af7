"""How long the stages of a run took, noted beside what they made: a stage that is kept from an earlier run keeps its time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from visualpatchworld.errors import VpwError
from visualpatchworld.input import read_bytes
from visualpatchworld.output import write_text
from visualpatchworld.strict_json import from_json, to_json


@contextmanager
def timed(stage: Callable[[str], None], seconds: dict[str, float]) -> Iterator[Callable[[str], None]]:
    """A function that passes on what is being done, `fit: step 3` say, and adds up in `seconds` how long each kind of it takes."""
    doing, began = "", time.perf_counter()

    def note(next_kind: str) -> None:
        nonlocal doing, began
        now = time.perf_counter()
        if doing:
            seconds[doing] = seconds.get(doing, 0.0) + now - began
        doing, began = next_kind, now

    def tell(what: str) -> None:
        note(what.partition(":")[0])
        stage(what)

    yield tell
    note("")


def note_seconds(path: Path, seconds: Mapping[str, float]) -> None:
    """Add these to the times in a file; one that cannot be read is begun anew."""
    try:
        kept = dict(from_json(read_bytes(path, "times", VpwError)))
    except (VpwError, ValueError, TypeError):
        kept = {}
    write_text(path, to_json(kept | {name: round(value, 3) for name, value in seconds.items()}, indent=2) + "\n")
