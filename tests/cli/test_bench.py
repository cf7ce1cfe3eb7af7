"""`vpw bench`: suites from start to table, resumed, and honest about what they could not do."""

import io
import json
import shutil
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import toy_program
from cli.conftest import Vpw
from paper.baselines.conftest import CHATTER, RIGHT
from scripted_server import scripted

from visualpatchworld.cli import build_app
from visualpatchworld.errors import VpwError, WorkerFailed
from visualpatchworld.paper import jobs
from visualpatchworld.paper.suite import SUITES


@pytest.fixture
def out(tmp_path: Path, toy_file: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that has the toy's episodes already; a baseline's cell is three tasks."""
    monkeypatch.setitem(SUITES, "baselines", replace(SUITES["baselines"], tasks=3))
    monkeypatch.setattr(jobs, "run_job", here)
    (tmp_path / "bench" / "traces").mkdir(parents=True)
    shutil.copy(toy_file, tmp_path / "bench" / "traces" / "slider.h5")
    return tmp_path / "bench"


def here(command: Sequence[str], logs: Path, title: str) -> dict[str, Any]:
    """A job's command in this process, which has loaded everything already."""
    with redirect_stdout(io.StringIO()) as said:
        try:
            build_app()(list(command[3:]), standalone_mode=False)
        except VpwError as error:
            raise WorkerFailed(f"'{title}' failed: {error}") from error
    return json.loads(said.getvalue())


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_baselines_from_a_model_s_answers_to_the_table_and_again(vpw: Vpw, out: Path):
    arguments = (
        "bench",
        "baselines",
        "--out",
        out,
        "--domain",
        "slider",
        "--method",
        "worldcoder",
        "--method",
        "cwm-game",
        "--json",
    )
    with scripted([CHATTER, CHATTER, RIGHT]) as server:
        told = json.loads(vpw(*arguments, "--endpoint", server.url, "--model", "small", "--calls", 2))
        assert len(server.asked) == 3
    assert told["missing"] == []
    found = {cell["method"]: cell for cell in told["cells"]}
    assert found["worldcoder"]["success"] == 100
    assert (found["cwm-game"]["success"], found["cwm-game"]["program"]) == (0, None)
    assert {cell["written_by"] for cell in told["cells"]} == {"small, 2 calls"}
    table = vpw("table", "main", "--results", out)
    assert "Measured with small, 2 calls" in table and "0*" in table

    before = contents(out / "results")
    shutil.rmtree(out / "programs" / "cwm-game-slider")
    code, again, said = vpw.run(*arguments)
    assert code in (0, None)
    assert said == (
        "1 search is missing, and there is no language model to write the program; "
        "give --endpoint URL and --model NAME; going on with what is there.\n"
    )
    assert [cell["method"] for cell in json.loads(again)["cells"]] == ["worldcoder"]
    assert [sentence.split(": no")[0] for sentence in json.loads(again)["missing"]] == ["slider cwm-game"]
    assert contents(out / "results") == before


def test_a_job_is_only_started_for_a_cell_that_is_not_whole(vpw: Vpw, out: Path, monkeypatch: pytest.MonkeyPatch):
    program = out / "programs" / "slider" / "world_model.py"
    program.parent.mkdir(parents=True)
    program.write_text(toy_program.RIGHT.text)
    monkeypatch.setitem(SUITES, "smoke", replace(SUITES["smoke"], tasks=2))
    arguments = ("bench", "smoke", "--out", out, "--domain", "slider", "--json")
    first = json.loads(vpw(*arguments))
    started: list[str] = []

    def refuse(command: Sequence[str], logs: Path, title: str) -> dict[str, Any]:
        started.append(title)
        raise WorkerFailed("not now")

    monkeypatch.setattr(jobs, "run_job", refuse)
    assert json.loads(vpw(*arguments)) == first
    assert started == []
    (hybrid,) = (out / "results").glob("*-hybrid-*.jsonl")
    hybrid.write_text(hybrid.read_text().splitlines(keepends=True)[0])
    _, again, _ = vpw.run(*arguments)
    assert [cell["score"] for cell in json.loads(again)["cells"]] == ["induced"]
    assert started == ["slider: oracle + hybrid, seed 42"]
    program.write_text(f"{toy_program.RIGHT.text}\n# edited\n")
    vpw.run(*arguments)
    assert len(started) == 3


def test_what_fails_is_told_and_the_rest_is_done(vpw: Vpw, out: Path):
    for name, chosen in (("cwm-game", 7), ("worldcoder", None)):
        folder = out / "programs" / f"{name}-slider"
        folder.mkdir(parents=True)
        record = {"model": "small", "budget": {"calls": 1, "tokens": None}, "chosen": chosen, "candidates": []}
        (folder / "search.json").write_text(json.dumps(record))
    code, shown, said = vpw.run(
        "bench", "baselines", "--out", out, "--domain", "slider", "--method", "cwm-game", "--method", "worldcoder"
    )
    assert code == 2
    assert "worldcoder" in shown and "0* [0, 56]" in shown and "cwm-game: oracle" in shown
    assert said.startswith(
        "1 of the suite's jobs failed, the others are done; the first: 'slider cwm-game: oracle + induced, seed 42'"
    )
    assert "is no record of a search" in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("bench mian", "No suite 'mian'"),
        ("bench baselines --domain slidr", "No domain 'slidr'"),
        ("bench baselines --domain slider --method worldcode", "Did you mean 'worldcoder'?"),
        ("bench baselines --endpoint http://127.0.0.1:9/v1", "needs both --endpoint URL and --model NAME"),
        ("bench main --traces slider", "--traces takes DOMAIN=FILE.h5"),
    ],
)
def test_bad_input_gets_one_sentence(vpw: Vpw, arguments: str, sentence: str):
    assert sentence in vpw.refused(*arguments.split())
    assert not Path("runs").exists()


def test_help_lists_whatever_suites_there_are(vpw: Vpw):
    shown = " ".join(vpw("bench", "--help").replace("│", " ").split())
    assert f"One of {', '.join(SUITES)}." in shown
