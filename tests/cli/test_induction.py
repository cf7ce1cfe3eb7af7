"""Probing, inducing and rolling out from the command line, on the toy domain."""

import json
from pathlib import Path

import pytest
from cli.conftest import Vpw

from visualpatchworld.domain import Domain


@pytest.fixture
def induced(vpw: Vpw, tmp_path: Path) -> dict:
    return json.loads(vpw("induce", "slider", "--episodes", 10, "--out", tmp_path / "run", "--json"))


def test_probe_shows_the_evidence(vpw: Vpw):
    result = json.loads(vpw("probe", "slider", "--json"))
    assert result["sketch"] == "push+drag"
    assert result["choices"] == {"action": "push", "loss": "drag"}
    assert {"sketch", "explained", "probes", "simplicity"} <= set(result["candidates"][0])
    table = vpw("probe", "slider")
    assert "chosen" in table
    assert "refuted by" in table


def test_induce_writes_the_program_and_how_it_came_about(vpw: Vpw, induced: dict, tmp_path: Path):
    assert json.loads((tmp_path / "run" / "induction.json").read_text()) == induced
    wanted = {"domain", "sketch", "choices", "constants", "candidates", "rollout_error", "program", "seconds"}
    assert wanted <= set(induced)
    assert set(induced["constants"]["PUCK_DRAG"]) == {"value", "stderr", "unit"}
    text = Path(induced["program"]).read_text()
    assert text.startswith('"""Slider: an action changes the velocity; drag slows it down.')
    assert f"PUCK_DRAG = {induced['constants']['PUCK_DRAG']['value']!r}  # 1/s" in text
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["induction.json", "world_model.py"]


def test_a_varied_world_gives_a_varied_program(vpw: Vpw, induced: dict, tmp_path: Path):
    varied = json.loads(
        vpw("induce", "slider", "--episodes", 10, "--vary", "drag=1.4", "--out", tmp_path / "other", "--json")
    )
    assert varied["constants"]["PUCK_DRAG"]["value"] == pytest.approx(
        2 * induced["constants"]["PUCK_DRAG"]["value"], rel=1e-3
    )


def test_rollout_measures_emitted_and_edited_programs(vpw: Vpw, induced: dict, toy_file: Path, tmp_path: Path):
    arguments = ("--domain", "slider", "--traces", toy_file, "--horizon", 10, "--json")
    errors = json.loads(vpw("rollout", induced["program"], *arguments))["rollout_error"]["puck_m"]
    assert errors["10"]["median"] < 1e-5
    edited = tmp_path / "edited.py"
    edited.write_text(Path(induced["program"]).read_text().replace("push=PUCK_PUSH", "push=2.0 * PUCK_PUSH"))
    assert json.loads(vpw("rollout", edited, *arguments))["rollout_error"]["puck_m"]["10"]["median"] > 0.01
    edited.write_text(Path(induced["program"]).read_text().replace("push=PUCK_PUSH", "push=PUCK_PUSHH"))
    assert "NameError" in vpw.refused("rollout", edited, *arguments)


def test_a_named_sketch_is_fitted_without_probes(vpw: Vpw, tmp_path: Path):
    result = json.loads(
        vpw("induce", "slider", "--episodes", 5, "--sketch", "push+free", "--out", tmp_path / "run", "--json")
    )
    assert result["sketch"] == "push+free"
    assert result["candidates"] == []


def test_a_program_comes_from_pictures_alone(vpw: Vpw, tmp_path: Path, toy: Domain):
    result = json.loads(vpw("induce", "slider", "--view", "tool", "--episodes", 8, "--out", tmp_path / "run", "--json"))
    assert result["sketch"] == "push+drag"
    assert result["constants"]["PUCK_PUSH"]["value"] == pytest.approx(toy.constants.push, rel=0.1)  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("induce slider --sketch push+drug", "No sketch 'push+drug'"),
        ("induce slider --view vlm", "has no numbers to fit to"),
        ("induce slider --traces nowhere.h5", "There is no file 'nowhere.h5'"),
        ("induce slider --out /dev/null/run", "Could not make the folder"),
        ("rollout nowhere.py --domain slider --traces {file}", "Cannot read the program"),
        ("probe slider --vary drog=1", "No constant 'drog'"),
    ],
)
def test_bad_input_gets_one_sentence(vpw: Vpw, toy_file: Path, arguments: str, sentence: str):
    assert sentence in vpw.refused(*arguments.format(file=toy_file).split())
    assert not list(Path().rglob("world_model.py*"))


def test_too_long_a_horizon_gets_one_sentence(vpw: Vpw, induced: dict, toy_file: Path):
    refusal = vpw.refused("rollout", induced["program"], "--domain", "slider", "--traces", toy_file, "--horizon", 400)
    assert "No episode of" in refusal
