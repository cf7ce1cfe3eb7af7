"""Success over several seeds: how much of a score is luck of the draw."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import mean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from visualpatchworld.paper.figures._style import BLUE, GREY, ORANGE, WIDTH_IN, nothing
from visualpatchworld.paper.results import Found, Query, Results, condition_title, find, places
from visualpatchworld.paper.suite import CONDITIONS
from visualpatchworld.paper.table import load_quoted

TITLE = "Planning success of every seed, with the interval of all tasks together; quoted figures are hollow"


def figure(results: Results) -> Figure:
    """One panel per condition that was measured with several seeds: seeds, their mean, the pooled interval, and the paper's."""
    quoted = load_quoted()["multiseed"]
    seeds = tuple(quoted.data["seeds"])
    where = places(results, list(load_quoted()["main"].rows[0]["success"]))
    shown = {}
    for observe, score in CONDITIONS:
        found = [find(results, place, Query(observe=observe, score=score, seeds=seeds)) for place in where]
        several = [item for item in found if len(item.parts) > 1]
        if several:
            shown[condition_title(observe, score)] = [
                (item, quoted.row(observe=observe, score=score, domain=item.place.domain.name) if item.place.first else {})
                for item in several
            ]
    if not shown:
        raise nothing(results, "several seeds", f"vpw bench multiseed --out {results.out}")
    heights = [len(rows) + 1.3 for rows in shown.values()]
    drawn = Figure(figsize=(WIDTH_IN, 0.42 * sum(heights) + 0.9), layout="constrained")
    grid = drawn.add_gridspec(len(shown), 1, height_ratios=heights)
    first: Axes | None = None
    for i, (title, rows) in enumerate(shown.items()):
        first = axis = drawn.add_subplot(grid[i], sharex=first)
        axis.set_title(title)
        _draw(axis, rows)
    assert first is not None
    first.set_xlabel("success, %")
    handles = [
        Line2D([], [], color=BLUE, marker="o", alpha=0.45, linestyle="", label="one seed"),
        Line2D([], [], color=BLUE, marker="|", markersize=14, label="mean, pooled 95 %"),
        Line2D([], [], color=ORANGE, marker="D", markerfacecolor="white", label="quoted from the paper"),
    ]
    drawn.legend(handles=handles, loc="outside lower center", ncols=3)
    return drawn


def _draw(axis: Axes, rows: list[tuple[Found, Mapping[str, Any]]]) -> None:
    for i, (item, paper) in enumerate(rows):
        assert item.summary is not None
        scores = list(item.by_seed.values())
        average, (low, high) = mean(scores), item.summary.ci95
        axis.plot([low, high], [i, i], color=BLUE)
        axis.plot([average], [i], color=BLUE, marker="|", markersize=14, markeredgewidth=2.5)
        axis.plot(scores, [i - 0.22] * len(scores), color=BLUE, marker="o", alpha=0.45, linestyle="")
        if paper:
            if paper["ci95"] is not None:
                axis.plot(paper["ci95"], [i + 0.25] * 2, color=ORANGE)
            axis.plot([paper["mean"]], [i + 0.25], color=ORANGE, marker="D", markerfacecolor="white")
        axis.axhline(i + 0.5, color=GREY, linewidth=0.4)
    axis.set_yticks(range(len(rows)), [item.place.title for item, _ in rows])
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_xlim(0, 102)
    axis.grid(False, axis="y")
