"""Figures by their ids, drawn from result files alone and written as PNG or SVG."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from visualpatchworld.errors import UnknownName
from visualpatchworld.files import writing
from visualpatchworld.paper.figures.analyses import block_motion_figure, landscape_figure, perception_figure, rollout_error_figure
from visualpatchworld.paper.figures.planning import multiseed_figure, success_figure
from visualpatchworld.paper.figures.programs import evidence_figure, programs_figure
from visualpatchworld.paper.figures.style import STYLE
from visualpatchworld.paper.results import Results

FORMATS = ("png", "svg")
DOTS_PER_INCH = 150  # of a PNG: twice what it is laid out for, so that it stays sharp on a phone
# By its id, the title of a figure and what draws it.
FIGURES: Mapping[str, tuple[str, Callable[[Results], Figure]]] = {
    "block-motion": ("Predicted against true motion, summed step by step over a contact episode", block_motion_figure),
    "evidence": ("Level 1: which forms explain which experiments", evidence_figure),
    "landscape": ("The scoring landscape beside a wall: program against engine", landscape_figure),
    "multiseed": ("Planning success of every seed, with the interval of all tasks together; quoted figures are hollow", multiseed_figure),
    "perception": ("Scene graphs of the tool path and of the oracle, drawn on the pictures that were read", perception_figure),
    "programs": ("Programs, with the picture and one transition that they predict", programs_figure),
    "rollout-error": ("Open-loop error against the number of steps, on test episodes", rollout_error_figure),
    "success": ("Planning success with Wilson's 95 % intervals and floors; quoted figures are hatched", success_figure),
}


def find_figures() -> dict[str, str]:
    """Every figure that can be made: its title by its id."""
    return {name: title for name, (title, _) in FIGURES.items()}


def make_figure(name: str, results: Results) -> Figure:
    """The figure of that id; where results are missing, one sentence says which command computes them."""
    if name not in FIGURES:
        raise UnknownName("figure", name, FIGURES)
    with rc_context(STYLE):
        return FIGURES[name][1](results)


def write_figure(path: Path, figure: Figure, layout: str) -> None:
    """Write a figure as PNG or SVG; the same figure gives the same bytes."""
    date = {"Date": None} if layout == "svg" else {"Software": None}
    with rc_context(STYLE), writing(path) as aside:
        figure.savefig(aside, format=layout, dpi=DOTS_PER_INCH, metadata=date)
