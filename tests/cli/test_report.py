"""`vpw report` as people and scripts use it."""

import json
import os
from pathlib import Path

import pytest
from cli.conftest import Vpw
from paper.made_results import add, share
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
    assert (
        json.loads(vpw("report", "--paper", "--results", "runs/bench", "--out", "b.html", "--json"))["report"]
        == "b.html"
    )
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


PARTS = ("world_model.py", "induction.json", "episodes.h5", "timings.json", "results/*.jsonl", "films/*.mp4")


def part(made: Path, name: str) -> Path:
    """A file of the run; a film is made, since a run without one is whole, too."""
    if name.startswith("films"):
        (made / "films").mkdir()
        cell = next((made / "results").glob("*vpw*.jsonl")).read_text().splitlines()[0]
        known = json.loads(cell)["cell"]
        film = (
            made
            / "films"
            / f"{known['domain']}-{known['method']}-{known['observe']}-{known['score']}-{known['seed']}-task0.mp4"
        )
        film.write_bytes(b"a film")
        return film
    return next(made.glob(name))


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("way", ["a link", "a pipe", "a device", "a circle", "a folder"])
def test_nothing_but_plain_files_of_the_folder_is_read(vpw: Vpw, made: Path, tmp_path: Path, name: str, way: str):
    path = part(made, name)
    kept = path.read_bytes()
    path.unlink()
    if way == "a link":
        outside = tmp_path / f"outside{path.suffix}"
        outside.write_bytes(kept)
        path.symlink_to(outside)
    elif way == "a pipe":
        os.mkfifo(path)
    elif way == "a folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero" if way == "a device" else path.name)
    told = " ".join(json.loads(vpw("report", "made", "--json"))["missing"])
    if name not in ("timings.json", "films/*.mp4"):
        assert path.name in told and ("is not read" in told or "cannot be read" in told)
    if name.startswith("films"):
        assert "data:video/mp4" not in (made / "report.html").read_text()


def test_a_film_of_the_folder_is_shown(vpw: Vpw, made: Path):
    part(made, "films/*.mp4")
    vpw("report", "made")
    assert "data:video/mp4" in (made / "report.html").read_text()


@pytest.mark.parametrize("name", ["results", "films"])
def test_a_folder_that_leads_out_is_not_followed(vpw: Vpw, made: Path, tmp_path: Path, name: str):
    path = part(made, f"{name}/*").parent
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    told = " ".join(json.loads(vpw("report", "made", "--json"))["missing"])
    assert "data:video/mp4" not in (made / "report.html").read_text()
    assert name == "films" or "leads out of the folder" in told


def test_a_program_of_many_megabytes_is_not_read(vpw: Vpw, made: Path):
    (made / "world_model.py").write_text("#" * 30_000_000)
    assert "world_model.py is not read: it has 30.0 MB" in " ".join(
        json.loads(vpw("report", "made", "--json"))["missing"]
    )


def test_a_link_in_the_way_of_the_page_is_not_written_through(vpw: Vpw, made: Path, tmp_path: Path):
    treasure = tmp_path / "treasure"
    treasure.write_text("whole")
    (made / "report.html").symlink_to(treasure)
    (made / f".report.html.{os.getpid()}.part").symlink_to(treasure)
    vpw("report", "made")
    assert treasure.read_text() == "whole" and not (made / "report.html").is_symlink()


@pytest.mark.parametrize("way", ["a link", "a pipe", "a folder"])
def test_results_of_the_paper_s_page_are_plain_files_too(vpw: Vpw, tmp_path: Path, way: str):
    add(tmp_path / "results", share(47, 50))
    path = tmp_path / "results" / ("more" if way == "a folder" else "more.jsonl")
    if way == "a pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/etc" if way == "a folder" else "/etc/passwd")
    assert f"{path.name} is not read" in vpw.refused("report", "--paper")
