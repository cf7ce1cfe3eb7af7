"""What a result was computed with."""

from __future__ import annotations

import platform
from importlib.metadata import version


def versions() -> dict[str, str]:
    """Versions of what decides the numbers of a result."""
    return {"visualpatchworld": version("visualpatchworld"), "jax": version("jax"), "python": platform.python_version()}
