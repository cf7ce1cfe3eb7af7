"""The page of a run in any world says what was found and, above all, what was not."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from visualpatchworld.errors import VpwError
from visualpatchworld.files import to_json
from visualpatchworld.report.recording import check
from visualpatchworld.report.run_page import write_report
from visualpatchworld.report.world import CHECK, PLAN, WorldRecord, WorldRun, is_world_run, undetermined
from visualpatchworld.world.open import open_world

PENDULUM = Path(__file__).parents[2] / "programs" / "worlds" / "Pendulum-v1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PENDULUM, tmp_path / "found"))


def record(**changes: Any) -> WorldRecord:
    return WorldRecord.model_validate(json.loads((PENDULUM / "induction.json").read_text()) | changes)


def test_half_a_run_has_a_page(folder: Path):
    written = write_report(folder)
    text = written.path.read_text(encoding="utf-8")
    assert len(written.missing) == 2 and "There is no check.json" in text
    for said in (
        "Pendulum-v1",
        "explained",
        "ANGLE_PULL",
        "semi-implicit",
        "squares of the two add up to 1",
        "no end was ever seen",
    ):
        assert said in text
    assert "One step." in text and 'class="nf">step' in text


def test_the_law_comes_first_and_is_typeset(folder: Path):
    text = write_report(folder).path.read_text(encoding="utf-8")
    order = [text.index(f'<section id="{name}">') for name in ("law", "errors", "program", "fields", "laws")]
    assert order == sorted(order)
    law = text[order[0] : order[1]]
    assert law.count('class="equation"') == 5 and "<mi>sin</mi>" in law and "2e-08" in law
    assert "semi-implicit Euler, DT = 0.05" in law


def test_the_front_of_rivals_is_a_table(folder: Path):
    path = folder / "induction.json"
    row = {"field": "x", "terms": 2, "bits": 36.0, "error": 1e-8, "equation": "x' = <b>v", "latex": "", "chosen": True}
    path.write_text(to_json(json.loads(path.read_text()) | {"rivals": [row]}))
    text = write_report(folder).path.read_text(encoding="utf-8")
    assert "the front of rivals" in text and "&lt;b&gt;v" in text and '<td class="num">36</td>' in text


def test_a_program_without_equations_has_a_sentence_in_their_place(folder: Path):
    path = folder / "world_model.py"
    path.write_text(
        path.read_text().replace("    angle = state.angle + DT * angle_speed\n", "    while True:\n        pass\n")
    )
    written = write_report(folder)
    text = written.path.read_text(encoding="utf-8")
    assert any("read the program itself" in said for said in written.missing)
    assert "read the program itself" in text and "ANGLE_PULL" in text


def test_the_page_of_a_whole_run(folder: Path):
    program = WorldRun(folder).program
    seen = check(program, open_world("Pendulum-v1"), ("x0", "x1", "x2"), seed=0)
    assert seen["steps"] > 100 and len(seen["true"]) == len(seen["imagined"])
    assert all(error < 1e-3 for row in seen["by_field"].values() for error in row.values())
    (folder / CHECK).write_text(to_json(seen))
    earned = {"return_mean": -150.5, "return_std": 2.0, "n": 2, "random_return": -1200.0, "zero_return": -1000.0}
    (folder / PLAN).write_text(
        to_json(earned | {"planner": "CEM", "seconds_per_step_median": 0.01, "returns": [-149.0, -152.0]})
    )
    written = write_report(folder)
    assert written.missing == ()
    text = written.path.read_text(encoding="utf-8")
    assert "-150.5" in text and "-1200" in text and text.count("<svg") == 4


def test_what_the_data_do_not_determine():
    loose = {
        "ANGLE_PULL": {"value": 15.0, "stderr": 9.0, "unit": ""},
        "ANGLE_GAIN": {"value": 3.0, "stderr": 1e-6, "unit": ""},
    }
    ends = {
        "thresholds": [{"expression": "abs(state.x)", "above": True, "value": 2.4, "bracket": [2.3, 2.5]}],
        "why": "seen 9 times",
    }
    rivals = [{"sketch": "one", "error": 1e-3}, {"sketch": "two", "error": 2e-3}, {"sketch": "three", "error": 1.0}]
    found = undetermined(
        record(constants=loose, terminated=ends, candidates=rivals), {"ANGLE_PULL": "field: sin(angle)"}
    )
    whole = "\n".join(f"{one.what} {one.experiment}" for one in found)
    assert "ANGLE_PULL" in whole and "sin(angle)" in whole and "ANGLE_GAIN" not in whole
    assert "between 2.3 and 2.5" in whole
    assert "two" in whole and "three" not in whole
    assert len(found) == 3


def test_a_damaged_record_is_one_sentence(folder: Path):
    assert is_world_run(folder)
    (folder / CHECK).write_text("{}")
    assert any("check.json is damaged" in said for said in write_report(folder).missing)
    (folder / "induction.json").write_text("[1]")
    assert not is_world_run(folder)
    with pytest.raises(VpwError, match="holds no run"):
        write_report(folder)


def test_what_comes_from_files_stays_text(folder: Path):
    told = json.loads((folder / "induction.json").read_text())
    (folder / "induction.json").write_text(
        json.dumps(told | {"world": "<script>alert(1)</script>", "why": "<img src=x>"})
    )
    text = write_report(folder).path.read_text(encoding="utf-8")
    assert "<script>alert" not in text and "<img src=x>" not in text
