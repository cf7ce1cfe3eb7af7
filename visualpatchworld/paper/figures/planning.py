"""Success at planning: every condition in every place, and over seeds, with intervals and floors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from visualpatchworld.paper.figures.style import BLACK, BLUE, GREY, ORANGE, QUOTED_HATCH, SKY, WIDTH_IN, nothing, panels
from visualpatchworld.paper.results import Found, Place, Query, Results, condition_title, find, places
from visualpatchworld.paper.suite import CONDITIONS
from visualpatchworld.paper.table import load_quoted

BAR = 0.38
FLOORS: dict[str, Any] = {"zero": "--", "random": ":"}
QUOTED_FROM = "sim-assist"


def success_figure(results: Results) -> Figure:
    """One panel per place, one pair of bars per condition and measured rival: ours, and the paper's."""
    if not results.results:
        raise nothing(results, "planning", f"vpw bench main --out {results.out}")
    main = load_quoted()["main"].rows
    where = [place for place in places(results, list(main[0]["success"])) if place.source]
    models = _models(results, main)
    rows = [{**_conditions(results, place), **_rivals(results, place, main, models)} for place in where]
    drawn, axes = panels(len(where), height_in=0.42 * max(map(len, rows)) + 0.6)
    for axis, place, found in zip(axes, where, rows, strict=True):
        _draw_success(axis, place, found)
    handles = [
        Patch(facecolor=BLUE, label="measured"),
        Patch(facecolor="white", edgecolor=GREY, hatch=QUOTED_HATCH, label="quoted from the paper"),
        Line2D([], [], color=BLACK, linestyle=FLOORS["zero"], linewidth=1.2, label="floor: zero actions"),
        Line2D([], [], color=BLACK, linestyle=FLOORS["random"], linewidth=1.2, label="floor: random actions"),
    ]
    told = {label: label or "a model that was not recorded" for label in models}
    handles += [Patch(facecolor=SKY, label=f"code baselines{mark}: {told[label]}") for label, mark in models.items()]
    drawn.legend(handles=handles, loc="outside lower center", ncols=2)
    return drawn


def _models(results: Results, main: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Who wrote the rivals' programs, each with a mark for its rows where there are several."""
    rivals = {row.get("baseline") for row in main} - {None}
    labels = sorted({result.cell.written_by for result in results.results if result.cell.method in rivals})
    return {label: f" ({i})" if len(labels) > 1 else "" for i, label in enumerate(labels, start=1)}


def _conditions(results: Results, place: Place) -> dict[str, tuple[Found, float | None]]:
    """Our conditions with what is quoted for each."""
    quoted = load_quoted()[QUOTED_FROM]
    return {
        condition_title(observe, score): (
            find(results, place, Query(observe=observe, score=score)),
            _quoted(quoted.row(observe=observe, score=score), place),
        )
        for observe, score in CONDITIONS
    }


def _rivals(
    results: Results, place: Place, main: Sequence[Mapping[str, Any]], models: Mapping[str, str]
) -> dict[str, tuple[Found, float | None]]:
    """Rivals that were measured, each with what is quoted for it."""
    measured = {(result.cell.method, result.cell.written_by) for result in results.results}
    return {
        f"{row['method']}{mark}": (
            find(results, place, Query(method=row["baseline"], written_by=label, observe="oracle", score="induced")),
            _quoted(row, place),
        )
        for label, mark in models.items()
        for row in main
        if (row.get("baseline"), label) in measured
    }


def _quoted(row: Mapping[str, Any], place: Place) -> float | None:
    return row["success"].get(place.domain.name) if row and place.first else None


def _draw_success(axis: Axes, place: Place, found: Mapping[str, tuple[Found, float | None]]) -> None:
    axis.set_title(place.title)
    for i, (item, quoted) in enumerate(found.values()):
        if item.summary is not None:
            low, high = item.summary.ci95
            score = item.summary.success
            color = BLUE if item.query.method in ("vpw", "engine") else SKY
            axis.barh(i - BAR / 2, score, BAR, color=color)
            axis.errorbar(score, i - BAR / 2, xerr=[[score - low], [high - score]], color=BLACK, linewidth=1.2, capsize=2)
        else:
            axis.text(99, i - BAR / 2, "not measured", va="center", ha="right", fontsize=8, color=GREY)
        if quoted is not None:
            axis.barh(i + BAR / 2, quoted, BAR, facecolor="white", edgecolor=GREY, hatch=QUOTED_HATCH)
            if quoted == 0:  # a bar of no length is easily taken for a missing one
                axis.text(1, i + BAR / 2, "0", va="center", fontsize=8, color=GREY)
    for name, dashes in FLOORS.items():
        floor = next((getattr(item, name) for item, _ in found.values() if getattr(item, name)), None)
        if floor is not None:
            axis.axvline(floor.success, color=BLACK, linestyle=dashes, linewidth=1.2)
    axis.set_yticks(range(len(found)), list(found))
    axis.set_ylim(len(found) - 0.4, -0.6)
    axis.set_xlim(0, 101)
    axis.grid(False, axis="y")
    axis.set_xlabel("success, %")


def multiseed_figure(results: Results) -> Figure:
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
        _draw_multiseed(axis, rows)
    assert first is not None
    first.set_xlabel("success, %")
    handles = [
        Line2D([], [], color=BLUE, marker="o", alpha=0.45, linestyle="", label="one seed"),
        Line2D([], [], color=BLUE, marker="|", markersize=14, label="mean, pooled 95 %"),
        Line2D([], [], color=ORANGE, marker="D", markerfacecolor="white", label="quoted from the paper"),
    ]
    drawn.legend(handles=handles, loc="outside lower center", ncols=3)
    return drawn


def _draw_multiseed(axis: Axes, rows: list[tuple[Found, Mapping[str, Any]]]) -> None:
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
