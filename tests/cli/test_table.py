"""`vpw table` as people and scripts use it."""

import json
from pathlib import Path

import pytest
from cli.conftest import Vpw
from paper.made_results import add, share


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    add(tmp_path / "runs" / "bench" / "results", share(47, 50))
    return tmp_path / "runs" / "bench"


def test_a_table_from_where_bench_leaves_results(vpw: Vpw, runs: Path):
    assert "Oracle+Induced" in vpw("table", "main")
    assert vpw("table", "main", "--results", runs / "results", "--json") == vpw(
        "table", "main", "--results", runs, "--format", "json"
    )


def test_a_table_into_a_file(vpw: Vpw, runs: Path):
    assert vpw("table", "main", "--format", "markdown", "--out", "main.md") == ""
    assert Path("main.md").read_text() == vpw("table", "main", "--format", "markdown")
    assert "no folder" in vpw.refused("table", "main", "--out", "nowhere/main.md")


def test_what_is_wrong_is_one_sentence(vpw: Vpw, runs: Path):
    assert vpw.refused("table", "mian").endswith("Did you mean 'main'?")
    formats = "html, json, latex, markdown, text"
    assert vpw.refused("table", "main", "--format", "htm") == f"No format 'htm'. Found: {formats}. Did you mean 'html'?"
    assert vpw.refused("table", "main", "--results", "nowhere").startswith("There are no results in 'nowhere'")
    (runs / "results" / "broken.jsonl").write_text('{"cell": 1}\n')
    assert "broken.jsonl" in vpw.refused("table", "main")


def test_envs_need_no_results(vpw: Vpw):
    data = json.loads(vpw("table", "envs", "--json"))
    assert data["id"] == "envs" and data["sections"][0]["rows"]
