"""The sandbox's process: its time, its seed, whose life it shares, and what is left of those that were killed."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from program.hostile import HEAD, at_import, in_step

from visualpatchworld.domain import load_domain
from visualpatchworld.program import sandbox_process
from visualpatchworld.program.program import BadProgram, Program, read_program
from visualpatchworld.program.sandbox import (
    INSIST,
    MOST_RESTARTS,
    Limits,
    NoSandbox,
    ProgramLate,
    Sandbox,
    sandboxed_rollouts,
)

FIELDS, ACTION_DIM = ("x", "v"), 2
STATES, ACTIONS = np.ones((2, 2)), np.zeros((2, ACTION_DIM))
HONEST = Program(at_import(""))
LOOPS = Program(in_step("while state.x > 1: pass"))
WITHOUT_FILTER = (
    "from visualpatchworld.program import sandbox_child; sandbox_child._filter_calls = lambda libc: False; "
)


@pytest.fixture
def no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has no system call filter."""
    changed = sandbox_process.CHILD.replace(
        "from visualpatchworld.program.sandbox_child", f"{WITHOUT_FILTER}from visualpatchworld.program.sandbox_child"
    )
    assert changed != sandbox_process.CHILD
    monkeypatch.setattr(sandbox_process, "CHILD", changed)
    monkeypatch.delenv(INSIST, raising=False)


