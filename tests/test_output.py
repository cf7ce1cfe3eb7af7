"""Files appear whole or not at all."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from visualpatchworld.errors import CannotWrite
from visualpatchworld.output import write_lines, write_text, writing


def test_a_written_file_is_whole_and_alone(tmp_path: Path):
    write_text(tmp_path / "a.txt", "one")
    write_lines(tmp_path / "a.txt", ["two\n", "three\n"])
    assert (tmp_path / "a.txt").read_text() == "two\nthree\n"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), ValueError("bug"), OSError(errno.ENOSPC, "No space left on device")])
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
