"""The verbs take worlds that nobody told them of: an environment, and a log."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.conftest import Vpw
from draws import SEED

import visualpatchworld

PENDULUM = "Pendulum-v1"


@pytest.fixture(scope="module")
def induced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pendulum")
    done = [sys.executable, "-m", "visualpatchworld", "induce", PENDULUM, "--out", str(folder), "--seed", "3"]
    subprocess.run(done, check=True, capture_output=True)
    return folder


def told_by(vpw: Vpw, *arguments: object, code: int = 0) -> dict[str, Any]:
    """The JSON that a command prints."""
    stopped, out, err = vpw.run(*arguments, "--json")
    assert (stopped or 0) == code, err
    return json.loads(out)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A mass on a spring with constants drawn anew."""
    rng = np.random.default_rng(SEED)
    stiffness, loss, gain = rng.uniform((4.0, 0.1, 1.0), (16.0, 1.0, 5.0))
    observations, actions = np.zeros((6, 81, 2)), rng.uniform(-1, 1, (6, 80, 1))
    observations[:, 0] = rng.normal(size=(6, 2))
    for t in range(80):
        place, speed = observations[:, t].T
        speed = speed + 0.05 * (-stiffness * place - loss * speed + gain * actions[:, t, 0])
        observations[:, t + 1] = np.stack([place + 0.05 * speed, speed], axis=1)
    path = tmp_path_factory.mktemp("log") / "spring.npz"
    np.savez(path, observations=observations, actions=actions, names=np.array(["place", "speed"]))
    return path


def test_look_tells_what_the_fields_are(vpw: Vpw):
    told = told_by(vpw, "look", PENDULUM)
    assert [field["role"] for field in told["fields"]] == ["cos", "sin", "velocity"]
    assert told["dt"] == pytest.approx(0.05)
    assert all(field["evidence"] for field in told["fields"])


def test_an_environment_is_explained(induced: Path):
    record = json.loads((induced / "induction.json").read_text(encoding="utf-8"))
    assert record["verdict"] == "explained"
    assert record["env_steps"] <= 2000
    assert record["normalised_error"]["25"]["median"] < 1e-4
    assert record["reward"]["left"] < 1e-4
    assert "def reward(state, action, next_state):" in (induced / "world_model.py").read_text(encoding="utf-8")


def test_a_log_is_explained_and_its_program_rolls_out_along_it(vpw: Vpw, log: Path, tmp_path: Path):
    told = told_by(vpw, "induce", str(log), "--out", str(tmp_path))
    assert told["verdict"] == "explained" and told["env_steps"] == 0
    errors = told_by(vpw, "rollout", str(tmp_path / "world_model.py"), "--traces", str(log), "--horizon", "25")[
        "normalised_error"
    ]
    assert errors["25"]["median"] < 1e-3


