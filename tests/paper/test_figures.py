"""Figures from results made by hand: they show the numbers of the files, and nothing that is not there."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from paper.made_results import add, add_analysis, add_floors, share
from report.made_run import induction
from toy_program import RIGHT

from visualpatchworld.errors import UnknownName
from visualpatchworld.paper.figures.analyses import excerpt, steepest_line
from visualpatchworld.paper.figures.draw import find_figures, make_figure, write_figure
from visualpatchworld.paper.figures.planning import EXPLAINED, NOT_TRIED, REFUTED
from visualpatchworld.paper.results import NoResults, read_results

IDS = ["block-motion", "evidence", "landscape", "multiseed", "perception", "programs", "rollout-error", "success"]
PICTURE = np.full((224, 224, 3), 200, np.uint8)
ERRORS = {"mean": [0.1, 0.2, None], "median": [0.0, 0.15, 0.3], "p90": [0.2, 0.3, 0.9]}
TRANSITION = {
    "episode": 2,
    "step": 7,
    "fields": [{"name": "puck_x", "unit": "m"}, {"name": "puck_vx", "unit": "m/s"}],
    "before": [0.0, 1.0],
    "after": [0.1, 0.9],
    "predicted": [0.12, None],
    "action": [0.5],
    "error": {"puck_m": 0.02},
    "pixels": {"puck": {"before": [10.0, 20.0], "after": [30.0, 20.0], "predicted": [32.0, 20.0]}},
    "graph": {},
    "program_text": RIGHT.text,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Something of everything."""
    results = tmp_path / "results"
    for seed in (42, 43):
        add(results, share(45 + seed % 2, 50), seed=seed)
        add_floors(results, share(5, 50), share(10, 50), seed=seed)
    add(results, share(11, 50), domain="pusht")
    add(results, share(25, 50), method="worldcoder", program="ccc", written_by="small, 8 calls")
    add_analysis(results, "rollout", {"horizon": 3, "rollout_error": {"puck_m": ERRORS}})
    add_analysis(
        results,
        "rollout",
        {"horizon": 3, "rollout_error": {"puck_m": {**ERRORS, "median": [1, 2, 3]}}},
        method="worldcoder",
    )
    motion = {
        "episode": 4,
        "true": [1.0, 2.0, 3.0],
        "predicted": [1.0, None, 2.5],
        "true_sum": 6,
        "predicted_sum": 3.5,
        "not_finite": 1,
    }
    add_analysis(results, "motion", {"motion": {"block_px": motion}}, domain="pusht")
    engine = np.add.outer(np.arange(3.0), 10.0 * (np.arange(3) > 1))
    landscape = {"action": [-1, 0, 1], "engine": engine.tolist(), "program": (engine / 2).tolist()}
    add_analysis(results, "smoothness", landscape)
    looks = {"0": {"tool": {"puck": [[[1, 2], [3, 4]]]}, "oracle": {"puck": [[[1, 2], [3, 5]]]}}}
    audit = {
        "rmse": {"puck_m": 0.012},
        "precision": 1.0,
        "recall": 1.0,
        "frames": 9,
        "seconds_per_frame": 0.01,
        "looks": looks,
    }
    add_analysis(results, "audit", audit, method="tool", pictures={"0": PICTURE})
    add_analysis(results, "transition", TRANSITION, pictures={"before": PICTURE, "after": PICTURE})
    asked = {"a": ("action", True), "b": ("loss", False)}
    verdicts = [
        {"probe": name, "asks": asks, "explained": right, "errors": {}} for name, (asks, right) in asked.items()
    ]
    candidates = [
        {"sketch": sketch, "explained": 1, "probes": 2, "constants": {}, "set_aside": None, "verdicts": tried}
        for sketch, tried in (("push+drag", verdicts), ("speed+free", []))
    ]
    (tmp_path / "programs" / "slider").mkdir(parents=True)
    (tmp_path / "programs" / "slider" / "induction.json").write_text(json.dumps(induction(candidates=candidates)))
    return results


