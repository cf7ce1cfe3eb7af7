"""`vpw report` as people and scripts use it."""

import json
from pathlib import Path

import pytest
from bench.made_results import add, share
from cli.conftest import Vpw
from report.made_run import make_run


@pytest.fixture
def made(tmp_path: Path) -> Path:
    return make_run(tmp_path / "made")


def test_the_page_of_a_run(vpw: Vpw, made: Path):
    said = json.loads(vpw("report", "made", "--json"))
    assert said == {"report": "made/report.html", "bytes": (made / "report.html").stat().st_size, "missing": []}
    assert vpw("report", "made") == "report: made/report.html\n"


def test_what_is_missing_is_said(vpw: Vpw, made: Path):
    (made / "episodes.h5").unlink()
    assert "There is no episodes.h5" in vpw("report", "made")
    assert len(json.loads(vpw("report", "made", "--json"))["missing"]) == 1


def test_the_page_of_the_paper_from_where_results_are(vpw: Vpw, tmp_path: Path):
    add(tmp_path / "runs" / "bench" / "results", share(47, 50))
    assert json.loads(vpw("report", "--paper", "--json"))["report"] == "runs/bench/report.html"
    add(tmp_path / "results", share(40, 50))
    assert json.loads(vpw("report", "--paper", "--json"))["report"] == "report.html"
    assert "80 <small>" in Path("report.html").read_text()
    assert json.loads(vpw("report", "--paper", "--results", "runs/bench", "--out", "b.html", "--json"))["report"] == "b.html"
    assert "94 <small>" in Path("b.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("report", "Say which run"),
        ("report made --paper", "Say which run"),
        ("report made --out x.html", "--results and --out go with --paper"),
        ("report nowhere", "There is no folder 'nowhere'"),
        ("report empty", "'empty' holds no run"),
        ("report --paper", "There are no results in 'runs/bench'"),
    ],
)
def test_bad_input_gets_one_sentence(vpw: Vpw, arguments: str, sentence: str):
    Path("empty").mkdir()
    assert sentence in vpw.refused(*arguments.split())
    assert not list(Path().rglob("*.html"))


def test_a_folder_that_cannot_be_written_to(vpw: Vpw, made: Path):
    (made / "report.html").mkdir()
    assert "is not a file" in vpw.refused("report", "made")
