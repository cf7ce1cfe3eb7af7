"""`vpw record`: what is written is what happened and what the program predicts, for domains, environments and logs."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import toy_program
from cli.conftest import Vpw, vpw  # noqa: F401  a fixture

from visualpatchworld.films import imagined
from visualpatchworld.report.recording import Recorded, errors, truth_of
from visualpatchworld.world.trajectory import Trajectory

STEPS, DT, SPRING, DAMPING = 30, 0.1, 2.0, 0.3
OSCILLATOR = f"""from typing import NamedTuple

DT = {DT}  # s
SPRING = {SPRING}  # 1/s^2  +- 0.01  pull to the middle
DAMPING = {DAMPING}  # 1/s


class State(NamedTuple):
    place: float
    speed: float


def step(state, action):
    speed = state.speed + DT * (action[0] - SPRING * state.place - DAMPING * state.speed)
    return State(place=state.place + DT * speed, speed=speed)
"""


def oscillation(rng: np.random.Generator) -> Trajectory:
    actions = rng.uniform(-1, 1, (STEPS, 1))
    rows = [rng.uniform(-1, 1, 2)]
    for (push,) in actions:
        place, speed = rows[-1]
        speed = speed + DT * (push - SPRING * place - DAMPING * speed)
        rows.append(np.array([place + DT * speed, speed]))
    return Trajectory(np.array(rows), actions)


@pytest.fixture
def oscillator(tmp_path: Path) -> Path:
    """A folder with a program and, as its record says, the log that is its world."""
    runs = [oscillation(np.random.default_rng(i)) for i in range(2)]
    log = tmp_path / "log.npz"
    np.savez(
        log,
        observations=[run.observations for run in runs],
        actions=[run.actions for run in runs],
        names=["place", "speed"],
        dt=DT,
    )
    (tmp_path / "found").mkdir()
    (tmp_path / "found" / "world_model.py").write_text(OSCILLATOR)
    (tmp_path / "found" / "induction.json").write_text(json.dumps({"world": str(log)}))
    return tmp_path / "found"


def test_the_truth_of_an_environment_is_what_it_does_under_varied_actions():
    truth = truth_of("Pendulum-v1", None, episodes=2, seed=0)
    assert [len(run) for run in truth.episodes] == [200, 200]
    assert all(np.ptp(run.actions) > 0 and np.isfinite(run.observations).all() for run in truth.episodes)
    assert not np.array_equal(truth.episodes[0].observations, truth.episodes[1].observations)


@pytest.mark.parametrize("horizon", [1, 7, STEPS, 2 * STEPS])
def test_a_right_program_predicts_what_happened(horizon: int):
    run = oscillation(np.random.default_rng(3))
    program = toy_program.Program(OSCILLATOR)
    assert imagined(program, run, horizon) == pytest.approx(run.observations, abs=1e-12)


def test_a_wrong_program_begins_anew_from_the_truth():
    run = oscillation(np.random.default_rng(3))
    predicted = imagined(toy_program.Program(OSCILLATOR).edited({"SPRING": 2 * SPRING}), run, 10)
    for begun in (0, 10, 20):  # one step after it, only that step is wrong
        assert (predicted - run.observations)[begun + 1, 1] == pytest.approx(-DT * SPRING * run.observations[begun, 0])


def test_errors_take_the_short_way_round():
    truth = Recorded("a wheel", ("angle", "place"), (2 * np.pi, None), None, ())
    off = errors(truth, np.array([[0.1, 0.0]]), np.array([[2 * np.pi - 0.1, 7.0]]))
    assert off == pytest.approx(np.array([[-0.2, 7.0]]))


def test_a_log_is_recorded(vpw: Vpw, oscillator: Path):  # noqa: F811
    chunk = pytest.importorskip(
        "rerun.chunk", reason="A recording needs Rerun's library: pip install 'visualpatchworld[rerun]'."
    )
    told = json.loads(vpw("record", oscillator, "--rerun", "out.rrd", "--horizon", 10, "--json"))
    assert (told["episodes"], told["steps"]) == (2, 2 * STEPS)
    assert max(told["rms_error"].values()) < 1e-9
    found = {part.entity_path: part.to_record_batch().to_pydict() for part in chunk.RrdReader("out.rrd").stream()}
    seen = np.array(found["/episode_1/speed/true"]["Scalars:scalars"]).ravel()
    assert seen == pytest.approx(oscillation(np.random.default_rng(1)).observations[:, 1])
    assert np.array(found["/episode_1/speed/imagined"]["Scalars:scalars"]).ravel() == pytest.approx(seen)
    assert np.abs(np.array(found["/episode_0/place/error"]["Scalars:scalars"])).max() < 1e-9
    assert found["/constants/SPRING"]["Scalars:scalars"] == [[SPRING]]
    assert "pull to the middle" in str(found["/constants"]) and "def step" in str(found["/program"])
    assert len(found["/episode_0/action/0"]["seconds"]) == STEPS


def test_a_domain_is_recorded_with_pictures(vpw: Vpw, tmp_path: Path, toy_file: Path):  # noqa: F811
    chunk = pytest.importorskip(
        "rerun.chunk", reason="A recording needs Rerun's library: pip install 'visualpatchworld[rerun]'."
    )
    program = tmp_path / "toy.py"
    program.write_text(toy_program.RIGHT.text)
    options = ("--world", "slider", "--traces", toy_file, "--episodes", 1, "--pictures", "--json")
    told = json.loads(vpw("record", program, "--rerun", "out.rrd", *options))
    assert told["world"] == "slider" and max(told["rms_error"].values()) < 1e-6
    pictures = [
        part.num_rows
        for part in chunk.RrdReader("out.rrd").stream()
        if part.entity_path == "/episode_0/picture/imagined"
    ]
    assert sum(pictures) == told["steps"] + 1


def test_bad_input_is_one_sentence(vpw: Vpw, oscillator: Path, monkeypatch: pytest.MonkeyPatch):  # noqa: F811
    assert "There is no program" in vpw.refused("record", "nowhere", "--rerun", "out.rrd")
    (oscillator / "induction.json").rename(oscillator / "elsewhere.json")
    assert "--world WORLD or --traces LOG" in vpw.refused("record", oscillator, "--rerun", "out.rrd")
    monkeypatch.setitem(sys.modules, "rerun", None)
    log = oscillator.parent / "log.npz"
    assert "pip install 'visualpatchworld[rerun]'" in vpw.refused(
        "record", oscillator, "--traces", log, "--rerun", "out.rrd"
    )
    assert not Path("out.rrd").exists()
