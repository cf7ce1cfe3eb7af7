"""Open-loop errors from the command line, of a program that runs here and of one that runs in the sandbox."""

import json
from pathlib import Path

import pytest
from cli.conftest import Vpw
from toy_program import RIGHT, STATE

from visualpatchworld.program import sandbox


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "world_model.py"
    path.write_text(RIGHT.text)
    return path


def test_the_sandbox_measures_the_same_errors(vpw: Vpw, program: Path, toy_file: Path):
    program.write_text(RIGHT.text.replace("PUSH = 3.0", "PUSH = 2.0"))
    arguments = ("rollout", program, "--domain", "slider", "--traces", toy_file, "--horizon", 8, "--json")
    here, there = json.loads(vpw(*arguments)), json.loads(vpw(*arguments, "--sandbox"))
    assert there.pop("sandbox")["unanswered"] == 0
    found, wanted = there.pop("rollout_error"), here.pop("rollout_error")
    assert there == here and found.keys() == wanted.keys()
    for quantity, by_horizon in wanted.items():
        for steps, row in by_horizon.items():
            assert row["mean"] > 0 and found[quantity][steps] == pytest.approx(row, rel=1e-6)


def test_a_program_in_the_sandbox_never_runs_here(vpw: Vpw, program: Path, toy_file: Path, tmp_path: Path):
    trace = tmp_path / "trace.txt"
    program.write_text(f"open({str(trace)!r}, 'w').write('here')\n{RIGHT.text}")
    assert "may not use 'open'" in vpw.refused(
        "rollout", program, "--domain", "slider", "--traces", toy_file, "--sandbox"
    )
    assert not trace.exists()


def test_a_program_that_fails_in_the_sandbox_is_infinitely_far_off(vpw: Vpw, program: Path, toy_file: Path):
    program.write_text(
        STATE + "def step(state, action):\n    return State(1.0 if state.puck_x == 0.5 else 1.0 / 0.0, 0.0)\n"
    )
    said = vpw("rollout", program, "--domain", "slider", "--traces", toy_file, "--horizon", 8, "--sandbox")
    assert "inf" in said and "stopped" not in said


def test_a_machine_without_a_filter_is_refused_unless_someone_insists(
    vpw: Vpw, program: Path, toy_file: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sandbox, "FILTER", "a filter that no machine has")
    arguments = ("rollout", program, "--domain", "slider", "--traces", toy_file, "--horizon", 8, "--sandbox", "--json")
    assert "insist with --unfiltered" in vpw.refused(*arguments)
    assert json.loads(vpw(*arguments, "--unfiltered"))["sandbox"]["late"] == 0


@pytest.mark.parametrize(
    "verb", ["acquire", "analyse", "baseline", "bench", "edit", "live", "plan", "record", "report", "rollout", "run"]
)
def test_help_says_that_a_program_is_code_and_where_it_runs(vpw: Vpw, verb: str):
    said = " ".join(vpw(verb, "--help").split())
    assert "program is code" in said
    assert "in this process" in said or "nowhere but in the sandbox" in said
