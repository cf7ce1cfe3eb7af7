"""ODEBench's protocol on a system whose answers are known."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import odebench
import pytest
from lines import Lines
from scipy.integrate import solve_ivp

from visualpatchworld.errors import BadTrace
from visualpatchworld.program.program import Program

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "odebench.py"
RATE = 0.5
TIMES = np.linspace(0.0, 10.0, 512)
STEP = 10.0 / 511
DECAY = f"""
import numpy as np
from typing import NamedTuple

FACTOR = {np.exp(-RATE * STEP)!r}

class State(NamedTuple):
    x_0: float

def step(state, action):
    return State(FACTOR * state.x_0)
"""


def decay(number: int = 3) -> odebench.System:
    rows = np.array([[start * np.exp(-RATE * TIMES)] for start in (2.0, 5.0)]).transpose(0, 2, 1)
    return odebench.System(number, (f"-{RATE}*x_0",), TIMES, rows)


def right_law(system: odebench.System, *_: Any, **__: Any) -> odebench.Law:
    program = Program(DECAY)
    runs = [odebench.simulated(program, STEP, run[0], system.times) for run in system.rows]
    changes = np.array([odebench.predicted(program, probe, 1)[-1] - probe for probe in system.probes()])
    return odebench.Law(runs, changes, STEP, {"seconds": 0.1})


def test_the_true_law_is_found_right():
    line = odebench.measured(decay(), "clean", "vpw", right_law)
    assert line["r2_same"] == pytest.approx(1) and line["r2_other"] == pytest.approx(1)
    assert line["law_error"] < 1e-6


def test_a_wrong_law_is_told_by_the_other_start_and_by_its_changes():
    def standing(system: odebench.System, *_: Any, **__: Any) -> odebench.Law:
        found = right_law(system)
        return odebench.Law(
            [found.runs[0], np.full_like(found.runs[1], 5.0)], 0 * found.changes, STEP, {"seconds": 0.1}
        )

    line = odebench.measured(decay(), "clean", "vpw", standing)
    assert line["r2_same"] == pytest.approx(1)
    assert line["r2_other"] < 0
    assert line["law_error"] > 0.3


def test_r2_is_weighted_by_variance_and_none_of_what_diverges():
    true = np.array([[0.0, 0.0], [10.0, 1.0]])
    assert odebench.r2(true + np.array([0.0, 0.5]), true) == pytest.approx(1 - 0.5 / 50.5)
    assert odebench.r2(np.full((2, 2), np.inf), true) is None
    assert odebench.r2(np.full((2, 2), np.nan), true) is None


def test_noise_is_a_share_of_each_value_and_the_same_for_every_method():
    system = decay()
    times, rows = odebench.CONDITIONS["noise-5"].seen(system)
    again = odebench.CONDITIONS["noise-5"].seen(system)[1]
    assert np.array_equal(rows, again) and np.array_equal(times, TIMES)
    assert np.std(rows / system.rows[0] - 1) == pytest.approx(0.05, rel=0.15)
    assert not np.array_equal(rows, odebench.CONDITIONS["noise-5"].seen(decay(4))[1])


def test_dropped_rows_keep_their_times_and_the_first_row():
    times, rows = odebench.CONDITIONS["dropped"].seen(decay())
    assert times[0] == 0 and 200 < len(times) < 312
    assert np.ptp(np.diff(times)) > STEP / 2
    assert np.array_equal(rows, decay().rows[0][np.isin(TIMES, times)])


def test_a_program_with_a_longer_step_is_asked_at_the_times_of_the_data():
    slow = Program(
        DECAY.replace("FACTOR = ", "FACTOR = 1.0 * ").replace(repr(np.exp(-RATE * STEP)), repr(np.exp(-RATE * 0.05)))
    )
    given = odebench.simulated(slow, 0.05, np.array([2.0]), TIMES)
    assert np.allclose(given[:, 0], 2 * np.exp(-RATE * TIMES), atol=1e-6)


def test_a_method_without_a_law_has_a_line_that_says_why():
    def refuse(*_: Any, **__: Any) -> odebench.Law:
        raise odebench.NoLaw("the times are uneven")

    line = odebench.measured(decay(), "dropped", "vpw", refuse)
    assert (line["r2_same"], line["law_error"], line["failed"]) == (None, None, "the times are uneven")


def test_what_is_there_is_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    data = tmp_path / "data.json"
    data.write_text(json.dumps([as_json(decay(1)), as_json(decay(2))]))
    asked: list[int] = []

    def find(system: odebench.System, *_: Any, **__: Any) -> odebench.Law:
        asked.append(system.id)
        return right_law(system)

    monkeypatch.setattr(odebench, "found_by_vpw", find)
    given = ["odebench.py", "--data", str(data), "--conditions", "clean", "--results", str(tmp_path)]
    for further in (["--only", "2"], [], []):
        monkeypatch.setattr(sys, "argv", [*given, *further])
        odebench.main()
    assert asked == [2, 1]
    lines = Lines(tmp_path / "odebench" / "odebench.jsonl", ("id", "condition", "method")).read()
    assert [line["id"] for line in lines] == [2, 1]
    assert all({"date", "version", "commit"} <= set(line) for line in lines)


def as_json(system: odebench.System) -> dict[str, Any]:
    runs = [{"t": system.times.tolist(), "y": run.T.tolist()} for run in system.rows]
    return {"id": system.id, "substituted": [list(system.equations)], "solutions": [runs]}


def test_data_are_read_packed_and_plain(tmp_path: Path):
    text = json.dumps([as_json(decay())]).encode()
    for name, content in (("a.json", text), ("b.json.gz", gzip.compress(text))):
        (tmp_path / name).write_bytes(content)
        (system,) = odebench.read_systems(tmp_path / name)
        assert system.equations == decay().equations and np.array_equal(system.rows, decay().rows)


@pytest.mark.parametrize("equation", ["__import__('os')", "x_0.real", "(lambda: 1)()", "x_0 if 1 else 0", "open('x')"])
def test_an_equation_is_arithmetic_alone(equation: str):
    with pytest.raises(BadTrace, match="no equation"):
        odebench.System(1, (equation,), TIMES, decay().rows).rates()


@pytest.mark.parametrize("arguments", [[], ["--data", "nowhere.json"], ["--data", __file__]])
def test_without_data_one_sentence_says_where_they_are(arguments: list[str]):
    done = subprocess.run(
        [sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False, env=without_data()
    )
    assert done.returncode == 2
    assert "github.com/sdascoli/odeformer" in done.stderr and len(done.stderr.splitlines()) == 1


def without_data() -> dict[str, str]:
    paths = os.pathsep.join(sys.path)
    return {**{key: value for key, value in os.environ.items() if key != "VPW_ODEBENCH"}, "PYTHONPATH": paths}


def test_the_equations_of_the_data_make_its_trajectories(reference: Path):
    systems = odebench.read_systems(reference / "odebench" / "strogatz_extended.json.gz")
    assert len(systems) == 63
    for system in systems[::9]:
        rates = system.rates()
        for run in system.rows:
            end = system.times[50]  # so early that chaos does not tell yet
            done = solve_ivp(lambda _, x, law=rates: law(x), (0, end), run[0], rtol=1e-8, atol=1e-10)
            scale = np.abs(run[:51]).max(axis=0) + 1e-9
            assert np.all(np.abs(done.y[:, -1] - run[50]) < 1e-2 * scale), system.id
