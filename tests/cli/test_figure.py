"""`vpw figure` as people and scripts use it."""

import json
from pathlib import Path

import pytest
from cli.conftest import Vpw
from paper.made_results import add, share


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    add(tmp_path / "runs" / "bench" / "results", share(47, 50))
    return tmp_path / "runs" / "bench"


def test_a_figure_from_where_bench_leaves_results(vpw: Vpw, runs: Path):
    said = json.loads(vpw("figure", "success", "--json"))
    assert said["file"] == "success.png" and Path("success.png").read_bytes().startswith(b"\x89PNG")
    assert said["title"].startswith("Planning success")
    assert "other.svg" in vpw("figure", "success", "--results", runs / "results", "--out", "other.svg")
    assert Path("other.svg").read_text().startswith("<?xml")
    assert vpw("figure", "success", "--format", "svg", "--out", "third", "--json")
    assert Path("third").read_bytes() == Path("other.svg").read_bytes()
    assert "<dc:date>" not in Path("third").read_text()


def test_what_is_wrong_is_one_sentence_and_leaves_nothing(vpw: Vpw, runs: Path):
    assert vpw.refused("figure", "sucess").endswith("Did you mean 'success'?")
    assert vpw.refused("figure", "success", "--format", "pdf") == "No format 'pdf'. Found: png, svg."
    assert vpw.refused("figure", "success", "--out", "a.jpg").startswith("No format 'jpg'. Found: png, svg.")
    assert "`vpw analyse rollout DOMAIN --results runs/bench`" in vpw.refused("figure", "rollout-error")
    assert "`vpw bench main --out DIR`" in vpw.refused("figure", "success", "--results", "nowhere")
    assert "no folder" in vpw.refused("figure", "success", "--out", "nowhere/a.png")
    assert [path.name for path in Path().iterdir()] == ["runs"]
