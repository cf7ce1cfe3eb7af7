"""Pages from templates: whatever comes from a file is escaped, and a page forbids itself to load anything from anywhere."""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from visualpatchworld import __version__
from visualpatchworld.paper.render import html_text

HERE = Path(__file__).parent
REPORT = "report.html"


@dataclass(frozen=True)
class Written:
    """A page that was written, and in one sentence each what it had to leave out."""

    path: Path
    missing: tuple[str, ...]


def render(template: str, **values: Any) -> str:
    """The page that a template of this folder makes of these values."""
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"figure": figure, "duration": duration, "steps": in_steps, "sentence": lambda text: Markup(html_text(text))}
    style = (HERE / "style.css").read_text(encoding="utf-8")
    return environment.get_template(template).render(style=style, version=__version__, **values)


def data_url(path: Path, kind: str) -> str:
    """A file as text that a page can hold in place of a link."""
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def figure(value: float) -> str:
    """A figure with at most one digit after the point."""
    return f"{value:.1f}".removesuffix(".0")


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if not math.isfinite(seconds):
        return "unknown"
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def in_steps(count: int) -> str:
    """A number of steps in words."""
    return "1 step" if count == 1 else f"{count} steps"
