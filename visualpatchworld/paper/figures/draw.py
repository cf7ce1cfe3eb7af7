"""One module per figure, found by looking; each has a `TITLE` and `figure(results) -> Figure`, from result files alone."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from visualpatchworld.errors import UnknownName
from visualpatchworld.output import writing
from visualpatchworld.paper.figures._style import STYLE
from visualpatchworld.paper.results import Results

FORMATS = ("png", "svg")
DOTS_PER_INCH = 150  # of a PNG: twice what it is laid out for, so that it stays sharp on a phone


def find_figures() -> dict[str, str]:
    """Every figure that can be made: its title by its id."""
    names = [
        module.name
        for module in pkgutil.iter_modules([str(Path(__file__).parent)])
        if not module.name.startswith("_") and module.name != "draw"
    ]
    return {name.replace("_", "-"): _module(name).TITLE for name in names}


def make_figure(name: str, results: Results) -> Figure:
    """The figure of that id; where results are missing, one sentence says which command computes them."""
    found = find_figures()
    if name not in found:
        raise UnknownName("figure", name, found)
    with rc_context(STYLE):
        return _module(name.replace("-", "_")).figure(results)


def write_figure(path: Path, figure: Figure, layout: str) -> None:
    """Write a figure as PNG or SVG; the same figure gives the same bytes."""
    date = {"Date": None} if layout == "svg" else {"Software": None}
    with rc_context(STYLE), writing(path) as aside:
        figure.savefig(aside, format=layout, dpi=DOTS_PER_INCH, metadata=date)


def _module(name: str):
    return importlib.import_module(f"{__package__}.{name}")
