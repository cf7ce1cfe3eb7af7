"""Figures by their ids, drawn from result files alone and written as PNG or SVG; and how they look.

Colours that colour-blind readers tell apart, type that a phone shows legibly, a white ground on any page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from visualpatchworld.errors import UnknownName
from visualpatchworld.files import writing
from visualpatchworld.paper.analysis import Analysis
from visualpatchworld.paper.results import NoResults, Results
from visualpatchworld.paper.table import load_quoted

FORMATS = ("png", "svg")
DOTS_PER_INCH = 150  # of a PNG: twice what it is laid out for, so that it stays sharp on a phone
TITLES: Mapping[str, str] = {
    "block-motion": "Predicted against true motion, summed step by step over a contact episode",
    "evidence": "Level 1: which forms explain which experiments",
    "landscape": "The scoring landscape beside a wall: program against engine",
    "multiseed": "Planning success of every seed, with the interval of all tasks together; quoted figures are hollow",
    "perception": "Scene graphs of the tool path and of the oracle, drawn on the pictures that were read",
    "programs": "Programs, with the picture and one transition that they predict",
    "rollout-error": "Open-loop error against the number of steps, on test episodes",
    "success": "Planning success with Wilson's 95 % intervals and floors; quoted figures are hatched",
}


def find_figures() -> dict[str, str]:
    """Every figure that can be made: its title by its id."""
    return dict(TITLES)


def make_figure(name: str, results: Results) -> Figure:
    """The figure of that id; where results are missing, one sentence says which command computes them."""
    from visualpatchworld.paper.figures import analyses, planning  # here: they take their looks from this module

    if name not in TITLES:
        raise UnknownName("figure", name, TITLES)
    with rc_context(STYLE):
        return (analyses.FIGURES | planning.FIGURES)[name](results)


def write_figure(path: Path, figure: Figure, layout: str) -> None:
    """Write a figure as PNG or SVG; the same figure gives the same bytes."""
    date = {"Date": None} if layout == "svg" else {"Software": None}
    with rc_context(STYLE), writing(path) as aside:
        figure.savefig(aside, format=layout, dpi=DOTS_PER_INCH, metadata=date)


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
BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, BLACK, GREY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#000000",
    "#888888",
)
METHOD_COLORS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)  # the first is ours
# Colours alone are not enough for everyone.
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
QUOTED_HATCH = "////"


def panels(count: int, *, height_in: float) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels; places that are left over stay empty."""
    columns = min(2, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(WIDTH_IN, height_in * rows + 0.4), layout="constrained")
    axes = [figure.add_subplot(rows, columns, i + 1) for i in range(count)]
    return figure, axes


def shared_legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """One legend below all panels, for whatever any of them shows."""
    shown = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(shown.values(), shown, loc="outside lower center", ncols=3)


def domain_order(names: Sequence[str]) -> list[str]:
    """Names of domains as the main table has them, then the others."""
    known = list(load_quoted()["main"].rows[0]["success"])
    return sorted(dict.fromkeys(names), key=lambda name: (known.index(name) if name in known else len(known), name))


def by_domain(analyses: Sequence[Analysis]) -> list[Analysis]:
    """Analyses in the order of their domains."""
    order = domain_order([analysis.domain for analysis in analyses])
    return sorted(analyses, key=lambda analysis: order.index(analysis.domain))


def method_title(method: str) -> str:
    """A method as people say it."""
    titles = {row["baseline"]: row["method"] for row in load_quoted()["main"].rows if row.get("baseline")}
    return "induced" if method == "vpw" else titles.get(method, method)


def methods_of(analyses: Sequence[Analysis]) -> dict[str, dict[str, Any]]:
    """Every method of these analyses with its look, ours first."""
    methods = sorted({analysis.method for analysis in analyses}, key=lambda method: (method != "vpw", method))
    return {
        method: {
            "color": METHOD_COLORS[i % len(METHOD_COLORS)],
            "linestyle": DASHES[i % len(DASHES)],
            "label": method_title(method),
        }
        for i, method in enumerate(methods)
    }


def nothing(results: Results, what: str, command: str) -> NoResults:
    """What to raise where a figure has nothing to show."""
    return NoResults(f"There are no results of {what} in '{results.folder}'; `{command}` computes them.")
