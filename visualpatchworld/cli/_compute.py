"""How verbs compute: compiled code that is kept, and how long each stage took."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import jax

from visualpatchworld.errors import VpwError
from visualpatchworld.files import from_json, read_bytes, to_json, write_text
from visualpatchworld.program.rollout import spread_over_cores

WORTH_KEEPING_S = 0.3


def keep_compiled(*, all_cores: bool = False) -> None:
    """Let JAX keep what it compiles in the user's cache folder, unless a folder is set already; for planning, let it use all cores."""
    if all_cores:
        spread_over_cores(len(os.sched_getaffinity(0)))
    if jax.config.values["jax_compilation_cache_dir"] is None:
        cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
        jax.config.update("jax_compilation_cache_dir", str(cache / "visualpatchworld" / "xla"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", WORTH_KEEPING_S)


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
