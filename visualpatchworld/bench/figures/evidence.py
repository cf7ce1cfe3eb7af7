"""Which forms explain which experiments: what level 1 chose by."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from visualpatchworld.bench.figures._style import BLUE, ORANGE, WIDTH_IN, domain_order, nothing
from visualpatchworld.bench.induction_record import InductionRecord
from visualpatchworld.bench.results import Results
from visualpatchworld.domain import load_domain

TITLE = "Level 1: which forms explain which experiments"
NOT_TRIED, REFUTED, EXPLAINED = 0, 1, 2
VALUES = {None: NOT_TRIED, False: REFUTED, True: EXPLAINED}
COLORS = ("#eeeeee", ORANGE, BLUE)
MEANINGS = ("not tried: set aside before", "refuted", "explained")


def figure(results: Results) -> Figure:
    """One heat map per domain: candidates from top to bottom, the chosen one first, experiments from left to right."""
    chosen = [induction for induction in results.inductions if induction.candidates and induction.candidates[0].verdicts]
    inductions = {name: next(item for item in chosen if item.domain == name) for name in domain_order([item.domain for item in chosen])}
    if not inductions:
        raise nothing(results, "induction", f"vpw bench main --out {results.out}")
    heights = [len(induction.candidates) + 3 for induction in inductions.values()]
    drawn = Figure(figsize=(WIDTH_IN, 0.24 * sum(heights) + 0.5), layout="constrained")
    grid = drawn.add_gridspec(len(inductions), 1, height_ratios=heights)
    for row, induction in enumerate(inductions.values()):
        _draw(drawn.add_subplot(grid[row]), induction)
    patches = [Patch(color=color, label=meaning) for color, meaning in zip(COLORS, MEANINGS, strict=True)]
    drawn.legend(handles=patches, loc="outside lower center", ncols=3)
    return drawn


def verdicts(induction: InductionRecord) -> tuple[np.ndarray, list[str]]:
    """Candidates by experiments, and the experiments' names."""
    probes = [verdict.probe for verdict in induction.candidates[0].verdicts]
    rows = [{verdict.probe: verdict.explained for verdict in row.verdicts} for row in induction.candidates]
    return np.array([[VALUES[row.get(name)] for name in probes] for row in rows]), probes


def _draw(axis: Axes, induction: InductionRecord) -> None:
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
