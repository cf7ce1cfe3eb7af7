"""Tables of worlds and logs from lines made by hand: what they must say is known."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from visualpatchworld.paper.cell import BadResults
from visualpatchworld.paper.results import NoResults, read_results
from visualpatchworld.paper.table import FORMATS, Entry, Table
from visualpatchworld.paper.tables import make_table

IDS = ["worlds", "cwmb", "real"]


def spread(median: float | None, p90: float | None = None) -> dict[str, float | None]:
    return {"mean": median, "median": median, "p90": median if p90 is None else p90}


def world_line(name: str, **changes: Any) -> dict[str, Any]:
    line = {
        "name": name, "seed": 0, "ok": True, "horizon": 25, "lines": 54, "held_out_episodes": 23, "cpu_seconds": 1.1, "env_steps": 2000,
        "errors": {"1": spread(1e-7), "25": spread(3e-8, 2e-7)}, "networks": {"1": spread(0.03), "25": spread(0.15)},
        "sindy": {"1": spread(0.1), "25": spread(8.8e5), "terms": 56}, "form": "angle: field, drive", "verdict": "explained", "why": "so.",
        "constants": {"PULL": {"value": 15.0, "stderr": None, "unit": ""}},
    }  # fmt: skip
    return line | changes


def cwmb_line(name: str, counted: float, isclose: float) -> dict[str, Any]:
    scores = {"as_counted": counted, "isclose": isclose, "observation": 1.0}
    return {"name": name, "ok": True, "transitions": 1000, "trajectories": 10, "fitted": scores, "held_out": scores}


def real_line(name: str, log: str, rmse: Sequence[float | None], **changes: Any) -> dict[str, Any]:
    constants = {"PULL": {"value": 64.0, "stderr": 0.01, "unit": ""}}
    line = {
        "name": name,
        "log": log,
        "ok": True,
        "rmse": rmse,
        "unit": "rad",
        "form": "theta: field, dry",
        "constants": constants,
    }
    return line | {"cpu_seconds": 5.0, "test": "free simulation", "why": "windows leave little."} | changes


def write(folder: Path, **files: Sequence[Mapping[str, Any]]) -> Path:
    (folder / "results" / "worlds").mkdir(parents=True, exist_ok=True)
    for name, lines in files.items():
        (folder / "results" / "worlds" / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def made(name: str, folder: Path) -> Table:
    return make_table(name, read_results(folder))


def row(table: Table, label: str) -> dict[str, Entry]:
    entries = next(entries for section in table.sections for entries in section.rows if entries[0].text == label)
    return {column.heading: entry for column, entry in zip(table.columns, entries, strict=True)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(
        tmp_path,
        worlds=[
            world_line("CartPole-v1"),
            world_line(
                "Own-v0",
                horizon=16,
                verdict="valid-inside",
                why="not beyond 3.",
                errors={"1": spread(0.1), "16": spread(None)},
            ),
            {"name": "Hopper-v5", "seed": 0, "ok": False, "failed": "nothing moves"},
        ],
        plans=[
            {
                "name": "CartPole-v1",
                "seed": 0,
                "ok": True,
                "return_mean": 500.0,
                "return_std": 0.0,
                "n": 20,
                "random_return": 22.0,
                "zero_return": 9.5,
                "true_world_return": 499.0,
                "true_world_n": 2,
            }
        ],
        cwmb=[cwmb_line("CartPole-v1", 1.0, 1.0), cwmb_line("Pendulum-v1", 2 / 3, 1.0)],
        real=[
            real_line("real-pendulum", "pendulum", [0.0056, 0.0173]),
            real_line("real-ball", "ball_and_beam", [None], linear_rmse=0.127),
        ],
    )


def test_a_world_has_errors_rivals_and_returns(folder: Path):
    cartpole = row(made("worlds", folder), "CartPole-v1")
    assert (cartpole["25 steps"].text, cartpole["25 steps"].detail) == ("3e-08", "p90 2e-07")
    assert (cartpole["networks"].text, cartpole["PySINDy"].text) == ("0.15", "diverges")
    assert (cartpole["return"].text, cartpole["return"].detail) == ("500", "+- 0, n = 20")
    assert (cartpole["random"].text, cartpole["zero"].text, cartpole["constants"].text) == ("22", "9.5", "1")
    assert (cartpole["true world"].text, cartpole["true world"].detail) == ("499", "n = 2")
    assert cartpole["solved at (quoted)"].text == "475"
    assert (cartpole["networks' return"].text, cartpole["PySINDy's return"].text) == ("-", "-")


def test_rivals_show_what_they_earn_under_the_same_planner(tmp_path: Path):
    line = world_line(
        "CartPole-v1", networks_plan={"return_mean": 120.0, "n": 5}, sindy_plan={"return_mean": 31.0, "n": 5}
    )
    cartpole = row(made("worlds", write(tmp_path, worlds=[line])), "CartPole-v1")
    assert (cartpole["networks' return"].text, cartpole["networks' return"].detail) == ("120", "n = 5")
    assert cartpole["PySINDy's return"].text == "31"


def test_rivals_are_beside_the_program_from_the_same_starts(tmp_path: Path):
    line = world_line("CartPole-v1", networks_plan={"return_mean": 120.0, "n": 2})
    plan = {"name": "CartPole-v1", "seed": 0, "ok": True, "return_mean": 300.0, "returns": [500.0, 400.0, 0.0]}
    cartpole = row(made("worlds", write(tmp_path, worlds=[line], plans=[plan])), "CartPole-v1")
    assert cartpole["networks' return"].detail == "n = 2, the program's 450"


def test_failed_and_partial_worlds_stay_in_the_table(folder: Path):
    table = made("worlds", folder)
    assert row(table, "Hopper-v5")["verdict"].text == "failed"
    assert row(table, "Own-v0")["25 steps"].text == "diverges"
    told = "\n".join(table.notes)
    for fact in ("Hopper-v5: failed: nothing moves", "Own-v0: valid-inside: not beyond 3.", "those after 16", "--plan"):
        assert fact in told


def test_several_seeds_have_rows_of_their_own(tmp_path: Path):
    table = made(
        "worlds", write(tmp_path, worlds=[world_line("CartPole-v1"), world_line("CartPole-v1", seed=1, env_steps=900)])
    )
    assert row(table, "CartPole-v1, seed 1")["env steps"].text == "900"


def test_accuracy_is_averaged_over_what_was_measured(folder: Path):
    table = made("cwmb", folder)
    mean = row(table, "mean")
    assert (mean["as counted"].text, mean["as counted"].detail) == ("0.833", "of 2")
    assert (mean["isclose"].text, row(table, "Pendulum-v1")["as counted"].text) == ("1", "0.667")
    assert row(table, "Ant-v4")["isclose"].text == "-"
    assert row(table, "Pendulum-v1")["GIF-MCTS accuracy (quoted)"].text == "0.38"


def test_a_log_shows_every_held_out_piece(folder: Path):
    table = made("real", folder)
    assert row(table, "real-pendulum")["error"].text == "0.0056 / 0.0173"
    assert (row(table, "real-ball")["error"].text, row(table, "real-ball")["linear model"].text) == (
        "diverges",
        "0.127",
    )
    assert any("PULL = 64 +- 0.01" in note for note in table.notes)


@pytest.mark.parametrize("name", IDS)
def test_quoted_figures_are_marked(name: str, folder: Path):
    table = made(name, folder)
    assert any("not measured here" in note for note in table.notes)
    for section in table.sections:
        assert section.title.startswith("Quoted") == section.quoted
        for entries in section.rows:
            for column, entry in zip(table.columns[1:], entries[1:], strict=True):
                assert entry.quoted == (section.quoted or "(quoted)" in column.heading)
    for render in FORMATS.values():
        assert render(table, 100)


@pytest.mark.parametrize("name", IDS)
def test_without_lines_the_command_is_named(name: str, tmp_path: Path):
    (tmp_path / "results").mkdir()
    with pytest.raises(NoResults, match=rf"python benchmarks/{name}\.py"):
        made(name, tmp_path)


def test_a_line_that_was_cut_off_does_not_count_and_nonsense_is_refused(folder: Path):
    path = folder / "results" / "worlds" / "worlds.jsonl"
    path.write_text(path.read_text() + '{"name": "Pend')
    assert len(made("worlds", folder).sections[0].rows) == 3
    path.write_text("nonsense\n")
    with pytest.raises(BadResults, match="does not hold lines"):
        made("worlds", folder)


def test_noisy_steps_pool_their_seeds_and_say_how_often_errors_hold(tmp_path: Path):
    lines = [
        {
            "name": "Own",
            "part": 0.01,
            "seed": seed,
            "hidden": False,
            "verdict": verdict,
            "error": error,
            "expected": 0.002,
        }
        for seed, verdict, error in ((0, "explained", 0.001), (1, "unexplained", None), (2, "valid-inside", 0.003))
    ]
    write(tmp_path, noise=lines, coverage=[{"name": "Own", "part": 0.01, "trials": 100, "covered_95": 0.943}])
    table = made("noise", tmp_path)
    found = row(table, "Own")
    assert (found["seeds"].text, found["explained"].text, found["error"].text) == ("3", "2 of 3", "0.003")
    assert table.sections[1].rows[0][3].text == "94.3"


def test_a_sibling_of_the_wrong_form_is_marked(tmp_path: Path):
    with pytest.raises(NoResults, match="recovery"):
        made("siblings", write(tmp_path, worlds=[]))
    line = {"domain": "own", "vary": {"blocks": 2}, "sketch": "stacks", "right": False, "explained": 3, "probes": 4, "lines": 90,
            "error_of_radius": {"median": 0.0123}, "success": 98.0, "n": 50, "success_unsolved": 97.5, "n_unsolved": 40, "floor_zero": 2.0,
            "floor_random": None}  # fmt: skip
    (tmp_path / "results" / "siblings").mkdir()
    (tmp_path / "results" / "siblings" / "own.jsonl").write_text(json.dumps(line) + "\n")
    found = row(made("siblings", tmp_path), "own")
    assert (found["change"].text, found["form"].text) == ("blocks = 2", "stacks (another is right)")
    assert (found["success"].text, found["error of the success radius"].text, found["random floor"].text) == (
        "98",
        "0.012",
        "-",
    )
