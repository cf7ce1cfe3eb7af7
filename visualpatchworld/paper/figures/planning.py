"""Forms against experiments, and success at planning:
every condition in every place, and over seeds, with intervals and floors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import mean
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from visualpatchworld.domain import load_domain
from visualpatchworld.paper.figures.draw import (
    BLACK,
    BLUE,
    GREY,
    ORANGE,
    QUOTED_HATCH,
    SKY,
    WIDTH_IN,
    domain_order,
    nothing,
    panels,
)
from visualpatchworld.paper.record import InductionRecord
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
            axis.errorbar(
                score, i - BAR / 2, xerr=[[score - low], [high - score]], color=BLACK, linewidth=1.2, capsize=2
            )
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
    """One panel per condition that was measured with several seeds:
    seeds, their mean, the pooled interval, and the paper's.
    """
    quoted = load_quoted()["multiseed"]
    seeds = tuple(quoted.data["seeds"])
    where = places(results, list(load_quoted()["main"].rows[0]["success"]))
    shown = {}
    for observe, score in CONDITIONS:
        found = [find(results, place, Query(observe=observe, score=score, seeds=seeds)) for place in where]
        several = [item for item in found if len(item.parts) > 1]
        if several:
            shown[condition_title(observe, score)] = [
                (
                    item,
                    quoted.row(observe=observe, score=score, domain=item.place.domain.name) if item.place.first else {},
                )
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


NOT_TRIED, REFUTED, EXPLAINED = 0, 1, 2
VALUES = {None: NOT_TRIED, False: REFUTED, True: EXPLAINED}
VERDICT_COLORS = ("#eeeeee", ORANGE, BLUE)
MEANINGS = ("not tried: set aside before", "refuted", "explained")


def evidence_figure(results: Results) -> Figure:
    """One heat map per domain: candidates from top to bottom, the chosen one first, experiments from left to right."""
    chosen = [
        induction for induction in results.inductions if induction.candidates and induction.candidates[0].verdicts
    ]
    inductions = {
        name: next(item for item in chosen if item.domain == name)
        for name in domain_order([item.domain for item in chosen])
    }
    if not inductions:
        raise nothing(results, "induction", f"vpw bench main --out {results.out}")
    heights = [len(induction.candidates) + 3 for induction in inductions.values()]
    drawn = Figure(figsize=(WIDTH_IN, 0.24 * sum(heights) + 0.5), layout="constrained")
    grid = drawn.add_gridspec(len(inductions), 1, height_ratios=heights)
    for row, induction in enumerate(inductions.values()):
        _draw_evidence(drawn.add_subplot(grid[row]), induction)
    patches = [Patch(color=color, label=meaning) for color, meaning in zip(VERDICT_COLORS, MEANINGS, strict=True)]
    drawn.legend(handles=patches, loc="outside lower center", ncols=3)
    return drawn


def verdicts(induction: InductionRecord) -> tuple[np.ndarray, list[str]]:
    """Candidates by experiments, and the experiments' names."""
    probes = [verdict.probe for verdict in induction.candidates[0].verdicts]
    rows = [{verdict.probe: verdict.explained for verdict in row.verdicts} for row in induction.candidates]
    return np.array([[VALUES[row.get(name)] for name in probes] for row in rows]), probes


def _draw_evidence(axis: Axes, induction: InductionRecord) -> None:
    values, probes = verdicts(induction)
    axis.pcolormesh(
        values, cmap=ListedColormap(VERDICT_COLORS), vmin=NOT_TRIED, vmax=EXPLAINED, edgecolors="white", linewidth=1.5
    )
    axis.invert_yaxis()
    axis.set_yticks(np.arange(len(values)) + 0.5, [row.sketch.replace("+", " + ") for row in induction.candidates])
    axis.get_yticklabels()[0].set_fontweight("bold")
    asked: dict[str, list[int]] = {}
    for i, verdict in enumerate(induction.candidates[0].verdicts):
        asked.setdefault(verdict.asks, []).append(i)
    axis.set_xticks(
        [float(np.mean(where)) + 0.5 for where in asked.values()],
        [f"{name} ({len(where)})" for name, where in asked.items()],
    )
    axis.tick_params(length=0, labelsize=9)
    axis.grid(False)
    axis.spines[:].set_visible(False)
    axis.vlines([where[0] for where in list(asked.values())[1:]], 0, len(values), color="black", linewidth=1.5)
    axis.set_title(f"{load_domain(induction.domain).title}: {len(probes)} experiments, by what they ask", loc="right")


FIGURES: dict[str, Callable[[Results], Figure]] = {
    "evidence": evidence_figure,
    "multiseed": multiseed_figure,
    "success": success_figure,
}
