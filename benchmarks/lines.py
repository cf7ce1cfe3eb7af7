"""Lines of results: one JSON object per line, each written whole
or not at all, so that a run can go on where it stopped.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from visualpatchworld import __version__

ROOT = Path(__file__).parents[1]


def stamp() -> dict[str, Any]:
    """When and of which code something was measured; a commit with a plus sign had changes that were not committed."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    commit = git("rev-parse", "--short=12", "HEAD")
    # Results that were just written are no change of the code.
    changed = git("status", "--porcelain", "--untracked-files=no", "--", "visualpatchworld", "benchmarks")
    date = datetime.now(UTC).date().isoformat()
    return {"date": date, "version": __version__, "commit": f"{commit}+" if commit and changed else commit or None}


class Lines:
    """A file of results in which every line is known by some of its fields."""

    def __init__(self, path: Path, keys: tuple[str, ...]):
        self.path, self.keys = path, keys

    def read(self) -> list[dict[str, Any]]:
        """All lines; a last one that was cut off does not count."""
        if not self.path.is_file():
            return []
        whole = self.path.read_text(encoding="utf-8").rpartition("\n")[0]
        return [json.loads(line) for line in whole.splitlines() if line.strip()]

    def has(self, **wanted: object) -> bool:
        """Whether a line with these keys is there."""
        return any(all(line.get(key) == wanted[key] for key in self.keys) for line in self.read())

    def put(self, record: Mapping[str, Any]) -> None:
        """Add a line, in place of the one with the same keys; the
        file is replaced at once, so that nobody sees half of it.

        Processes that put lines into one file wait for each other, so that none loses a line of another.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with (self.path.parent / f".{self.path.stem}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            kept = [line for line in self.read() if any(line.get(key) != record[key] for key in self.keys)]
            beside = self.path.with_suffix(f".{os.getpid()}.part")
            beside.write_text("".join(json.dumps(plain(line)) + "\n" for line in [*kept, record]), encoding="utf-8")
            beside.replace(self.path)


def plain(value: Any) -> Any:
    """The value as JSON can hold it; a number that is not finite is null."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