def test_a_log_of_noise_is_unexplained_and_says_so(vpw: Vpw, tmp_path: Path):
    rng = np.random.default_rng(SEED)
    path = tmp_path / "noise.npz"
    np.savez(path, observations=rng.normal(size=(5, 61, 2)), actions=rng.normal(size=(5, 60, 1)))
    told = told_by(vpw, "induce", str(path), "--out", str(tmp_path / "out"), code=3)
    assert told["verdict"] == "unexplained" and told["why"]
    assert "EMPIRICAL" in (tmp_path / "out" / "world_model.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("world", ["Pendulm-v1", "dmc:cartpol/swingup", "nowhere.csv", "minari:none/such-v0"])
def test_what_is_no_world_is_told_in_a_sentence(vpw: Vpw, world: str, tmp_path: Path):
    sentence = vpw.refused("induce", world, "--out", str(tmp_path / "out"))
    assert world.removeprefix("dmc:").removeprefix("minari:") in sentence and "Traceback" not in sentence


def test_a_reward_is_planned_for_and_filmed_where_there_are_pictures(vpw: Vpw, induced: Path, tmp_path: Path):
    program = str(induced / "world_model.py")
    told = told_by(
        vpw,
        "plan",
        PENDULUM,
        "--program",
        program,
        "--task",
        "reward",
        "--episodes",
        "1",
        "--video",
        str(tmp_path / "films"),
    )
    assert Path(told["film"]).is_file() if "film" in told else "is not filmed" in told["not_filmed"]
    assert told["return_mean"] > told["random_return"]
    assert {"return_std", "n", "zero_return", "planner", "seconds_per_step_median", "env_steps"} <= set(told)


def test_an_environment_in_the_present_folder_is_found(vpw: Vpw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As someone would who writes an environment and types its name, `vpw` being a script of another folder."""
    (tmp_path / "mine_here.py").write_text(
        "import gymnasium as gym\n\n\nclass Mine(gym.Env):\n    pass\n\n\ngym.register('Mine-v0', entry_point=Mine)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [place for place in sys.path if place not in ("", str(tmp_path))])
    said = vpw.refused("look", "mine_here:Mine-v0")
    assert "Cannot import" not in said and "Mine-v0" in said
    assert sys.path[-1] == str(tmp_path)


def test_the_present_folder_is_searched_for_nothing_else(vpw: Vpw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A downloaded folder may hold files that are called like packages which are missing here."""
    for name in ("zstandard", "flatbuffers", "cython", "pyarrow", "h5py", "numpy", "not_installed"):
        (tmp_path / f"{name}.py").write_text("import os\nos._exit(77)\n")
    (tmp_path / "log.csv").write_text("x,action\n" + "".join(f"{i * i},{i % 2}\n" for i in range(40)))
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment["PYTHONPATH"] = str(Path(visualpatchworld.__file__).parents[1])
    # As the installed script starts; `python -m` has Python itself look here first, unless it is given -P.
    command = [sys.executable, "-P", "-m", "visualpatchworld", "look", "log.csv"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    monkeypatch.setattr("sys.path", [place for place in sys.path if place not in ("", str(tmp_path))])
    for world in ("log.csv", "dmc:cartpole/swingup", "minari:not/here-v0", "not_installed"):
        vpw.run("look", world)
        assert str(tmp_path) not in sys.path, world


@pytest.mark.parametrize("verb", [("live",), ("record", "--rerun", "x.rrd"), ("record", "--film", "x.mp4")])
def test_a_module_that_a_record_names_is_not_imported(verb: tuple[str, ...], vpw: Vpw, tmp_path: Path):
    (tmp_path / "evil_here.py").write_text("import os\nos._exit(77)\n")
    folder = tmp_path / "found"
    folder.mkdir()
    (folder / "world_model.py").write_text("def step(state, action): return state\n")
    (folder / "induction.json").write_text(json.dumps({"world": "evil_here:Env-v0"}))
    said = vpw.refused(verb[0], folder, *verb[1:])
    assert "give --world evil_here:Env-v0 if you trust it" in said


NO_PROGRAM = {
    "no State": ("def step(state, action):\n    return state\n", "defines no 'State'"),
    "a huge number": (f"X = 0x{'f' * 20_000}\ndef step(state, action): return state\n", "larger than any"),
    "a failing line": ("X = 1 / 0\ndef step(state, action): return state\n", "model.py:1: ZeroDivisionError"),
}


@pytest.mark.parametrize("name", NO_PROGRAM)
def test_what_is_no_program_is_told_in_a_sentence(name: str, vpw: Vpw, tmp_path: Path):
    text, told = NO_PROGRAM[name]
    (tmp_path / "model.py").write_text(text)
    (tmp_path / "log.csv").write_text("x,action\n" + "".join(f"{i * i},{i % 2}\n" for i in range(40)))
    for verb in (
        ("plan", PENDULUM, "--task", "reward", "--program", "model.py"),
        ("rollout", "model.py", "--traces", "log.csv"),
        ("live", "model.py", "--traces", "log.csv", "--port", 0),
    ):
        assert told in vpw.refused(*verb), verb
