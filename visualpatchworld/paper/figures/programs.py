"""Programs and how they were chosen: forms against experiments, and a program with a transition it predicts."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from visualpatchworld.domain import load_domain
from visualpatchworld.paper.analysis import Analysis
from visualpatchworld.paper.figures.style import BLUE, ORANGE, VERMILION, WIDTH_IN, domain_order, nothing
from visualpatchworld.paper.record import InductionRecord
from visualpatchworld.paper.results import Results

NOT_TRIED, REFUTED, EXPLAINED = 0, 1, 2
VALUES = {None: NOT_TRIED, False: REFUTED, True: EXPLAINED}
COLORS = ("#eeeeee", ORANGE, BLUE)
MEANINGS = ("not tried: set aside before", "refuted", "explained")


def evidence_figure(results: Results) -> Figure:
    """One heat map per domain: candidates from top to bottom, the chosen one first, experiments from left to right."""
    chosen = [induction for induction in results.inductions if induction.candidates and induction.candidates[0].verdicts]
    inductions = {name: next(item for item in chosen if item.domain == name) for name in domain_order([item.domain for item in chosen])}
    if not inductions:
        raise nothing(results, "induction", f"vpw bench main --out {results.out}")
    heights = [len(induction.candidates) + 3 for induction in inductions.values()]
    drawn = Figure(figsize=(WIDTH_IN, 0.24 * sum(heights) + 0.5), layout="constrained")
    grid = drawn.add_gridspec(len(inductions), 1, height_ratios=heights)
    for row, induction in enumerate(inductions.values()):
        _draw_evidence(drawn.add_subplot(grid[row]), induction)
    patches = [Patch(color=color, label=meaning) for color, meaning in zip(COLORS, MEANINGS, strict=True)]
    drawn.legend(handles=patches, loc="outside lower center", ncols=3)
    return drawn


def verdicts(induction: InductionRecord) -> tuple[np.ndarray, list[str]]:
    """Candidates by experiments, and the experiments' names."""
    probes = [verdict.probe for verdict in induction.candidates[0].verdicts]
    rows = [{verdict.probe: verdict.explained for verdict in row.verdicts} for row in induction.candidates]
    return np.array([[VALUES[row.get(name)] for name in probes] for row in rows]), probes


def _draw_evidence(axis: Axes, induction: InductionRecord) -> None:
    values, probes = verdicts(induction)
    axis.pcolormesh(values, cmap=ListedColormap(COLORS), vmin=NOT_TRIED, vmax=EXPLAINED, edgecolors="white", linewidth=1.5)
    axis.invert_yaxis()
    axis.set_yticks(np.arange(len(values)) + 0.5, [row.sketch.replace("+", " + ") for row in induction.candidates])
    axis.get_yticklabels()[0].set_fontweight("bold")
    asked: dict[str, list[int]] = {}
    for i, verdict in enumerate(induction.candidates[0].verdicts):
        asked.setdefault(verdict.asks, []).append(i)
    axis.set_xticks([float(np.mean(where)) + 0.5 for where in asked.values()], [f"{name} ({len(where)})" for name, where in asked.items()])
    axis.tick_params(length=0, labelsize=9)
    axis.grid(False)
    axis.spines[:].set_visible(False)
    axis.vlines([where[0] for where in list(asked.values())[1:]], 0, len(values), color="black", linewidth=1.5)
    axis.set_title(f"{load_domain(induction.domain).title}: {len(probes)} experiments, by what they ask", loc="right")


MOST_LINES = 24
TEXT_COLUMNS, NOTE_COLUMNS = 100, 66  # of the excerpt, and of what stands beside the picture
FONT = {"family": "DejaVu Sans Mono", "fontsize": 7.6, "va": "top", "linespacing": 1.25}
LINE_IN, PICTURE_IN, TITLE_IN, GAP_IN, MARGIN_IN = 0.138, 2.0, 0.28, 0.12, 0.08


