"""A few kills of whole commands; `benchmarks/kills.py` makes a hundred."""

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "benchmarks"))

import kills  # pyright: ignore[reportMissingImports]


@pytest.mark.parametrize("job", [kills.COLLECT, kills.PLAN], ids=lambda job: job.name)
def test_a_killed_command_goes_on_and_loses_nothing(job: kills.Job):
    whole, seconds = kills.undisturbed(job)
    assert whole
    kills.kill_round(job, whole, seconds, kills=2, rng=random.Random(1))


def test_a_file_that_is_not_whole_is_noticed(tmp_path: Path):
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(ValueError, match="Expecting"):
        kills.check_whole(tmp_path)
    (tmp_path / ".b.h5.1.part").touch()
    assert [path.name for path in kills.left_behind(tmp_path)] == [".b.h5.1.part"]
