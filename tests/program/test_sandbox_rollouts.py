"""A planner's view of a sandboxed program: it goes on, whatever the program does."""

import numpy as np
import pytest

from visualpatchworld.program import sandbox
from visualpatchworld.program.program import BadProgram, Program
from visualpatchworld.program.sandbox import Limits

HEAD = "from typing import NamedTuple\nclass State(NamedTuple):\n    x: float\n"
LOOPS = HEAD + "def step(state, action):\n    while state.x > 1: pass\n    return State(state.x + action[0])\n"
QUICK = Limits(wall_s=0.3, cpu_s=5)


def test_futures_are_what_the_program_says():
    with sandbox.sandboxed_rollouts(Program(LOOPS), ["x"], 1) as rollouts:
        states = rollouts(np.array([0.0]), np.full((2, 3, 1), -1.0))
    assert states[..., 0].tolist() == [[-1.0, -2.0, -3.0]] * 2


def test_a_stopped_program_gives_nan_and_starts_anew(monkeypatch: pytest.MonkeyPatch):
    made = []
    real = sandbox.Sandbox
    monkeypatch.setattr(sandbox, "Sandbox", lambda *args, **named: made.append(real(*args, **named)) or made[-1])
    with sandbox.sandboxed_rollouts(Program(LOOPS), ["x"], 1, QUICK) as rollouts:
        assert np.isnan(rollouts(np.array([5.0]), np.zeros((4, 2, 1)))).all()
        assert rollouts(np.array([0.5]), np.zeros((4, 2, 1))).tolist() == [[[0.5], [0.5]]] * 4
        assert len(made) == 2
        for _ in range(5):
            assert rollouts(np.array([5.0]), np.zeros((4, 2, 1))).shape == (4, 2, 1)
    assert len(made) == 3, "after three stops it is not tried again"
    assert all(sandbox._process is None for sandbox in made)


def test_a_program_that_does_not_load_is_refused():
    with (
        pytest.raises(BadProgram, match="not 'os'"),
        sandbox.sandboxed_rollouts(Program("import os\n" + HEAD), ["x"], 1),
    ):
        pass