def programs_figure(results: Results) -> Figure:
    """One block per place: where things are and go, what the program foresaw, and below what its `step` says."""
    analyses = [analysis for analysis in results.analyses_of("transition") if analysis.method == "vpw"]
    if not analyses:
        raise nothing(results, "transitions", f"vpw analyse transition DOMAIN --results {results.out}")
    order = domain_order([analysis.domain for analysis in analyses])
    analyses = sorted(analyses, key=lambda analysis: order.index(analysis.domain))
    texts = [excerpt(analysis.data["program_text"]) for analysis in analyses]
    tops_in = [max(PICTURE_IN, _text_in(transition(analysis.data))) for analysis in analyses]
    heights_in = [TITLE_IN + top_in + _text_in(text) + 3 * GAP_IN for top_in, text in zip(tops_in, texts, strict=True)]
    drawn = Figure(figsize=(WIDTH_IN, sum(heights_in)))
    # Laid out by hand: text has no size that an automatic layout would know of.
    down_in = 0.0
    for analysis, text, top_in, height_in in zip(analyses, texts, tops_in, heights_in, strict=True):
        _draw_programs(drawn, analysis, text, down_in, top_in)
        down_in += height_in
    return drawn


def _text_in(text: str) -> float:
    return LINE_IN * (text.count("\n") + 1)


def _draw_programs(drawn: Figure, analysis: Analysis, text: str, down_in: float, top_in: float) -> None:
    width_in, height_in = drawn.get_size_inches()
    left, picture_in = MARGIN_IN / width_in, down_in + TITLE_IN

    def at(inches: float) -> float:
        return 1 - inches / height_in

    drawn.text(left, at(down_in + 0.06), analysis.title, fontsize=11, fontweight="bold", va="top")
    _draw_picture(drawn.add_axes((left, at(picture_in + PICTURE_IN), PICTURE_IN / width_in, PICTURE_IN / height_in)), analysis)
    drawn.text(left + (PICTURE_IN + 2 * GAP_IN) / width_in, at(picture_in), transition(analysis.data), **FONT)
    drawn.text(left, at(picture_in + top_in + GAP_IN), text, **FONT)


def excerpt(text: str) -> str:
    """The end of a program: `step`, and of the functions before it as many as there is room for."""
    lines = text.splitlines()
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    shown: list[str] = []
    for node in reversed(functions):
        body = lines[node.lineno - 1 : node.end_lineno]
        if shown and len(shown) + len(body) + 1 > MOST_LINES:
            break
        shown = [*body, *([""] if shown else []), *shown]
    cut = [line if len(line) <= TEXT_COLUMNS else f"{line[: TEXT_COLUMNS - 3]}..." for line in shown[-MOST_LINES:]]
    return "\n".join(cut)


def transition(data: Mapping[str, Any]) -> str:
    """One transition in words: the state before, the action, and how what was foreseen compares with what came."""
    names = [field["name"] for field in data["fields"]]

    def told(state: str) -> str:
        return ", ".join(f"{name} {value:.4g}" for name, value in zip(names, data[state], strict=True) if value is not None)

    rows = {
        "state": told("before"),
        "action": ", ".join(f"{value:.2g}" for value in data["action"]),
        "true": told("after"),
        "foreseen": told("predicted"),
        "error": ", ".join(f"{name} {'not finite' if error is None else f'{error:.2g}'}" for name, error in data["error"].items()),
    }
    lines = [
        textwrap.fill(f"{name:<10}{text}", NOTE_COLUMNS, subsequent_indent=" " * 10, break_long_words=False) for name, text in rows.items()
    ]
    return f"step {data['step']} of test episode {data['episode']}\n\n" + "\n".join(lines)


def _draw_picture(axis: Axes, analysis: Analysis) -> None:
    axis.imshow(analysis.pictures["before"], interpolation="nearest")
    for places in analysis.data["pixels"].values():
        for moment, look in (("after", {"color": BLUE, "linewidth": 2.5}), ("predicted", {"color": VERMILION, "linewidth": 1.0})):
            if None not in (*places["before"], *places[moment]):
                axis.annotate(
                    "",
                    places[moment],
                    places["before"],
                    arrowprops={"arrowstyle": "->", "mutation_scale": 7, "shrinkA": 0, "shrinkB": 0, **look},
                )
    axis.set_axis_off()
