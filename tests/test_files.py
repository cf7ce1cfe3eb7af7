"""Files appear whole or not at all; JSON is written so that anyone can read it, and read so that it can be shown."""

import errno
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from visualpatchworld.errors import CannotWrite
from visualpatchworld.files import from_json, to_json, write_lines, write_text, writing


def test_a_written_file_is_whole_and_alone(tmp_path: Path):
    write_text(tmp_path / "a.txt", "one")
    write_lines(tmp_path / "a.txt", ["two\n", "three\n"])
    assert (tmp_path / "a.txt").read_text() == "two\nthree\n"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize(
    "failure", [KeyboardInterrupt(), ValueError("bug"), OSError(errno.ENOSPC, "No space left on device")]
)
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, failure: BaseException):
    target = tmp_path / "a.txt"
    target.write_text("old")

    def lines():
        yield "half"
        raise failure

    expected = CannotWrite if isinstance(failure, OSError) else type(failure)
    with pytest.raises(expected):
        write_lines(target, lines())
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize(("target", "message"), [("missing/a.txt", "there is no folder"), (".", "is not a file")])
def test_an_impossible_target_is_named_before_any_work(tmp_path: Path, target: str, message: str):
    with pytest.raises(CannotWrite, match=message), writing(tmp_path / target):
        pytest.fail("the work began")


def test_a_device_is_not_replaced():
    with pytest.raises(CannotWrite, match="is not a file"):
        write_text(Path("/dev/full"), "text")
    assert Path("/dev/full").is_char_device()


def test_what_a_killed_writer_left_is_swept(tmp_path: Path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left, others = tmp_path / f".a.txt.{gone.pid}.part", tmp_path / f".a.txt.{os.getppid()}.part"
    left.touch()
    others.touch()
    write_text(tmp_path / "a.txt", "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([others.name, "a.txt"])


def test_what_is_not_finite_becomes_null():
    value = {"a": [math.nan, -math.inf, 1.5], "b": (np.float64("inf"), np.int64(3), np.bool_(True)), 7: None}
    assert json.loads(to_json(value)) == {"a": [None, None, 1.5], "b": [None, 3, True], "7": None}
    assert from_json('{"a": NaN, "b": [Infinity, 1e999, 2]}') == {"a": None, "b": [None, None, 2]}


def test_half_of_a_character_is_spelled_out():
    assert json.loads(to_json({"path\udcff": "\udcff"})) == {"path\\udcff": "\\udcff"}


@pytest.mark.parametrize("text", ['{"a": "\\ud800"}', "[" * 100_000, "", "{", b"\xff", b"\x00"])
def test_what_can_not_be_read_is_a_value_error(text: str | bytes):
    with pytest.raises(ValueError, match=r".+"):
        from_json(text)


def test_a_number_without_end_is_read_as_one_that_can_be_calculated_with():
    assert from_json("[" + "1" * 5000 + ", 12345678901234567890]") == [None, pytest.approx(1.2345678901234567e19)]
