"""Times of stages: kinds add up, and a file of them keeps what is not measured anew."""

import json
import time
from pathlib import Path

import pytest

from visualpatchworld.cli._verb import note_seconds, timed


def test_stages_of_one_kind_add_up(monkeypatch: pytest.MonkeyPatch):
    clock = iter([0.0, 1.0, 3.0, 6.0, 10.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    seconds: dict[str, float] = {}
    told: list[str] = []
    with timed(told.append, seconds) as stage:
        for what in ("probe: one", "probe: two", "fit: long windows"):
            stage(what)
    assert told == ["probe: one", "probe: two", "fit: long windows"]
    assert seconds == {"probe": 5.0, "fit": 4.0}


@pytest.mark.parametrize("before", ["", "[1]", "{"])
def test_a_damaged_file_is_begun_anew(tmp_path: Path, before: str):
    path = tmp_path / "timings.json"
    path.write_text(before)
    note_seconds(path, {"collect": 1.0})
    note_seconds(path, {"probe": 2.0, "fit": 3.0})
    note_seconds(path, {"collect": 4.0})
    assert json.loads(path.read_text()) == {"collect": 4.0, "probe": 2.0, "fit": 3.0}
