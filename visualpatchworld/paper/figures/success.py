"""Success at planning: every condition in every place, with intervals and floors; what others published is hatched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from visualpatchworld.paper.figures._style import BLACK, BLUE, GREY, QUOTED_HATCH, SKY, nothing, panels
from visualpatchworld.paper.results import Found, Place, Query, Results, condition_title, find, places
from visualpatchworld.paper.suite import CONDITIONS
from visualpatchworld.paper.table import load_quoted

TITLE = "Planning success with Wilson's 95 % intervals and floors; quoted figures are hatched"
BAR = 0.38
FLOORS: dict[str, Any] = {"zero": "--", "random": ":"}
QUOTED_FROM = "sim-assist"


def figure(results: Results) -> Figure:
    """One panel per place, one pair of bars per condition and measured rival: ours, and the paper's."""
    if not results.results:
        raise nothing(results, "planning", f"vpw bench main --out {results.out}")
    main = load_quoted()["main"].rows
    where = [place for place in places(results, list(main[0]["success"])) if place.source]
    models = _models(results, main)
    rows = [{**_conditions(results, place), **_rivals(results, place, main, models)} for place in where]
    drawn, axes = panels(len(where), height_in=0.42 * max(map(len, rows)) + 0.6)
    for axis, place, found in zip(axes, where, rows, strict=True):
        _draw(axis, place, found)
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


def _draw(axis: Axes, place: Place, found: Mapping[str, tuple[Found, float | None]]) -> None:
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
