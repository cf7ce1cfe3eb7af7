"""Rollouts, motion, landscapes of costs, perception, and programs with a transition,
drawn from what was measured of them.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D

from visualpatchworld.paper.analysis import Analysis
from visualpatchworld.paper.figures.draw import (
    BLACK,
    BLUE,
    VERMILION,
    WIDTH_IN,
    by_domain,
    domain_order,
    methods_of,
    nothing,
    panels,
    shared_legend,
)
from visualpatchworld.paper.results import Results
from visualpatchworld.paper.table import load_quoted

EXACT = 1e-9  # below this the scale is linear, so that 0 has a place
POWERS = range(-9, 10, 3)


def rollout_error_figure(results: Results) -> Figure:
    """One panel per place and quantity: every method's median, and of ours the mean, too,
    which a few bad rollouts may lift far above.
    """
    analyses = results.analyses_of("rollout")
    if not analyses:
        raise nothing(results, "rollouts", f"vpw analyse rollout DOMAIN --results {results.out}")
    looks = methods_of(analyses)
    places = [
        (
            source,
            quantity,
            [item for item in analyses if item.source == source and quantity in item.data["rollout_error"]],
        )
        for domain in domain_order([analysis.domain for analysis in analyses])
        for source in dict.fromkeys(analysis.source for analysis in analyses if analysis.domain == domain)
        for quantity in next(analysis for analysis in analyses if analysis.source == source).data["rollout_error"]
    ]
    drawn, axes = panels(len(places), height_in=2.2)
    for axis, (_, quantity, shown) in zip(axes, places, strict=True):
        _draw_rollout_error(
            axis, quantity, sorted(shown, key=lambda analysis: list(looks).index(analysis.method)), looks
        )
    for axis in axes[-2:]:
        axis.set_xlabel("steps ahead")
    shared_legend(drawn, axes)
    return drawn


def _draw_rollout_error(axis: Axes, quantity: str, analyses: Sequence[Analysis], looks: dict[str, dict]) -> None:
    axis.set_title(f"{analyses[0].title}: {quantity}")
    for analysis in analyses:
        errors, look = analysis.data["rollout_error"][quantity], looks[analysis.method]
        steps = range(1, analysis.data["horizon"] + 1)
        known = {
            name: [float("nan") if value is None else value for value in errors[name]]
            for name in ("median", "mean", "p90")
        }
        axis.plot(steps, known["median"], **{**look, "label": f"{look['label']}, median"})
        if analysis is analyses[0]:
            for name, title, dashes in (("p90", "90th percentile", ":"), ("mean", "mean", "--")):
                axis.plot(
                    steps,
                    known[name],
                    color=look["color"],
                    linewidth=1.0,
                    linestyle=dashes,
                    label=f"{look['label']}, {title}",
                )
    axis.set_yscale("symlog", linthresh=EXACT, linscale=0.5)
    highest = max(axis.get_ylim()[1], 1.0)
    axis.set_ylim(0, highest)
    axis.set_yticks([0, *(10.0**power for power in POWERS if 10.0**power <= highest)], minor=False)
    axis.minorticks_off()
    axis.set_xlim(1, analyses[0].data["horizon"])


MOST = 1.6  # of the true way: a program that jumps leaves the panel


def block_motion_figure(results: Results) -> Figure:
    """One panel per place in which something is pushed:
    the way so far, predicted one step at a time by each method, and true.
    """
    quantities = load_quoted()["cases"].data["motion_quantities"]
    analyses = [
        analysis
        for analysis in results.analyses_of("motion")
        if quantities.get(analysis.domain) in analysis.data["motion"]
    ]
    if not analyses:
        raise nothing(results, "motion", f"vpw analyse motion DOMAIN --results {results.out}")
    looks = methods_of(analyses)
    sources = dict.fromkeys((analysis.domain, analysis.source) for analysis in by_domain(analyses))
    drawn, axes = panels(len(sources), height_in=3.2)
    for axis, (domain, source) in zip(axes, sources, strict=True):
        quantity = quantities[domain]
        shown = {analysis.method: analysis for analysis in analyses if analysis.source == source}
        first = next(iter(shown.values()))
        axis.set_title(f"{first.title}: {quantity}")
        true = list(accumulate(first.data["motion"][quantity]["true"]))
        axis.plot(range(1, len(true) + 1), true, color=BLACK, linewidth=5, alpha=0.25, label="true")
        for method, look in looks.items():
            if method in shown:
                way = list(accumulate(value or 0.0 for value in shown[method].data["motion"][quantity]["predicted"]))
                axis.plot(range(1, len(way) + 1), way, **look)
        axis.set_ylim(0, min(axis.get_ylim()[1], MOST * true[-1]))
        axis.set_xlabel(f"step of episode {first.data['motion'][quantity]['episode']}")
        axis.set_ylabel("moved so far")
    shared_legend(drawn, axes)
    return drawn


COLORS = "viridis"
AXES = ("first action", "second action")


def landscape_figure(results: Results) -> Figure:
    """One row per place: the engine's costs over a grid of actions, the program's,
    and both along the line with the steepest step.
    """
    analyses = [analysis for analysis in results.analyses_of("smoothness") if analysis.method == "vpw"]
    if not analyses:
        raise nothing(results, "scoring landscapes", f"vpw analyse smoothness DOMAIN --results {results.out}")
    analyses = by_domain(analyses)
    drawn = Figure(figsize=(WIDTH_IN, 2.6 * len(analyses) + 0.3), layout="constrained")
    for part, analysis in zip(drawn.subfigures(len(analyses), 1, squeeze=False)[:, 0], analyses, strict=True):
        _draw_row(part, analysis)
    return drawn


def _draw_row(part: SubFigure, analysis: Analysis) -> None:
    engine, program = normalised(analysis)
    agreement = f"{100 * analysis.data['merit']['agreement']:.1f} % of neighbours in the engine's order"
    part.suptitle(f"{analysis.title}: {agreement}", x=0.01, ha="left", fontsize=11, fontweight="bold")
    action = np.array(analysis.data["action"])
    if engine.ndim == 1:
        _draw_cut(part.subplots(), action, engine, program, "action")
        return
    axes = part.subplots(1, 3, width_ratios=(1, 1, 1.1))
    along, line = steepest_line(engine)
    for axis, costs, title in ((axes[0], engine, "engine, dark is cheap"), (axes[1], program, "program")):
        axis.imshow(
            costs.T,
            origin="lower",
            extent=(-1, 1, -1, 1),
            vmin=0,
            vmax=1,
            cmap=COLORS,
            aspect="equal",
            interpolation="nearest",
        )
        draw_line = axis.axhline if along == 0 else axis.axvline
        draw_line(action[line], color="white", linestyle="--", linewidth=1)
        axis.set_title(title, fontweight="normal")
        axis.grid(False)
        axis.set_xticks((-1, 0, 1))
        axis.set_yticks((-1, 0, 1))
        axis.set_xlabel(AXES[0])
    axes[0].set_ylabel(AXES[1])
    _draw_cut(
        axes[2], action, np.take(engine, line, axis=1 - along), np.take(program, line, axis=1 - along), AXES[along]
    )


def _draw_cut(axis: Axes, action: np.ndarray, engine: np.ndarray, program: np.ndarray, label: str) -> None:
    axis.plot(action, engine, color=BLACK, linewidth=5, alpha=0.25, label="engine")
    axis.plot(action, program, color=BLUE, label="program")
    axis.set_title("cost, dashed line", fontweight="normal")
    axis.set_ylim(-0.05, 1.05)
    axis.set_xticks((-1, 0, 1))
    axis.set_xlabel(label)
    axis.legend(loc="best", handlelength=1.2)


def normalised(analysis: Analysis) -> tuple[np.ndarray, np.ndarray]:
    """Costs of engine and program in units of the engine's range."""
    engine, program = (np.array(analysis.data[name], dtype=float) for name in ("engine", "program"))
    low, size = engine.min(), np.ptp(engine) or 1.0
    return (engine - low) / size, (program - low) / size