def made(name: str, folder: Path) -> Figure:
    return make_figure(name, read_results(folder))


def panel(figure: Figure, title: str) -> Axes:
    return next(axis for axis in _axes(figure) if title in (axis.get_title(loc="left"), axis.get_title(loc="right")))


def _axes(figure: Any) -> list[Axes]:
    return [*figure.axes, *(axis for part in figure.subfigs for axis in part.axes if axis not in figure.axes)]


def lines(axis: Axes) -> dict[str, list[float]]:
    return {str(line.get_label()): list(np.asarray(line.get_ydata(), dtype=float)) for line in axis.get_lines()}


def test_every_figure_is_found_with_a_title_and_others_are_refused(tmp_path: Path):
    assert list(find_figures()) == IDS
    assert all(find_figures().values())
    with pytest.raises(UnknownName, match=r"No figure 'sucess'. Found: block-motion.* Did you mean 'success'\?"):
        made("sucess", tmp_path)


@pytest.mark.parametrize("name", IDS)
def test_a_figure_is_drawn_twice_with_the_same_bytes(name: str, folder: Path, tmp_path: Path):
    for layout, begins in (("svg", b"<?xml"), ("png", b"\x89PNG")):
        paths = [tmp_path / f"{i}.{layout}" for i in range(2)]
        for path in paths:
            write_figure(path, made(name, folder), layout)
        first, second = (path.read_bytes() for path in paths)
        assert first == second and first.startswith(begins)


@pytest.mark.parametrize("name", IDS)
def test_what_is_missing_is_one_sentence_with_the_command(name: str, tmp_path: Path):
    with pytest.raises(
        NoResults, match=r"There are no results of .*; `vpw (analyse|bench) .*--(results|out) .*` computes them\.$"
    ):
        made(name, tmp_path)


def test_rollout_lines_are_those_of_the_analyses(folder: Path):
    shown = lines(panel(made("rollout-error", folder), "Slider: puck_m"))
    mean = shown.pop("induced, mean")
    assert mean[:2] == ERRORS["mean"][:2] and np.isnan(mean[2])  # an infinite mean is not drawn
    assert shown == {
        "induced, median": ERRORS["median"], "induced, 90th percentile": ERRORS["p90"], "WorldCoder, median": [1, 2, 3],
    }  # fmt: skip


def test_a_legend_has_every_method_that_any_panel_shows(folder: Path):
    add_analysis(
        folder, "rollout", {"horizon": 3, "rollout_error": {"block_px": ERRORS}}, domain="pusht", method="poe-world"
    )
    (legend,) = made("rollout-error", folder).legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "PoE-World, median", "PoE-World, 90th percentile", "PoE-World, mean", "induced, median", "induced, 90th percentile",
        "induced, mean", "WorldCoder, median",
    ]  # fmt: skip


def test_motion_is_summed_and_what_is_not_finite_does_not_move(folder: Path):
    axis = panel(made("block-motion", folder), "PushT: block_px")
    assert lines(axis) == {"true": [1, 3, 6], "induced": [1, 1, 3.5]}
    assert axis.get_ylim()[1] < 2 * 6


def test_landscapes_are_in_units_of_the_engines_range(folder: Path):
    figure = made("landscape", folder)
    # The engine's costs are 0 to 2 plus a cliff of 10 where the second action passes its middle; the cut runs across
    # the cliff.
    assert steepest_line(np.add.outer(np.arange(3.0), 10.0 * (np.arange(3) > 1)))[0] == 1
    shown = lines(panel(figure, "cost, dashed line"))
    assert shown["engine"] == pytest.approx([0, 0, 10 / 12])
    assert shown["program"] == pytest.approx([0, 0, 5 / 12])
    pictures = [
        np.asarray(axis.images[0].get_array())
        for axis in (panel(figure, "engine, dark is cheap"), panel(figure, "program"))
    ]
    assert np.ptp(pictures[0]) == pytest.approx(1) and np.ptp(pictures[1]) == pytest.approx(0.5)


