"""How figures look: colours that colour-blind readers tell apart, type that a phone shows legibly, a white ground on any page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from visualpatchworld.paper.results import NoResults, Results
from visualpatchworld.paper.table import load_quoted

WIDTH_IN = 7.0
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that figures are the same everywhere
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 2.0,
    "figure.constrained_layout.h_pad": 0.08,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "hatch.linewidth": 0.8,
    "svg.hashsalt": "visualpatchworld",  # the same figure gives the same bytes
}
# Okabe and Ito's palette.
BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, YELLOW, BLACK, GREY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#F0E442",
    "#000000",
    "#888888",
)
METHOD_COLORS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)  # the first is ours
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))  # colours alone are not enough for everyone
QUOTED_HATCH = "////"


def panels(count: int, *, columns: int = 2, height_in: float = 2.6, **options: Any) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels; places that are left over stay empty."""
    columns = min(columns, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(WIDTH_IN, height_in * rows + 0.4), layout="constrained")
    axes = [figure.add_subplot(rows, columns, i + 1, **options) for i in range(count)]
    return figure, axes


def shared_legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """One legend below all panels, for whatever any of them shows."""
    shown = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(shown.values(), shown, loc="outside lower center", ncols=3)


def domain_order(names: Sequence[str]) -> list[str]:
    """Names of domains as the main table has them, then the others."""
    known = list(load_quoted()["main"].rows[0]["success"])
    return sorted(dict.fromkeys(names), key=lambda name: (known.index(name) if name in known else len(known), name))


def method_title(method: str) -> str:
    """A method as people say it."""
    titles = {row["baseline"]: row["method"] for row in load_quoted()["main"].rows if row.get("baseline")}
    return "induced" if method == "vpw" else titles.get(method, method)


def methods_of(analyses: Sequence[Any]) -> dict[str, dict[str, Any]]:
    """Every method of these analyses with its look, ours first."""
    methods = sorted({analysis.method for analysis in analyses}, key=lambda method: (method != "vpw", method))
    return {
        method: {"color": METHOD_COLORS[i % len(METHOD_COLORS)], "linestyle": DASHES[i % len(DASHES)], "label": method_title(method)}
        for i, method in enumerate(methods)
    }


def nothing(results: Results, what: str, command: str) -> NoResults:
    """What to raise where a figure has nothing to show."""
    return NoResults(f"There are no results of {what} in '{results.folder}'; `{command}` computes them.")
