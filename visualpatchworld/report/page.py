"""Pages from templates, with small charts: what comes from a file is escaped,
and a page loads nothing from anywhere.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from visualpatchworld import __version__
from visualpatchworld.errors import VpwError
from visualpatchworld.files import write_text
from visualpatchworld.paper.table import html_text

HERE = Path(__file__).parent
REPORT = "report.html"
Section = Callable[[Any], Any]  # from a run to what a page shows of it


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
    environment.filters |= {
        "figure": figure,
        "duration": duration,
        "steps": in_steps,
        "sentence": lambda text: Markup(html_text(text)),
    }
    style = (HERE / "style.css").read_text(encoding="utf-8")
    return environment.get_template(template).render(style=style, version=__version__, **values)


def write_page(
    path: Path, template: str, sections: Mapping[str, Callable[[Any], Any]], run: Any, progress: Callable[[str], None]
) -> Written:
    """Write the page of a run from its sections; one that raises a `VpwError` is replaced by its sentence."""
    shown: dict[str, Any] = {}
    absent: dict[str, str] = {}
    for name, make in sections.items():
        progress(name)
        try:
            shown[name] = make(run)
        except VpwError as error:
            absent[name] = str(error)
    write_text(path, render(template, run=run, absent=absent, **dict.fromkeys(absent), **shown))
    return Written(path, tuple(dict.fromkeys(absent.values())))


def data_url(path: Path, kind: str) -> str:
    """A file as text that a page can hold in place of a link."""
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def coloured(text: str) -> Markup:
    """A program with a class for every kind of word; whatever is in it stays text."""
    return Markup(highlight(text, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True)))


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


# Small on purpose: about its own size on a phone and on a screen, so that its words stay readable.
WIDTH, HEIGHT = 340, 210
LEFT, RIGHT, TOP, BOTTOM = 52, 10, 26, 36
NUM_TICKS = 4
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Curve:
    """Points joined in order; `look` is the class that says how they are drawn. What is not finite is left out."""

    name: str
    look: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Lines over one another, and a band behind them."""

    title: str
    x_label: str
    lines: tuple[Curve, ...]
    band: Sequence[tuple[float, float, float]] = ()  # x, low, high
    logarithmic: bool = False

    @property
    def summary(self) -> str:
        """The chart in words, for those who do not see it: where each line ends."""
        ends = [f"{line.name} ends at {line.points[-1][1]:.3g}" for line in self.lines if line.points]
        return f"{self.title}: {'; '.join(ends)}."


def svg(chart: Chart) -> Markup:
    """The chart as an SVG element."""
    finite = [point for line in chart.lines for point in line.points if math.isfinite(point[1])]
    heights = [y for _, y in finite] + [y for _, *ys in chart.band for y in ys if math.isfinite(y)]
    xs = [x for x, _ in finite] or [0.0, 1.0]
    scale = _logarithmic(heights) if chart.logarithmic and any(y > 0 for y in heights) else _linear(heights or [0.0])
    left, right = min(xs), max(max(xs), min(xs) + 1)

    def place(x: float, y: float) -> str:
        return f"{LEFT + (x - left) / (right - left) * (WIDTH - LEFT - RIGHT):.1f},{HEIGHT - BOTTOM - scale.share(y) * _tall():.1f}"

    parts = [Markup('<text class="title" x="0" y="14">{}</text>').format(chart.title)]
    for value, label in scale.ticks:
        y = HEIGHT - BOTTOM - scale.share(value) * _tall()
        parts.append(Markup('<path class="grid" d="M{} {:.1f}H{}"/>').format(LEFT, y, WIDTH - RIGHT))
        parts.append(
            Markup('<text class="tick" text-anchor="end" x="{}" y="{:.1f}">{}</text>').format(LEFT - 6, y + 4, label)
        )
    for value in [tick for tick, _ in _linear([left, right]).ticks if left <= tick <= right]:
        x = place(value, scale.low).split(",")[0]
        label = Markup('<text class="tick" text-anchor="middle" x="{}" y="{}">{:g}</text>')
        parts.append(label.format(x, HEIGHT - BOTTOM + 15, value))
    parts.append(
        Markup('<text class="tick" text-anchor="end" x="{}" y="{}">{}</text>').format(
            WIDTH - RIGHT, HEIGHT - 4, chart.x_label
        )
    )
    band = [point for point in chart.band if all(map(math.isfinite, point))]
    if band:
        outline = [place(x, high) for x, _, high in band] + [place(x, low) for x, low, _ in reversed(band)]
        parts.append(Markup('<polygon class="band" points="{}"/>').format(" ".join(outline)))
    for line in chart.lines:
        points = " ".join(place(x, y) for x, y in line.points if math.isfinite(y))
        parts.append(Markup('<polyline class="line {}" points="{}"/>').format(line.look, points))
    frame = Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>')
    return frame.format(WIDTH, HEIGHT, chart.summary, Markup("").join(parts))


@dataclass(frozen=True)
class _Scale:
    """Where a height lies between bottom (0) and top (1), and the ticks beside it."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    logarithmic: bool = False

    def share(self, value: float) -> float:
        if self.logarithmic:
            # An error of exactly zero lies below every power of ten; it is drawn at the bottom.
            return math.log10(max(value, self.low) / self.low) / math.log10(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def _linear(values: Sequence[float]) -> _Scale:
    low, high = min(values), max(values)
    if high - low < 1e-9 * max(abs(low), abs(high), 1e-6):
        low, high = low - 0.5 * (abs(low) or 1), high + 0.5 * (abs(high) or 1)
    rough = (high - low) / NUM_TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    return _Scale(
        first * step, last * step, tuple((i * step, f"{round(i * step, 12):g}") for i in range(first, last + 1))
    )


def _logarithmic(values: Sequence[float]) -> _Scale:
    positive = [value for value in values if value > 0]
    first, last = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
    last = max(last, first + 1)
    every = math.ceil((last - first) / NUM_TICKS)
    ticks = tuple((10.0**power, f"10{str(power).translate(RAISED)}") for power in range(first, last + 1, every))
    return _Scale(10.0**first, 10.0**last, ticks, logarithmic=True)


def _tall() -> float:
    return HEIGHT - TOP - BOTTOM