def test_success_bars_are_the_scores_with_intervals_and_floors(folder: Path):
    axis = panel(made("success", folder), "Slider")
    widths = [patch.get_width() for patch in axis.patches]  # pyright: ignore[reportAttributeAccessIssue]
    assert widths == [90, 50]  # ours and a rival's; the paper has no such domain, so nothing is quoted
    intervals = [np.ptp(bar.get_segments()[0][:, 0]) for bar in axis.collections]  # pyright: ignore[reportAttributeAccessIssue]
    assert intervals[0] == pytest.approx(95.7 - 78.6)  # Wilson's of 45 in 50
    floors = {line.get_xdata()[0] for line in axis.get_lines() if line.get_linestyle() in ("--", ":")}  # pyright: ignore
    assert floors == {10, 20}


def test_a_rivals_bars_say_who_wrote_its_programs(folder: Path):
    def told() -> tuple[list[str], list[str]]:
        figure = made("success", folder)
        ticks = [label.get_text() for label in panel(figure, "Slider").get_yticklabels()]
        return ticks[5:], [text.get_text() for text in figure.legends[0].get_texts()][4:]

    assert told() == (["WorldCoder"], ["code baselines: small, 8 calls"])
    add(folder, share(30, 50), method="worldcoder", program="ddd", written_by="large, 50 calls")
    assert told() == (
        ["WorldCoder (1)", "WorldCoder (2)"],
        ["code baselines (1): large, 50 calls", "code baselines (2): small, 8 calls"],
    )


def test_quoted_bars_are_hatched(folder: Path):
    axis = panel(made("success", folder), "PushT")
    hatched = {patch.get_hatch() is not None: patch.get_width() for patch in axis.patches if patch.get_width() == 22}  # pyright: ignore
    assert hatched == {False: 22, True: 22}  # 11 of 50, and the paper's 22


def test_seeds_are_dots_and_their_tasks_one_interval(folder: Path):
    axis = panel(made("multiseed", folder), "Oracle+Induced")
    points = [sorted(line.get_xdata()) for line in axis.get_lines()]  # pyright: ignore
    assert [90.0, 92.0] in points  # 45 and 46 of 50
    assert [91.0] in points
    assert [label.get_text() for label in axis.get_yticklabels()] == ["Slider"]  # one seed is not several


def test_evidence_tells_refuted_from_not_tried(folder: Path):
    axis = panel(made("evidence", folder), "Slider: 2 experiments, by what they ask")
    assert np.array_equal(axis.collections[0].get_array(), [[EXPLAINED, REFUTED], [NOT_TRIED, NOT_TRIED]])  # pyright: ignore
    assert [label.get_text() for label in axis.get_yticklabels()] == ["push + drag", "speed + free"]


def test_perception_draws_both_graphs_over_the_picture(folder: Path):
    figure = made("perception", folder)
    (axis,) = _axes(figure)
    assert np.array_equal(axis.images[0].get_array(), PICTURE)  # pyright: ignore
    assert [list(line.get_ydata()) for line in axis.get_lines()] == [[2, 5], [2, 4]]  # pyright: ignore
    assert "puck_m 0.012" in figure.subfigs[0].get_suptitle()


def test_programs_show_step_and_what_was_foreseen(folder: Path):
    said = "\n".join(text.get_text() for text in made("programs", folder).texts)
    assert "def step(state, action):" in said
    assert "predicted puck_x 0.12" in said and "puck_m 0.02" in said
    assert "step 7 of test episode 2" in said


def test_an_excerpt_ends_with_step_and_keeps_whole_functions():
    long = "\n".join(f"    x = {i}" for i in range(30))
    ending = "def second(x):\n    return x\n\n\ndef step(state, action):\n    return state\n"
    text = f"A = 1\n\n\ndef first(x):\n{long}\n    return x\n\n\n{ending}"
    assert excerpt(text) == "def second(x):\n    return x\n\ndef step(state, action):\n    return state"
