"""Compiled functions are kept between runs: a second run of the same kind does not compile again."""

from __future__ import annotations

import os
from pathlib import Path

import jax

from visualpatchworld.program.batch import spread_over_cores

WORTH_KEEPING_S = 0.3


def keep_compiled(*, all_cores: bool = False) -> None:
    """Let JAX keep what it compiles in the user's cache folder, unless a folder is set already; for planning, let it use all cores."""
    if all_cores:
        spread_over_cores(len(os.sched_getaffinity(0)))
    if jax.config.values["jax_compilation_cache_dir"] is None:
        cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
        jax.config.update("jax_compilation_cache_dir", str(cache / "visualpatchworld" / "xla"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", WORTH_KEEPING_S)
