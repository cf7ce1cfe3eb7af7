"""Planning from the command line, on the toy domain."""

import json
import os
from functools import partial
from pathlib import Path

import pytest
from cli.conftest import Vpw
from toy_program import RIGHT

from visualpatchworld.paper.jobs import Source
from visualpatchworld.paper.suite import cells, find_suite
from visualpatchworld.program import sandbox


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "world_model.py"
    path.write_text(RIGHT.text)
    return path


def test_plan_tells_success_with_what_is_needed_to_judge_it(vpw: Vpw, program: Path, toy_file: Path):
    arguments = ("plan", "slider", "--program", program, "--traces", toy_file, "--episodes", 4, "--offset", 10)
    told = json.loads(vpw(*arguments, "--json"))
    assert (told["success"], told["n"], told["engine_rollouts_per_plan"], told["budget"]) == (100, 4, 0, 20)
    assert told["floor_zero"] < 100
    assert told["program"] == str(program)
    assert {path.suffix for path in Path(told["results"]).iterdir()} == {".jsonl"}
    table = vpw(*arguments)
    assert "100.0 %" in table
    assert max(map(len, table.splitlines())) <= 80
    for needed in ("at_goal", "95 %", "zero actions", "random actions", "engine rollouts", "seed"):
        assert needed in table


def test_a_horizon_in_place_of_the_frozen_planner_s_makes_a_cell_of_its_own(vpw: Vpw, program: Path, toy_file: Path):
    arguments = (
        "plan",
        "slider",
        "--program",
        program,
        "--traces",
        toy_file,
        "--episodes",
        2,
        "--offset",
        10,
        "--json",
    )
    frozen, shorter = json.loads(vpw(*arguments)), json.loads(vpw(*arguments, "--horizon", 2))
    assert "5 steps ahead, 5 executed" in frozen["planner"] and "2 steps ahead, 2 executed" in shorter["planner"]
    assert len(list(Path(frozen["results"]).glob("*vpw*.jsonl"))) == 2


def test_the_commands_of_a_suite_run(vpw: Vpw, program: Path, toy_file: Path, tmp_path: Path):
    for job in cells(find_suite("smoke"), [Source("slider", toy_file, program)]):
        told = json.loads(vpw(*job.command(tmp_path / "results")[3:]))
        assert (told["observe"], told["score"], told["n"]) == (job.observe, job.score, 3)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("plan slider", "Scoring 'induced' needs --program FILE.py; `vpw induce slider` makes one."),
        ("plan slider --score hybrid", "Scoring 'hybrid' needs --program"),
        (
            "plan slider --program {program} --score inducd",
            "No way to score 'inducd'. Found: hybrid, induced, simulator, sparing. Did you mean",
        ),
        (
            "plan slider --program {program} --metric at_gaol",
            "No metric 'at_gaol'. Found: at_goal. Did you mean 'at_goal'?",
        ),
        ("plan slider --program nowhere.py", "Cannot read the program"),
        ("plan slider --program {program} --traces nowhere.h5", "There is no file 'nowhere.h5'"),
        (
            "plan slider --program {program} --traces {file} --episodes 500",
            "tasks with a goal 25 steps ahead, not 500; ask for fewer",
        ),
        ("plan slider --program {program} --traces {file} --offset 900", "hold 0 tasks with a goal 900 steps ahead"),
        ("plan slider --program {program} --results /dev/null/x", "Could not make the folder"),
        ("plan slidr --program {program}", "No world 'slidr'"),
        ("plan slider --program {program} --vary drog=1", "No constant 'drog'"),
        ("plan slider --program {program} --observe eyes", "'eyes' is not one of"),
    ],
)
def test_bad_input_gets_one_sentence(vpw: Vpw, program: Path, toy_file: Path, arguments: str, sentence: str):
    assert sentence in vpw.refused(*arguments.format(program=program, file=toy_file).split())


def test_a_models_program_plans_in_the_sandbox_and_never_here(vpw: Vpw, tmp_path: Path):
    text = """
from typing import NamedTuple
import math

class State(NamedTuple):
    puck_x: float
    puck_vx: float

def step(state, action):
    speed = state.puck_vx + 0.1 * (3.0 * float(action[0]) - 0.7 * state.puck_vx)
    return State(puck_x=state.puck_x + 0.1 * speed, puck_vx=speed)
"""
    program = tmp_path / "written.py"
    program.write_text(text)
    arguments = (
        "plan",
        "slider",
        "--program",
        program,
        "--sandbox",
        "--episodes",
        3,
        "--results",
        tmp_path / "results",
        "--json",
    )
    assert json.loads(vpw(*arguments))["n"] == 3
    trace = tmp_path / "trace.txt"
    program.write_text(f"open({str(trace)!r}, 'w').write('here')\n{text}")
    assert vpw.refused(*arguments)
    assert not trace.exists()
    assert "--video does not go with --sandbox" in vpw.refused(*arguments, "--video", tmp_path / "films")


