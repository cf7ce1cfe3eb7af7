"""`vpw run` on the toy domain: from nothing to a plan, kept where
it belongs to the same settings, made anew where it does not.
"""

import json
import shutil
from pathlib import Path

import pytest
from cli.conftest import Vpw

SETTINGS = ("run", "slider", "--out", "made", "--episodes", 10, "--tasks", 4)
MADE = Path("made")
MADE_FILES = ["episodes.h5", "films", "induction.json", "report.html", "results", "timings.json", "world_model.py"]


def times() -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in MADE.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("first") / "made"


@pytest.fixture
def first(vpw: Vpw, store: Path) -> dict:
    """What a first run says and leaves; it runs once, and every test gets a copy."""
    if not store.exists():
        said = vpw(*SETTINGS, "--json")
        shutil.copytree(MADE, store)
        (store.parent / "said.json").write_text(said)
    else:
        shutil.copytree(store, MADE)
    return json.loads((store.parent / "said.json").read_text())


def test_everything_is_made_and_then_kept(vpw: Vpw, first: dict):
    assert first["induction"]["sketch"] == "push+drag"
    assert (first["planning"]["success"], first["planning"]["n"], first["edited"]) == (100, 4, False)
    assert sorted(path.name for path in MADE.iterdir()) == MADE_FILES
    assert {Path(path).suffix for path in first["films"]} == {".mp4", ".gif"}
    assert all(Path(path).is_file() for path in first["films"])
    assert Path(first["report"]) == MADE / "report.html"
    assert {"collect", "probe", "fit"} == set(json.loads((MADE / "timings.json").read_text()))
    before = times()
    told = vpw(*SETTINGS)
    kept = {name for name, time in times().items() if before[name] == time}
    assert {"episodes.h5", "world_model.py", "induction.json", "timings.json"} <= kept
    shown = (
        "chosen",
        "refuted by",
        "world_model.py",
        "100.0 %",
        "95 % interval",
        "floor, zero actions",
        "made/films",
        "made/report.html",
    )
    for needed in shown:
        assert needed in told
    assert max(map(len, told.splitlines())) <= 80


def test_every_stage_has_a_line(vpw: Vpw, first: dict):
    _, _, err = vpw.run(*SETTINGS)
    assert [line[:3] for line in err.splitlines()] == ["1/4", "2/4", "3/4", "4/4"]


def test_an_interrupted_run_goes_on_with_what_is_whole(vpw: Vpw, first: dict):
    text = (MADE / "world_model.py").read_text()
    results = next((MADE / "results").glob("*-vpw-*"))
    results.write_bytes(results.read_bytes()[:-5])
    (MADE / "episodes.h5").write_bytes((MADE / "episodes.h5").read_bytes()[:1000])
    again = json.loads(vpw(*SETTINGS, "--json"))
    assert (MADE / "world_model.py").read_text() == text
    assert again["planning"]["success"] == first["planning"]["success"]
    assert results.read_bytes().count(b"\n") == 4


def test_other_settings_make_another_program(vpw: Vpw, first: dict):
    varied = json.loads(vpw(*SETTINGS, "--vary", "drag=1.4", "--json"))
    drag = varied["induction"]["constants"]["PUCK_DRAG"]["value"]
    assert drag == pytest.approx(2 * first["induction"]["constants"]["PUCK_DRAG"]["value"], rel=1e-2)
    assert len(list((MADE / "results").glob("*-vpw-*"))) == 2


def test_a_program_edited_by_hand_is_kept_and_said_so(vpw: Vpw, first: dict):
    path = MADE / "world_model.py"
    path.write_text(path.read_text().replace("drag=PUCK_DRAG", "drag=0.0"))
    text = path.read_text()
    assert "edited since it was induced" in vpw(*SETTINGS)
    assert path.read_text() == text
    path.write_text("no program")
    assert "world_model.py:1: not Python" in vpw.refused(*SETTINGS)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("run slider --tasks 5000", "ask for fewer"),
        ("run slidr", "No world 'slidr'"),
        ("run slider --vary drog=1", "No constant 'drog'"),
        ("run slider --out /dev/null/x", "Could not make the folder"),
        ("run slider --episodes 2", "at least 3 episodes"),
    ],
)
def test_bad_input_gets_one_sentence(vpw: Vpw, arguments: str, sentence: str):
    assert sentence in vpw.refused(*arguments.split())
    assert not list(Path().rglob("world_model.py*"))