def steepest_line(engine: np.ndarray) -> tuple[int, int]:
    """Along which number of the action the engine's costs have their largest step, and at which value of the other."""
    steps = [np.abs(np.diff(engine, axis=axis)).max(axis=axis) for axis in (0, 1)]
    along = int(np.argmax([step.max() for step in steps]))
    return along, int(steps[along].argmax())


MOST_ERRORS = 3  # in a title; the table has all
LOOKS = {"oracle": {"color": BLUE, "linewidth": 3.5, "alpha": 0.6}, "tool": {"color": VERMILION, "linewidth": 1.3}}


def perception_figure(results: Results) -> Figure:
    """One row of pictures per place, with the errors of its audit above them."""
    audits = [analysis for analysis in results.analyses_of("audit") if analysis.pictures]
    if not audits:
        raise nothing(results, "audits", f"vpw analyse audit DOMAIN --results {results.out}")
    audits = by_domain(audits)
    columns = max(len(audit.pictures) for audit in audits)
    side = WIDTH_IN / columns
    drawn = Figure(figsize=(WIDTH_IN, (side + 0.35) * len(audits) + 0.4), layout="constrained")
    for part, audit in zip(drawn.subfigures(len(audits), 1, squeeze=False)[:, 0], audits, strict=True):
        errors = ", ".join(f"{name} {error:.2g}" for name, error in list(audit.data["rmse"].items())[:MOST_ERRORS])
        part.suptitle(f"{audit.title}: RMSE {errors}", x=0.01, ha="left", fontsize=10, fontweight="bold")
        axes = part.subplots(1, columns, squeeze=False)[0]
        for axis, name in zip(axes, audit.pictures, strict=False):
            _draw_perception(axis, audit, name)
        for axis in axes[len(audit.pictures) :]:
            axis.set_axis_off()
    drawn.legend(
        handles=[Line2D([], [], label=name, **look) for name, look in LOOKS.items()],
        loc="outside lower center",
        ncols=2,
    )
    return drawn


