"""The examples run, stay short, and show what they say they show."""

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import test_domain_contract

from visualpatchworld.domain import Domain, load_domain

EXAMPLES = Path(__file__).parent.parent / "examples"
SCRIPTS = sorted([*EXAMPLES.glob("*.py"), EXAMPLES / "own_domain" / "puck.py"])
CONTRACT = [
    function
    for name, function in vars(test_domain_contract).items()
    if name.startswith("test_") and list(inspect.signature(function).parameters) == ["domain"]
]


@pytest.fixture(scope="module", autouse=True)
def compiled(tmp_path_factory: pytest.TempPathFactory):
    """What one example has compiled, the next one need not: most of them are about the same world."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path_factory.mktemp("compiled")))
        patch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        yield


def run(name: str, folder: Path, *options: str) -> str:
    """What an example prints, run as a reader would run it, from anywhere."""
    environment = {key: value for key, value in os.environ.items() if key != "VPW_DOMAINS"}
    command = [sys.executable, str(EXAMPLES / name), *options]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def share_explained(text: str, form: str) -> float:
    """How much of the probes a form explains, as the evidence tells it."""
    found = re.search(rf"^{re.escape(form)}: (\d+) of (\d+) probes", text, flags=re.MULTILINE)
    assert found is not None, text
    return int(found[1]) / int(found[2])


def percents(text: str) -> list[float]:
    return [float(value) for value in re.findall(r"success +([\d.]+) %", text)]


def test_each_is_short_and_tested_here():
    tests = Path(__file__).read_text(encoding="utf-8")
    for script in SCRIPTS:
        assert len(script.read_text(encoding="utf-8").splitlines()) < 80, script
        assert f'"{script.relative_to(EXAMPLES)}"' in tests, script


def test_any_environment(tmp_path: Path):
    said = run("any_environment.py", tmp_path)
    assert "explained" in said and "def reward(state, action, next_state):" in said
    found = re.search(r"planned return (-?\d+), random actions (-?\d+)", said)
    assert found is not None and float(found[1]) > float(found[2])


def test_own_environment(tmp_path: Path):
    said = run("own_environment.py", tmp_path)
    assert "Boat: explained" in said and re.search(r"np\.(hypot|sqrt)\(", said)  # its reward is a distance
    found = re.search(r"planned return (-?\d+), random actions (-?\d+)", said)
    assert found is not None and float(found[1]) > float(found[2])


def test_any_log(tmp_path: Path):
    said = run("any_log.py", tmp_path)
    assert "explained" in said and "spring of place" in said


def test_any_reward(tmp_path: Path):
    said = run("any_reward.py", tmp_path)
    assert "terminated(next_state)" in said
    planned, random = (
        float(value) for value in re.findall(r"as found: return (-?[\d.]+), random actions (-?[\d.]+)", said)[0]
    )
    assert planned > random


def test_induce_and_plan(tmp_path: Path):
    said = run("induce_and_plan.py", tmp_path)
    assert share_explained(said, "linear+border-and-wall") >= 0.9 and "def step(state, action):" in said
    assert percents(said)[0] >= 80


def test_an_edit_shows_in_rollouts_and_plans(tmp_path: Path):
    said = run("edit_a_program.py", tmp_path)
    errors = [float(value) for value in re.findall(r"after 25 steps +([\d.e+-]+) px", said)]
    assert errors[0] < 1e-3 < 1 < min(errors[1:])
    induced, _, through_walls = percents(said)
    assert induced > through_walls


def test_a_program_needs_no_package(tmp_path: Path):
    said = run("program_alone.py", tmp_path)
    nearest = re.search(r"within ([\d.]+) px", said)
    assert nearest is not None and float(nearest[1]) < 16


def test_a_log_ranks_the_forms(tmp_path: Path):
    said = run("from_a_log.py", tmp_path)
    ranked = re.findall(r"px after 25 steps: (\S+)", said)
    assert ranked[0] == "linear+border-and-wall" and len(ranked) == 3
    assert re.search(r"DOOR_MARGIN = .* not determined by the data", said)


def test_a_changed_world_needs_a_new_program(tmp_path: Path):
    said = run("changed_world.py", tmp_path)
    old, new = percents(said)
    assert new >= old + 30
    assert re.search(r"^  \w+ = .*\b170\.0\b", said, flags=re.MULTILINE)


def test_own_planner_arrives_in_both_worlds(tmp_path: Path):
    said = run("own_planner.py", tmp_path)
    distances = [float(value) for value in re.findall(r"world: ([\d.]+) px", said)]
    assert len(distances) == 2 and max(distances) < 16


def test_a_domain_of_ones_own_is_found_and_understood(tmp_path: Path):
    said = run("own_domain/puck.py", tmp_path)
    assert share_explained(said, "push+drag") >= 0.8
    found = re.search(r"DRAG = ([\d.]+)", said)
    assert found is not None and float(found[1]) == pytest.approx(0.6, rel=1e-2)
    assert percents(said)[0] >= 80


def test_a_policy_is_trained_in_a_program(tmp_path: Path):
    pytest.importorskip(
        "skrl.agents.jax.ppo", reason="This example has an environment of its own: pip install 'skrl[jax]'."
    )
    said = run("train_in_program/train.py", tmp_path, "--steps", "32")
    imagined, true, _ = (
        float(value) for value in re.findall(r"^return in the .*: (-?[\d.]+) ", said, flags=re.MULTILINE)
    )
    assert imagined == pytest.approx(true, rel=0.05)


def test_a_program_is_evaluated_by_stable_worldmodel(tmp_path: Path, reference: Path):
    pytest.importorskip(
        "stable_worldmodel", reason="This example has an environment of its own: pip install stable-worldmodel."
    )
    program = EXAMPLES.parent / "programs" / "pusht_demos" / "world_model.py"
    for by, wanted in (("zero", 0.0), ("policy", 100.0), ("icem", 100.0)):
        options = (
            "--program",
            str(program),
            "--traces",
            str(reference / "pusht_demos.h5"),
            "--by",
            by,
            "--episodes",
            "2",
        )
        found = json.loads(run("stable_worldmodel/evaluate.py", tmp_path, *options).splitlines()[-1])
        assert found["success"] == wanted


@pytest.fixture
def puck(monkeypatch: pytest.MonkeyPatch) -> Domain:
    monkeypatch.setenv("VPW_DOMAINS", str(EXAMPLES / "own_domain" / "puck.py"))
    from visualpatchworld.domain import register

    register()
    return load_domain("puck")


@pytest.mark.parametrize("holds", CONTRACT, ids=lambda function: function.__name__)
def test_a_domain_of_ones_own_keeps_the_contract(holds, puck: Domain):
    holds(puck)
