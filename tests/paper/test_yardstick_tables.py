"""Tables of drawn worlds and of ODEs from lines made by hand: what they must say is known."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from visualpatchworld.paper.results import NoResults, read_results
from visualpatchworld.paper.table import FORMATS, Entry, Table
from visualpatchworld.paper.tables import make_table

STAMP = {"version": "1.2.3", "commit": "abc", "date": "2026-01-01"}


def write(folder: Path, name: str, lines: Sequence[Mapping[str, Any]]) -> Path:
    (folder / "results" / name).mkdir(parents=True)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "results" / name / f"{name}.jsonl").write_text(text)
    return folder


def made(name: str, folder: Path) -> Table:
    return make_table(name, read_results(folder))


def row(table: Table, *labels: str) -> dict[str, Entry]:
    entries = next(
        entries
        for section in table.sections
        for entries in section.rows
        if tuple(entry.text for entry in entries[: len(labels)]) == labels
    )
    return {column.heading: entry for column, entry in zip(table.columns, entries, strict=True)}


def world(name: str, category: str, seconds: float, **changes: Any) -> dict[str, Any]:
    line = {"id": name, "level": name[:2], "tags": ["mover:point"], "category": category, "seconds": seconds, **STAMP}
    line |= {"false_explained": False, "crash": category == "crash", "verdict": "explained"}
    return line | changes


WORLDS = [
    world("L1-0", "exact", 5.0, reward_left=0.0, ends_caught=1.0, false_ends=0.0),
    world("L1-1", "poor", 30.0, false_explained=True, reward_left=0.5, tags=["mover:boat"]),
    world("L2-0", "crash", 7.0, ends_caught=None),
    world("L2-1", "good", 9.0, ends_caught=0.5, false_ends=None, reward_left=None),
]


def test_worlds_are_counted_by_level_and_by_primitive(tmp_path: Path):
    table = made("zoo", write(tmp_path, "zoo", WORLDS))
    first, every = row(table, "L1"), row(table, "all")
    assert (first["number"].text, first["exact"].text, first["poor"].text) == ("2", "1", "1")
    assert (every["crash"].text, every["good"].text, every["false explained"].text) == ("1", "1", "1")
    assert (every["reward"].text, every["end"].text, every["seconds, median"].text) == ("1", "1 of 2", "8")
    assert [entries[0].text for entries in table.sections[1].rows] == ["mover:boat", "mover:point"]  # the hardest first
    assert any("version 1.2.3, commit abc" in note for note in table.notes)


def system(number: int, same: float | None, other: float | None, **changes: Any) -> dict[str, Any]:
    line = {"id": number, "condition": "clean", "method": "vpw", "r2_same": same, "r2_other": other, **STAMP}
    return line | {"law_error": 0.5, "seconds": 2.0} | changes


SYSTEMS = [
    system(1, 0.9999, 0.95, law_error=1e-3),
    system(2, 0.95, -3.0, seconds=4.0),
    system(3, None, None, law_error=None, failed="no law", seconds=1.0),
    system(1, 0.5, 0.2, method="sindy", condition="noise-5"),
]


def test_systems_are_counted_by_condition_and_method(tmp_path: Path):
    table = made("odebench", write(tmp_path, "odebench", SYSTEMS))
    ours = {heading: entry.text for heading, entry in row(table, "noise-free", "vpw").items()}
    assert (ours["systems"], ours["same start, R2 > 0.9"], ours["other start, R2 > 0.9"]) == ("3", "2", "1")
    assert (ours["same start, R2 > 0.999"], ours["other start, R2 > 0.999"]) == ("1", "0")
    assert (ours["law within 1 %"], ours["failed"], ours["seconds, median"]) == ("1", "1", "2")
    assert row(table, "5 % noise", "PySINDy")["same start, R2 > 0.9"].text == "0"
    assert row(table, "noise-free", "PySINDy")["systems"].text == "-"


def test_published_figures_are_marked_as_quoted(tmp_path: Path):
    table = made("odebench", write(tmp_path, "odebench", SYSTEMS))
    quoted = row(table, "ODEFormer, R2 > 0.9")
    assert quoted["same start, R2 > 0.9"] == Entry("66.4 %", quoted=True)
    assert quoted["other start, R2 > 0.9"].text == "32.8 %"
    assert any("aggregator" in note for note in table.notes)
    for section in table.sections:
        assert section.title.startswith("Quoted") == section.quoted


@pytest.mark.parametrize(("name", "lines"), [("zoo", WORLDS), ("odebench", SYSTEMS)])
def test_every_format_can_show_them(name: str, lines: Sequence[Mapping[str, Any]], tmp_path: Path):
    table = made(name, write(tmp_path, name, lines))
    assert all(render(table, 100) for render in FORMATS.values())
    assert len(table.measured) == 4


@pytest.mark.parametrize(("name", "command"), [("zoo", "zoo.score"), ("odebench", "benchmarks/odebench.py")])
def test_without_lines_the_command_is_named(name: str, command: str, tmp_path: Path):
    (tmp_path / "results").mkdir()
    with pytest.raises(NoResults, match=command):
        made(name, tmp_path)
