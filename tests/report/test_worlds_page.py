"""The page of worlds: every line of results has its place, and a
program that is not the measured one is not passed off as it.
"""

import json
import shutil
from pathlib import Path

import pytest

from visualpatchworld.paper.results import NoResults
from visualpatchworld.paper.tables import ABOUT_WORLDS
from visualpatchworld.report.overview import WORLDS, write_worlds

ROOT = Path(__file__).parents[2]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A pendulum and a log that were measured, a world that failed, and the pendulum's program."""
    folder = tmp_path / "results" / "worlds"
    folder.mkdir(parents=True)
    lines = [json.loads(line) for line in (ROOT / "results" / "worlds" / "worlds.jsonl").open(encoding="utf-8")]
    pendulum = next(line for line in lines if line["name"] == "Pendulum-v1")
    write(folder / "worlds.jsonl", pendulum, {"name": "Walker", "seed": 0, "ok": False, "failed": "Walker fell over."})
    shutil.copytree(ROOT / "programs" / "worlds" / "Pendulum-v1", tmp_path / "programs" / "worlds" / "Pendulum-v1")
    return folder.parent


def write(path: Path, *lines: dict) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def test_every_table_and_every_world_has_its_place(results: Path):
    written = write_worlds(results)
    assert written.path == results.parent / WORLDS
    text = written.path.read_text(encoding="utf-8")
    for name in (*(f"table-{name}" for name in ABOUT_WORLDS), "worlds-Pendulum-v1-0", "worlds-Walker-0"):
        assert text.count(f'<section id="{name}">') == text.count(f'<a href="#{name}">') == 1
    assert "Walker fell over." in text and 'class="nf">step' in text and "squares of the two add up to 1" in text
    assert any("benchmarks/noise.py" in said for said in written.missing)


def test_a_stretch_is_drawn_of_the_very_program_alone(results: Path):
    line = json.loads((results / "worlds" / "worlds.jsonl").read_text().splitlines()[0])
    kept = {"names": ["x0"], "steps": 3, "by_field": {}, "true": [[0.0], [1.0]], "imagined": [[0.0], [2.0]]}
    (results / "worlds" / "stretches").mkdir()
    path = results / "worlds" / "stretches" / f"{line['program_hash']}.json"
    path.write_text(json.dumps(kept))
    assert write_worlds(results).path.read_text(encoding="utf-8").count("<svg") == 1
    program = results.parent / "programs" / line["program"]
    program.write_text(program.read_text() + "# edited\n")
    written = write_worlds(results)
    assert any("not the program that was measured" in said for said in written.missing)
    assert "<svg" not in written.path.read_text(encoding="utf-8")


def test_damaged_lines_and_missing_programs_are_sentences(results: Path):
    shutil.rmtree(results.parent / "programs")
    assert any("world_model.py" in said for said in write_worlds(results).missing)
    line = json.loads((results / "worlds" / "worlds.jsonl").read_text().splitlines()[0])
    write(results / "worlds" / "worlds.jsonl", line | {"fields": "none"})
    assert any("damaged (fields" in said for said in write_worlds(results).missing)


def test_nothing_measured_is_one_sentence(tmp_path: Path):
    (tmp_path / "results").mkdir()
    with pytest.raises(NoResults, match="benchmarks/worlds"):
        write_worlds(tmp_path / "results")
