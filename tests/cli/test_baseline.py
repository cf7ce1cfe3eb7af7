"""`vpw baseline`: from answers to a program and a record of the search, live, resumed and replayed."""

import json
from pathlib import Path

import pytest
from cli.conftest import Vpw
from paper.baselines.conftest import BROKEN, CHATTER, NO_DRAG, RIGHT, STAYS
from scripted_server import scripted

FILES = ("search.json", "world_model.py")


def arguments(toy_file: Path, out: Path, *more: object) -> list[object]:
    return ["slider", "--model", "scripted", "--traces", toy_file, "--out", out, "--json", *more]


@pytest.mark.parametrize("method", ["patchworld", "gif-mcts"])
def test_a_run_is_recorded_and_replays_byte_for_byte(method: str, vpw: Vpw, toy_file: Path, tmp_path: Path):
    with scripted([CHATTER, BROKEN, STAYS, NO_DRAG, RIGHT]) as server:
        told = json.loads(
            vpw("baseline", method, *arguments(toy_file, tmp_path / "live", "--endpoint", server.url, "--calls", 12))
        )
    assert told["score"] == 1.0
    search = json.loads((tmp_path / "live" / "search.json").read_text())
    assert len(search["candidates"]) == search["calls"] == told["calls"]
    assert {"index", "parent", "score", "calls", "program"} <= set(search["candidates"][0])
    assert search["tokens_answered"] == 5 * search["calls"]
    tape = tmp_path / "live" / "calls.jsonl"
    vpw("baseline", method, *arguments(toy_file, tmp_path / "again", "--replay", tape, "--calls", 12))
    for name in FILES:
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "live" / name).read_bytes()


def test_every_candidate_is_shown_with_its_parent_and_its_score(vpw: Vpw, toy_file: Path, tmp_path: Path):
    with scripted([STAYS, BROKEN, RIGHT]) as server:
        run = ["baseline", "worldcoder", *arguments(toy_file, tmp_path / "run", "--endpoint", server.url, "--calls", 3)]
        told = json.loads(vpw(*run))
        shown = vpw(*(part for part in run if part != "--json"))
    kept = json.loads((tmp_path / "run" / "search.json").read_text())["candidates"]
    assert [(row["index"], row["parent"], row["how"], row["score"]) for row in told["candidates"]] == [
        (row["index"], row["parent"], row["how"], row["score"]) for row in kept
    ]
    assert kept[0]["parent"] is None and len(kept) == 3
    for needed in ("What was tried", "chosen", "100.0 %", "not Python", "refine"):
        assert needed in shown


def test_an_interrupted_run_goes_on_from_its_recording(vpw: Vpw, toy_file: Path, tmp_path: Path):
    out = tmp_path / "run"
    with scripted([STAYS, 401]) as server:
        assert "HTTP 401" in vpw.refused(
            "baseline", "worldcoder", *arguments(toy_file, out, "--endpoint", server.url, "--calls", 3)
        )
    assert not (out / "search.json").exists()
    with scripted([RIGHT]) as server:
        told = json.loads(
            vpw("baseline", "worldcoder", *arguments(toy_file, out, "--endpoint", server.url, "--calls", 3))
        )
        assert len(server.asked) == 1
    assert (told["calls"], told["score"]) == (2, 1.0)


def test_where_nothing_loads_there_is_no_program(vpw: Vpw, toy_file: Path, tmp_path: Path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "world_model.py").write_text("of an earlier run")
    with scripted([CHATTER]) as server:
        more = ("--endpoint", server.url, "--calls", 2, "--price", 1.0, 2.0)
        told = json.loads(vpw("baseline", "cwm-game", *arguments(toy_file, tmp_path / "run", *more)))
    assert (told["chosen"], told["score"], told["program"], told["num_loadable"]) == (None, None, None, 0)
    assert told["cost"] == pytest.approx(2 * (10 * 1.0 + 5 * 2.0) / 1e6)
    assert not (tmp_path / "run" / "world_model.py").exists()


def test_bad_input_gets_a_sentence(vpw: Vpw, toy_file: Path, tmp_path: Path):
    run = arguments(toy_file, tmp_path / "run")
    assert "No baseline 'worldcode'" in vpw.refused("baseline", "worldcode", *run, "--endpoint", "http://127.0.0.1:9")
    assert "Say who answers" in vpw.refused("baseline", "worldcoder", *run)
    assert "is a URL" in vpw.refused("baseline", "worldcoder", *run, "--endpoint", "localhost")
    assert "Cannot read the recording" in vpw.refused("baseline", "worldcoder", *run, "--replay", tmp_path / "no.jsonl")