@pytest.mark.usefixtures("no_filter")
def test_without_a_filter_it_does_not_start_unless_someone_insists(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(NoSandbox, match=r"seccomp.*--unfiltered or VPW_UNFILTERED=1"):
        Sandbox(HONEST, FIELDS, ACTION_DIM)
    with Sandbox(HONEST, FIELDS, ACTION_DIM, unfiltered=True) as sandbox:
        assert "system call filter" not in sandbox.protections
        assert sandbox.predict(STATES, ACTIONS).num_failed == 0
    monkeypatch.setenv(INSIST, "1")
    with sandboxed_rollouts(HONEST, FIELDS, ACTION_DIM) as rollouts:
        assert rollouts(STATES[0], np.zeros((3, 2, ACTION_DIM))).tolist() == np.ones((3, 2, 2)).tolist()


def test_all_calls_together_have_a_time_too():
    busy = Program(in_step("for i in range(300_000): state.x + i"))

    def ask_for_ever() -> None:
        with Sandbox(busy, FIELDS, ACTION_DIM, Limits(total_s=1.0)) as sandbox:
            while True:
                sandbox.predict(STATES, ACTIONS)

    with pytest.raises(ProgramLate, match="the 1 s that all its calls"):
        ask_for_ever()


def test_a_planner_s_time_is_counted_over_restarts():
    with sandboxed_rollouts(LOOPS, FIELDS, ACTION_DIM, Limits(wall_s=1.5, total_s=2.0)) as rollouts:
        for _ in range(MOST_RESTARTS + 1):
            assert np.isnan(rollouts(np.full(2, 2.0), np.zeros((1, 1, ACTION_DIM)))).all()
        assert rollouts.gave_up and len(rollouts.stops) < MOST_RESTARTS
        assert "the 2 s that all its calls may take" in rollouts.stops[-1]


def test_a_time_out_is_told_apart_from_numbers_that_are_not_finite():
    actions = np.zeros((2, 1, ACTION_DIM))
    not_finite = Program(in_step("return State(float('nan'), 0.0)"))
    with sandboxed_rollouts(not_finite, FIELDS, ACTION_DIM) as rollouts:
        assert np.isnan(rollouts(STATES[0], actions)).any()
        assert rollouts.told() == {"late": 0, "failed": 0, "unanswered": 0, "gave_up": False, "first": None}
    with sandboxed_rollouts(LOOPS, FIELDS, ACTION_DIM, Limits(wall_s=1.0)) as rollouts:
        assert np.isnan(rollouts(np.full(2, 2.0), actions)).all()
        told = rollouts.told()
        assert (told["late"], told["failed"], told["unanswered"]) == (1, 0, 1)
        assert "did not finish within 1 s" in str(told["first"])


def test_sets_have_the_same_order_on_every_run():
    order = Program(
        at_import("").replace(
            "return state",
            "return State(float(list({'red', 'green', 'blue', 'white', 'black'}).index('red')), float(len('a')))",
        )
    )
    found = set()
    for _ in range(4):
        with Sandbox(order, FIELDS, ACTION_DIM) as sandbox:
            found.add(sandbox.predict(STATES[:1], ACTIONS[:1]).states.tobytes())
    assert len(found) == 1


def test_it_outlives_the_thread_that_made_it():
    made: list[Sandbox] = []
    thread = threading.Thread(target=lambda: made.append(Sandbox(HONEST, FIELDS, ACTION_DIM)))
    thread.start()
    thread.join()
    time.sleep(0.1)  # in which the kernel would have ended it
    with made[0] as sandbox:
        assert "ends with its parent" in sandbox.protections
        assert sandbox.predict(STATES, ACTIONS).num_failed == 0


HOLDS = """
import sys, time
from visualpatchworld.program.program import Program
from visualpatchworld.program.sandbox import Sandbox
sandbox = Sandbox(Program(sys.argv[1]), ("x", "v"), 2)
print(sandbox._process._process.pid, flush=True)
time.sleep(60)
"""


def test_it_ends_when_this_process_is_killed():
    holder = subprocess.Popen([sys.executable, "-c", HOLDS, HONEST.text], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    with holder.stdout as said:
        child = int(said.readline())
        holder.kill()
        holder.wait()
    until = time.monotonic() + 30
    while (
        Path(f"/proc/{child}/stat").exists()
        and Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    ):
        assert time.monotonic() < until, "it lives on"
        time.sleep(0.02)


def test_folders_of_killed_processes_are_swept_and_others_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    names = {
        "left": f"vpw-sandbox-{gone.pid}-a",
        "used": f"vpw-sandbox-{os.getpid()}-b",
        "odd": "vpw-sandbox-x-y",
        "other": "mine",
    }
    for name in names.values():
        (tmp_path / name).mkdir()
    outside = tmp_path / "mine" / "kept"
    outside.touch()
    (tmp_path / f"vpw-sandbox-{gone.pid}-link").symlink_to(tmp_path / "mine")
    sandbox_process.sweep.cache_clear()
    with Sandbox(HONEST, FIELDS, ACTION_DIM):
        assert {path.name for path in tmp_path.iterdir() if not path.is_symlink()} == {
            names["used"],
            names["odd"],
            names["other"],
        }
    assert outside.exists()


def test_a_status_says_how_a_process_ended(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sandbox_process, "CHILD", f"import os; os.kill(os.getpid(), {int(signal.SIGSEGV)})")
    with pytest.raises(BadProgram, match="the program crashed and was stopped"):
        Sandbox(HONEST, FIELDS, ACTION_DIM)


def test_the_names_of_numbers_may_be_imported():
    text = (
        "from numpy import sin, linalg\nfrom jax.numpy import cos as c\nfrom math import "
        f"pi\n{HEAD}def step(state, action):\n"
    )
    text += "    return State(sin(state.x) + c(state.v) + pi, linalg.norm(np.array([state.x, state.v])))\n"
    with Sandbox(Program(text), FIELDS, ACTION_DIM) as sandbox:
        found = sandbox.predict(STATES, ACTIONS).states[0, 0]
    np.testing.assert_allclose(found, [np.sin(1) + np.cos(1) + np.pi, np.sqrt(2)])


def test_arrays_may_be_asked_for_and_annotated():
    text = f"{HEAD}def step(state: State, action: np.ndarray) -> State:\n    "
    text += (
        "return State(float(isinstance(action, np.ndarray)), float(type(action) is np.ndarray and "
        "type(state) is State))\n"
    )
    with Sandbox(Program(text), FIELDS, ACTION_DIM) as sandbox:
        assert sandbox.predict(STATES, ACTIONS).states.tolist() == [[[1.0, 1.0]] * 2]


def test_only_a_plain_file_of_a_sane_size_is_a_program(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "large.py").write_text("#" * 30_000_000)
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "bytes.py").write_bytes(b"\xff\xfe")
    reasons = {
        "pipe.py": "a pipe or a device",
        "large.py": "it has 30.0 MB",
        "folder.py": "a directory",
        "bytes.py": "not text",
    }
    for name, reason in {**reasons, "none.py": "No such file", "/dev/zero": "a pipe or a device"}.items():
        with pytest.raises(BadProgram, match=reason):
            read_program(tmp_path / name)


KEPT = ("gif-mcts-tworoom", "worldcoder-pusht", "poe-world-cube", "patchworld-reacher", "tworoom", "reacher")


@pytest.mark.parametrize("name", KEPT)
def test_programs_that_were_kept_run_as_they_do_here(name: str):
    path = Path(__file__).parents[2] / "programs" / name / "world_model.py"
    domain = load_domain(name.rpartition("-")[2])
    names, action_dim = domain.scene.state_space.names, domain.layout.action.width
    program = read_program(path)
    rng = np.random.default_rng(0)
    states, actions = rng.uniform(0.1, 0.9, (20, len(names))), rng.uniform(-1, 1, (20, action_dim))
    with Sandbox(program, names, action_dim) as sandbox:
        found = sandbox.predict(states, actions).states[0]
    here = program.bind("numpy")
    wanted = [
        here.step(here.State(*state), action.copy())[: len(names)]
        for state, action in zip(states.tolist(), actions, strict=True)
    ]
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, np.array(wanted, np.float64), rtol=1e-6, atol=1e-9)
