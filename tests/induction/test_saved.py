"""What was found is written into a folder and read from there, without loading JAX or running the program."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import visualpatchworld as vpw
from visualpatchworld.induction.saved import BadFolder, equations_record
from visualpatchworld.program.program import Program

PENDULUM = Path(__file__).parents[2] / "programs" / "worlds" / "Pendulum-v1"


def test_a_folder_is_read(tmp_path: Path):
    shutil.copytree(PENDULUM, tmp_path / "found")
    saved = vpw.load(tmp_path / "found")
    assert saved.verdict == "explained" and "25-step error" in saved.why
    assert saved.program.fields == ("angle", "angle_speed")
    assert "angle" in saved.equations.rates
    (tmp_path / "found" / "world_model.py").write_text(saved.program.edited({"ANGLE_PULL": 10.0}).text)
    assert vpw.load(str(tmp_path / "found")).edited


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "holds no world_model.py"),
        ({"world_model.py": "x = 1"}, "Cannot read the record"),
        ({"world_model.py": "x = 1", "induction.json": "[1]"}, "not a JSON object"),
        ({"world_model.py": "x = 1", "induction.json": "{"}, "not a JSON object"),
    ],
)
def test_what_is_missing_or_damaged_is_named(tmp_path: Path, files: dict[str, str], said: str):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(BadFolder, match=said):
        vpw.load(tmp_path)


def test_a_folder_that_is_not_there():
    with pytest.raises(BadFolder, match="There is no folder"):
        vpw.load("nowhere")


def test_a_program_that_is_no_equation_has_none_in_the_record():
    assert equations_record(Program("def step(state, action):\n    return 1\n")) is None


def test_loading_and_simulating_do_without_jax():
    code = (
        "import sys, visualpatchworld as vpw;"
        f"saved = vpw.load({str(PENDULUM)!r}); saved.program.simulate([1.0, 0.0, 0.0], [[0.5]] * 3);"
        "str(saved.equations); sys.exit('jax' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
