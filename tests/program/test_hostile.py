"""Hostile programs: whatever they try is answered with one
sentence, and nothing of them is left running or lying about.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from program import hostile

from visualpatchworld.program import sandbox as sandboxes
from visualpatchworld.program import sandbox_process
from visualpatchworld.program.program import BadProgram, Program
from visualpatchworld.program.sandbox import Limits, Sandbox
from visualpatchworld.program.sandbox_screen import screen

FIELDS, ACTION_DIM = ("x", "v"), 2
LIMITS = Limits(wall_s=20.0, cpu_s=10.0, memory_mb=512)
OWN_FOLDERS = f"{sandbox_process.FOLDER_PREFIX}{os.getpid()}-"
SHORT = Limits(wall_s=1.0, cpu_s=1.0, memory_mb=512)


def left_over() -> tuple[set[str], set[str]]:
    """Processes that this one has started, and folders of sandboxes."""
    running = {pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}
    return running, {name for name in os.listdir(tempfile.gettempdir()) if name.startswith(OWN_FOLDERS)}


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    before = left_over()
    yield
    assert left_over() == before
    assert not Path("/tmp/vpw_hostile").exists()


def refused(text: str, sentence: str, limits: Limits = LIMITS) -> None:
    with (
        pytest.raises(BadProgram, match=sentence) as said,
        Sandbox(Program(text), FIELDS, ACTION_DIM, limits) as sandbox,
    ):
        sandbox.predict(np.ones((2, 2)), np.zeros((2, ACTION_DIM)))
    check_sentence(str(said.value))


def check_sentence(said: str) -> None:
    assert said.isprintable() and len(said) < 500 and said.startswith("program:") and said.endswith(".")


@pytest.mark.parametrize("act", hostile.SCREENED)
def test_what_is_refused_on_sight(act: str):
    with pytest.raises(BadProgram, match=hostile.SCREENED[act]) as said:
        screen(Program(hostile.at_import(act)))
    check_sentence(str(said.value))


@pytest.mark.parametrize("act", hostile.RUN)
def test_what_fails_when_it_is_loaded(act: str):
    refused(hostile.at_import(act), hostile.RUN[act])


@pytest.mark.parametrize("act", hostile.IN_STEP)
def test_what_fails_in_a_step(act: str):
    refused(hostile.in_step(act), hostile.IN_STEP[act])


@pytest.mark.parametrize("act", hostile.SLOW)
def test_what_takes_too_long(act: str):
    refused(hostile.at_import(act), hostile.SLOW[act], SHORT)


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "victim"
    path.write_text("whole")
    return path


@pytest.mark.parametrize("act", hostile.LOCKED)
def test_what_the_kernel_refuses_once_the_screen_is_passed(act: str, victim: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sandboxes, "screen", lambda program: program)
    waits = "finish" in hostile.LOCKED[act]
    refused(
        hostile.at_import(f"VICTIM = {str(victim)!r}\n{hostile.REACH}{act}"),
        hostile.LOCKED[act],
        SHORT if waits else LIMITS,
    )
    assert victim.read_text() == "whole" and list(victim.parent.iterdir()) == [victim]


def test_there_are_enough_of_them():
    kinds = (hostile.SCREENED, hostile.RUN, hostile.IN_STEP, hostile.SLOW, hostile.LOCKED)
    assert len({text for kind in kinds for text in kind}) >= 250


# A child that is not ours, as if a program had taken it over: ready, loaded, then this answer to a roll of two states.
TAKEN_OVER = """
import json, os, sys, time
def say(line): os.write(1, (line + "\\n").encode("utf-8", "surrogatepass"))
say(json.dumps({{"protections": ["system call filter"]}})); sys.stdin.readline()
say("{{}}"); sys.stdin.readline()
{act}
time.sleep(60)
"""
ANSWERS = {
    "infinite": '{"failures": {}, "num_failed": Infinity, "num_together": 0}',
    "not a number": '{"failures": {}, "num_failed": NaN, "num_together": 0}',
    "a huge number": '{"failures": {}, "num_failed": 1' + "0" * 5_000 + ', "num_together": 0}',
    "too many failed": '{"failures": {}, "num_failed": 3, "num_together": 0}',
    "fewer than none": '{"failures": {}, "num_failed": -1, "num_together": 0}',
    "a fraction": '{"failures": {}, "num_failed": 1.0, "num_together": 0}',
    "a truth": '{"failures": {}, "num_failed": true, "num_together": 0}',
    "a text": '{"failures": {}, "num_failed": "1", "num_together": 0}',
    "too many together": '{"failures": {}, "num_failed": 0, "num_together": 3}',
    "nothing told": "{}",
    "failures in a list": '{"failures": [], "num_failed": 0, "num_together": 0}',
    "no such lane": '{"failures": {"2": "x"}, "num_failed": 1, "num_together": 0}',
    "lane below none": '{"failures": {"-1": "x"}, "num_failed": 1, "num_together": 0}',
    "lane in other digits": '{"failures": {"\\u0661": "x"}, "num_failed": 1, "num_together": 0}',
    "a sentence that is none": '{"failures": {"0": {}}, "num_failed": 1, "num_together": 0}',
    "more failures than failed": '{"failures": {"0": "x", "1": "y"}, "num_failed": 1, "num_together": 0}',
    "an error that is none": '{"error": 5}',
    "an error of infinite line": '{"error": "x", "line": Infinity}',
    "a line in a text": '{"error": "x", "line": "1"}',
    "a lone surrogate in bytes": '{"error": "\ud800"}',
    "nested": '{"failures": ' + "[" * 30_000,
    "a list": "[1]",
    "nothing": "",
}


def heard_from(act: str, monkeypatch: pytest.MonkeyPatch, limits: Limits = LIMITS) -> str:
    """The sentence that a taken-over child's doing ends in."""
    monkeypatch.setattr(sandbox_process, "CHILD", TAKEN_OVER.format(act=act).replace("{", "{{").replace("}", "}}"))
    with (
        Sandbox(Program(hostile.at_import("")), FIELDS, ACTION_DIM, limits) as sandbox,
        pytest.raises(BadProgram) as said,
    ):
        sandbox.predict(np.ones((2, 2)), np.zeros((2, ACTION_DIM)))
    check_sentence(str(said.value))
    return str(said.value)


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_are_believed_only_when_they_are_sound(name: str, monkeypatch: pytest.MonkeyPatch):
    assert "is no answer" in heard_from(f"say({ANSWERS[name]!r})", monkeypatch)


def test_numbers_that_never_come_are_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    sound = """say('{"failures": {}, "num_failed": 0, "num_together": 2}')"""
    assert "did not finish" in heard_from(sound, monkeypatch, SHORT)
    assert "closed the pipe" in heard_from(f"{sound}; os.close(1)", monkeypatch)
    assert "status 7" in heard_from(f"{sound}; os._exit(7)", monkeypatch)


def test_a_pipe_that_is_always_ready_does_not_stop_the_clock(monkeypatch: pytest.MonkeyPatch):
    drip = "while True:\n    time.sleep(0.01); os.write(1, b' ')"
    assert "did not finish within 1 s" in heard_from(drip, monkeypatch, SHORT)


def test_a_closed_pipe_is_an_end_whatever_the_process_goes_on_doing(monkeypatch: pytest.MonkeyPatch):
    assert "closed the pipe" in heard_from("os.close(1)", monkeypatch)