WRITTEN = """
from typing import NamedTuple

class State(NamedTuple):
    puck_x: float
    puck_vx: float

def step(state, action):
    return state
"""


def searched(folder: Path, chosen: int | None) -> Path:
    """Where the program of a search would be, with the record of that search beside it."""
    folder.mkdir()
    record = {
        "model": "small",
        "budget": {"calls": 8, "tokens": None},
        "chosen": chosen,
        "candidates": [{"program": WRITTEN}],
    }
    (folder / "search.json").write_text(json.dumps(record))
    return folder / "world_model.py"


def kept(results: str, method: str) -> list[dict]:
    lines = [path.read_text().splitlines()[0] for path in sorted(Path(results).glob(f"*-{method}-*.jsonl"))]
    return [json.loads(line)["cell"] for line in lines]


def test_who_wrote_a_program_travels_into_its_cell(vpw: Vpw, toy_file: Path, tmp_path: Path):
    program = searched(tmp_path / "search", chosen=0)
    arguments = (
        "plan",
        "slider",
        "--program",
        program,
        "--sandbox",
        "--method",
        "rival",
        "--traces",
        toy_file,
        "--episodes",
        2,
        "--json",
    )
    program.write_text(WRITTEN)
    told = json.loads(vpw(*arguments))
    assert told["written_by"] == "small, 8 calls"
    assert [cell["written_by"] for cell in kept(told["results"], "rival")] == ["small, 8 calls"]
    assert [cell["written_by"] for cell in kept(told["results"], "zero")] == [""]
    program.write_text(f"{WRITTEN}\n# and more\n")
    assert json.loads(vpw(*arguments))["written_by"] == ""  # edited, it is not the model's any more


def test_a_search_without_a_program_fails_every_task(vpw: Vpw, toy_file: Path, tmp_path: Path):
    program = searched(tmp_path / "search", chosen=None)
    arguments = (
        "plan",
        "slider",
        "--program",
        program,
        "--sandbox",
        "--method",
        "rival",
        "--traces",
        toy_file,
        "--episodes",
        4,
        "--offset",
        1,
    )
    told = json.loads(vpw(*arguments, "--json"))
    assert (told["success"], told["n"], told["plans"], told["program"]) == (0, 4, 0, None)
    assert told["floor_zero"] == 100 and told["n_unsolved"] == 0  # so near a goal that others have nothing left to do
    (cell,) = kept(told["results"], "rival")
    assert (cell["program"], cell["written_by"]) == ("none", "small, 8 calls")
    assert "none that loads" in vpw(*arguments)


def test_what_the_sandbox_stopped_is_told_apart_from_plans_that_fail(
    vpw: Vpw, toy_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    quick = partial(sandbox.sandboxed_rollouts, limits=sandbox.Limits(wall_s=1.5))
    monkeypatch.setattr(sandbox, "sandboxed_rollouts", quick)
    program = tmp_path / "slow.py"
    arguments = ("plan", "slider", "--program", program, "--sandbox", "--traces", toy_file, "--episodes", 2)
    program.write_text(WRITTEN)
    assert json.loads(vpw(*arguments, "--json"))["sandbox"] == {
        "late": 0,
        "failed": 0,
        "unanswered": 0,
        "gave_up": False,
        "first": None,
    }
    program.write_text(WRITTEN.replace("return state", "while action[0] != 0: pass\n    return state"))
    said = vpw(*arguments)
    assert (
        "stopped in the sandbox" in said and "3 times for time, 0 times otherwise" in said and "not tried again" in said
    )


def test_a_machine_without_a_filter_is_refused_unless_someone_insists(
    vpw: Vpw, toy_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sandbox, "FILTER", "a filter that no machine has")
    program = tmp_path / "written.py"
    program.write_text(WRITTEN)
    arguments = ("plan", "slider", "--program", program, "--sandbox", "--traces", toy_file, "--episodes", 2, "--json")
    assert "insist with --unfiltered" in vpw.refused(*arguments)
    assert json.loads(vpw(*arguments, "--unfiltered"))["n"] == 2


@pytest.mark.parametrize("way", ["plain", "--sandbox"])
def test_what_is_no_program_is_not_waited_for(vpw: Vpw, tmp_path: Path, way: str):
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "large.py").write_text("#" * 30_000_000)
    more = [] if way == "plain" else [way]
    for name, reason in {
        tmp_path / "pipe.py": "a pipe or a device",
        "/dev/zero": "a pipe or a device",
        tmp_path / "large.py": "30.0 MB",
    }.items():
        assert reason in vpw.refused("plan", "slider", "--program", name, *more)