def _draw_perception(axis: Axes, audit: Analysis, name: str) -> None:
    picture = audit.pictures[name]
    axis.imshow(picture, interpolation="nearest")
    for path, look in LOOKS.items():
        for lines in audit.data["looks"][name][path].values():
            for line in lines:
                axis.plot(*np.array(line, dtype=float).T, **look)
    axis.set_xlim(-0.5, picture.shape[1] - 0.5)
    axis.set_ylim(picture.shape[0] - 0.5, -0.5)
    axis.set_axis_off()


MOST_LINES = 24
TEXT_COLUMNS, NOTE_COLUMNS = 100, 66  # of the excerpt, and of what stands beside the picture
FONT = {"family": "DejaVu Sans Mono", "fontsize": 7.6, "va": "top", "linespacing": 1.25}
LINE_IN, PICTURE_IN, TITLE_IN, GAP_IN, MARGIN_IN = 0.138, 2.0, 0.28, 0.12, 0.08


def programs_figure(results: Results) -> Figure:
    """One block per place: where things are and go, what the program predicted, and below what its `step` says."""
    analyses = [analysis for analysis in results.analyses_of("transition") if analysis.method == "vpw"]
    if not analyses:
        raise nothing(results, "transitions", f"vpw analyse transition DOMAIN --results {results.out}")
    analyses = by_domain(analyses)
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
    _draw_picture(
        drawn.add_axes((left, at(picture_in + PICTURE_IN), PICTURE_IN / width_in, PICTURE_IN / height_in)), analysis
    )
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
    """One transition in words: the state before, the action, and how what was predicted compares with what came."""
    names = [field["name"] for field in data["fields"]]

    def told(state: str) -> str:
        return ", ".join(
            f"{name} {value:.4g}" for name, value in zip(names, data[state], strict=True) if value is not None
        )

    rows = {
        "state": told("before"),
        "action": ", ".join(f"{value:.2g}" for value in data["action"]),
        "true": told("after"),
        "predicted": told("predicted"),
        "error": ", ".join(
            f"{name} {'not finite' if error is None else f'{error:.2g}'}" for name, error in data["error"].items()
        ),
    }
    lines = [
        textwrap.fill(f"{name:<10}{text}", NOTE_COLUMNS, subsequent_indent=" " * 10, break_long_words=False)
        for name, text in rows.items()
    ]
    return f"step {data['step']} of test episode {data['episode']}\n\n" + "\n".join(lines)


def _draw_picture(axis: Axes, analysis: Analysis) -> None:
    axis.imshow(analysis.pictures["before"], interpolation="nearest")
    for places in analysis.data["pixels"].values():
        for moment, look in (
            ("after", {"color": BLUE, "linewidth": 2.5}),
            ("predicted", {"color": VERMILION, "linewidth": 1.0}),
        ):
            if None not in (*places["before"], *places[moment]):
                axis.annotate(
                    "",
                    places[moment],
                    places["before"],
                    arrowprops={"arrowstyle": "->", "mutation_scale": 7, "shrinkA": 0, "shrinkB": 0, **look},
                )
    axis.set_axis_off()


FIGURES: dict[str, Callable[[Results], Figure]] = {
    "block-motion": block_motion_figure,
    "landscape": landscape_figure,
    "perception": perception_figure,
    "programs": programs_figure,
    "rollout-error": rollout_error_figure,
}
