"""The sandbox: hostile programs are contained with one sentence
each, honest ones mean what Python says, alone and together.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from visualpatchworld.program import sandbox_process
from visualpatchworld.program.program import BadProgram, Program
from visualpatchworld.program.sandbox import Limits, Sandbox
from visualpatchworld.program.sandbox_process import FOLDER_PREFIX

FIELDS, ACTION_DIM = ("x", "v"), 2
HEAD = """from typing import NamedTuple
import math
import numpy as np
class State(NamedTuple):
    x: float
    v: float
"""
QUICK = Limits(wall_s=10.0, cpu_s=10.0, memory_mb=512)

# What a program does at import (TOP) or in a step (STEP), and the sentence it gets. None: it runs, and its answers are
# not numbers.
TOP = {
    "endless loop": ("while True: pass", "did not finish within|processor time"),
    "endless arithmetic": ("2 ** 10 ** 9", "did not finish within|processor time|MemoryError"),
    "memory bomb": ("x = [0] * 10 ** 10", "MemoryError"),
    "memory bomb in pieces": ("x = []\nwhile True: x.append('y' * 10 ** 6)", "MemoryError"),
    "memory bomb in numpy": ("x = np.ones((10 ** 6, 10 ** 4))", "Memory"),
    "fork bomb": ("import os\nwhile True: os.fork()", "not 'os'"),
    "subprocess": ("import subprocess\nsubprocess.run('id')", "not 'subprocess'"),
    "multiprocessing": ("from multiprocessing import Process", "not 'multiprocessing'"),
    "threads": ("import threading", "not 'threading'"),
    "network": ("import socket\nsocket.create_connection(('1.1.1.1', 80))", "not 'socket'"),
    "web": ("from urllib.request import urlopen", "not 'urllib.request'"),
    "environment": ("import os\nKEY = os.environ['HOME']", "not 'os'"),
    "file read": ("open('/etc/passwd').read()", "may not use 'open'"),
    "file write": ("open('/tmp/vpw_hostile', 'w').write('x')", "may not use 'open'"),
    "numpy read": ("np.load('/etc/passwd')", r"may not reach '\.load'"),
    "numpy text": ("np.genfromtxt('/etc/passwd')", "no attribute 'genfromtxt'"),
    "numpy write": ("np.zeros(3).tofile('/tmp/vpw_hostile')", r"may not reach '\.tofile'"),
    "ctypes": ("import ctypes", "not 'ctypes'"),
    "numpy's ctypes": ("np.zeros(3).ctypes", r"may not reach '\.ctypes'"),
    "sys through typing": ("import typing\ntyping.sys.modules", "no attribute 'sys'"),
    "sys import": ("import sys\nsys.exit(0)", "not 'sys'"),
    "parent's memory": ("from gc import get_objects", "not 'gc'"),
    "exec": ("exec('import os')", "may not use 'exec'"),
    "eval": ("eval('1')", "may not use 'eval'"),
    "compile": ("compile('1', '', 'eval')", "may not use 'compile'"),
    "__import__": ("__import__('os')", "may not use '__import__'"),
    "builtins": ("__builtins__['open']", "may not use '__builtins__'"),
    "subclasses": ("().__class__.__base__.__subclasses__()", r"may not reach '\.__\w+__'"),
    "getattr": ("getattr((), '_' + '_class_' + '_')", "may not use 'getattr'"),
    "format": ("'{0.real}'.format(1)", r"may not reach '\.format'"),
    "dunder in a text": ("NAME = '__class__'", "two underscores"),
    "frame": ("try:\n    1 / 0\nexcept Exception as e:\n    e.__traceback__.tb_frame", "may not reach"),
    "generator frame": ("g = (i for i in (1,))\ng.gi_frame", r"may not reach '\.gi_frame'"),
    "globals": ("globals()", "may not use 'globals'"),
    "metaclass": ("class A(metaclass=type): pass", "metaclass"),
    "monkey-patching numpy": ("np.sin = np.cos", "nothing outside may be changed"),
    "monkey-patching math": ("math.pi = 3", "nothing outside may be changed"),
    "deleting": ("del np.sin", "nothing outside may be changed"),
    "randomness": ("np.random.seed(1)", r"may not reach '\.random'"),
    "match patterns": ("match ():\n    case object(__class__=kind): pass", "match statements"),
    "a name for the builtins": ("import math as __builtins__", "may not use '__builtins__'"),
    "async": ("async def f(): pass", "async functions"),
    "exit": ("raise SystemExit", "NameError"),
    "deep nesting": ("x = " + "-" * 50_000 + "1", "not Python"),
    "giant text": ("x = '" + "y" * 100_000 + "'", "at most 60000 are read"),
    "giant number as text": ("x = str(10 ** 10_000)", "ValueError"),
    "not Python": ("def (", "not Python"),
    "null": ("x = '\0'", "not Python"),
}
STEP = {
    "endless step": ("while True: pass", "did not finish within|processor time"),
    "deep recursion": ("return step(state, action)", "RecursionError"),
    "memory in a step": ("return State(*([0.0] * 10 ** 10))", "MemoryError"),
    "wrong shape": ("return State(np.zeros(3), 0.0)", "array of shape"),
    "a tuple": ("return (1.0, 2.0)", "must return a State, not tuple"),
    "nothing": ("pass", "must return a State, not NoneType"),
    "a text": ("return State('a', 'b')", "a str, not a number"),
    "complex": ("return State((-1.0) ** 0.5, 0.0)", "a complex, not a number"),
    "giant output": ("print('x' * 10 ** 8)\n    return state", None),
    "NaN": ("return State(float('nan'), float('inf'))", None),
    "assigning to the state": ("state.x = 5.0\n    return state", "nothing outside may be changed"),
    "global counter": ("global N\n    return state", "global names that change"),
}


def hostile(name: str) -> tuple[str, str | None]:
    if name in TOP:
        text, sentence = TOP[name]
        return f"{HEAD}{text}\ndef step(state, action):\n    return state\n", sentence
    text, sentence = STEP[name]
    return f"{HEAD}def step(state, action):\n    {text}\n", sentence


def started() -> set[str]:
    """The processes that this one has started and that still are, ended but not collected ones among them."""
    return {pid for tasks in Path("/proc/self/task").iterdir() for pid in (tasks / "children").read_text().split()}


def sandboxes() -> set[str]:
    return {name for name in os.listdir(tempfile.gettempdir()) if name.startswith(f"{FOLDER_PREFIX}{os.getpid()}-")}


@pytest.mark.parametrize("name", [*TOP, *STEP])
def test_hostile_programs_are_contained(name: str):
    text, sentence = hostile(name)
    before, folders, np_sin, pi = started(), sandboxes(), np.sin, np.pi
    states, actions = np.ones((4, 2)), np.zeros((4, ACTION_DIM))
    limits = Limits(wall_s=0.5, cpu_s=1.0) if name.startswith("endless") else QUICK
    if sentence is None:
        with Sandbox(Program(text), FIELDS, ACTION_DIM, QUICK) as sandbox:
            assert sandbox.predict(states, actions).states.shape == (1, 4, 2)
    else:
        with (
            pytest.raises(BadProgram, match=sentence) as refused,
            Sandbox(Program(text), FIELDS, ACTION_DIM, limits) as sandbox,
        ):
            sandbox.predict(states, actions)
        said = str(refused.value)
        assert "\n" not in said and len(said) < 500 and said.startswith("program:")
    assert started() == before, "something was left running"
    assert sandboxes() == folders, "a folder was left behind"
    assert not Path("/tmp/vpw_hostile").exists()
    assert np.sin is np_sin and np.pi == pi


def test_there_are_enough_hostile_programs():
    assert len(TOP) + len(STEP) >= 40


BARE = """
import ctypes
class Bare:  # a machine that allows neither namespaces nor filters
    def __init__(self, *_, **__): pass
    def unshare(self, *_): return -1
    def prctl(self, *_): return -1
ctypes.CDLL = Bare
"""
INSIDE = """
import json, os, socket
from visualpatchworld.program.sandbox_child import lock
active = lock(512)
said = {}
def attempt(name, act):
    try:
        act()
        said[name] = "allowed"
    except BaseException as error:
        said[name] = type(error).__name__
attempt("read", lambda: open("/etc/passwd"))
attempt("write", lambda: open("/tmp/vpw_hostile", "w"))
attempt("socket", lambda: socket.socket())
attempt("memory", lambda: bytearray(10 ** 9))
attempt("fork", lambda: os._exit(0) if os.fork() == 0 else None)
attempt("kill", lambda: os.kill(os.getppid(), 0))
if "system call filter" in active:
    attempt("exec", lambda: os.execv("/bin/true", ["true"]))
print(json.dumps({"active": active, "said": said}))
"""


@pytest.mark.parametrize("machine", ["", BARE], ids=["as it is", "bare"])
def test_the_lock_itself_holds_when_the_screen_is_passed(machine: str, tmp_path: Path):
    """The screen refuses such code; here it is past it, and the kernel has to refuse."""
    run = subprocess.run(
        [sys.executable, "-c", machine + INSIDE], capture_output=True, text=True, cwd=tmp_path, timeout=60, check=True
    )
    told = json.loads(run.stdout)
    refused = {name for name, outcome in told["said"].items() if outcome != "allowed"}
    assert {"read", "write", "socket", "memory"} <= refused, "the limits alone hold these"
    if "system call filter" in told["active"]:
        assert refused == set(told["said"])
    if machine:
        assert not {"system call filter", "own network namespace", "no new privileges"} & set(told["active"])


def test_a_program_that_passes_the_screen_meets_the_lock():
    text = HEAD + "def step(state, action):\n    return state\n"
    with Sandbox(Program(text), FIELDS, ACTION_DIM, QUICK) as sandbox:
        assert {"own process group", "empty environment", "limit: memory", "limit: no new descriptor"} <= set(
            sandbox.protections
        )


LAW = (
    HEAD
    + """
LIMIT = 3.0
def bounded(value, low, high):
    return max(low, min(high, value))
def step(state, action):
    v = 0.9 * state.v + action[0] - 0.1 * math.sin(state.x)
    x = state.x + 0.5 * v
    if x > LIMIT:
        x, v = LIMIT, -0.5 * v
    elif x < -LIMIT and v < 0:
        x, v = -LIMIT, abs(v)
    for _ in range(3):
        if np.hypot(x, v) > 4:
            v = v * 0.9
    return State(x=x + 0.01 * round(action[1]), v=bounded(v, -2.0, 2.0))
"""
)


def by_hand(text: str, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
    names: dict = {}
    exec(text, names)
    return np.array(
        [names["step"](names["State"](*state), action) for state, action in zip(states.tolist(), actions, strict=True)]
    )


@pytest.fixture
def cases() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.uniform(-4, 4, (500, 2)), rng.uniform(-1, 1, (500, ACTION_DIM))


def test_branches_run_together_and_mean_what_python_says(cases: tuple[np.ndarray, np.ndarray]):
    with Sandbox(Program(LAW), FIELDS, ACTION_DIM) as sandbox:
        found = sandbox.predict(*cases)
    assert found.way == "batched"
    np.testing.assert_allclose(found.states[0], by_hand(LAW, *cases), rtol=1e-12, atol=1e-12)


def test_rollouts_of_candidates_are_repeated_steps(cases: tuple[np.ndarray, np.ndarray]):
    actions = cases[1][:60].reshape(12, 5, ACTION_DIM)
    with Sandbox(Program(LAW), FIELDS, ACTION_DIM) as sandbox:
        rolled = sandbox.rollouts(np.array([0.5, 1.0]), actions)
        states = np.tile([0.5, 1.0], (12, 1))
        for t in range(5):
            states = sandbox.predict(states, actions[:, t]).states[0]
            np.testing.assert_allclose(rolled[:, t], states, rtol=1e-12)


ONE_BY_ONE = {
    "vectors reduced as a whole": "p = np.array([state.x, state.v])\n    return State(p.sum(), np.max(p))",
    "types asked for": "return State(state.x if isinstance(state.x, float) else 99.0, state.v)",
    "errors caught": "try:\n        return State(1.0 / max(state.x, 0.0), state.v)\n    except "
    "ZeroDivisionError:\n        return state",
}


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_what_is_unfit_for_lanes_runs_one_by_one_and_says_so(name: str, cases: tuple[np.ndarray, np.ndarray]):
    text = f"{HEAD}def step(state, action):\n    {ONE_BY_ONE[name]}\n"
    with Sandbox(Program(text), FIELDS, ACTION_DIM) as sandbox:
        found = sandbox.predict(*cases)
    assert found.way == "one by one"
    np.testing.assert_allclose(found.states[0], by_hand(text, *cases), rtol=1e-12)


def test_lanes_keep_vectors_of_numbers(cases: tuple[np.ndarray, np.ndarray]):
    body = (
        "p = np.array([state.x, state.v]) + 0.1 * action\n    n = np.linalg.norm(p)\n    return "
        "State(p[0] / n, np.dot(p, p))"
    )
    text = f"{HEAD}def step(state, action):\n    {body}\n"
    with Sandbox(Program(text), FIELDS, ACTION_DIM) as sandbox:
        found = sandbox.predict(*cases)
    assert found.way == "batched"
    np.testing.assert_allclose(found.states[0], by_hand(text, *cases), rtol=1e-9)


TOGETHER = {
    "names of one number": "x = state.x\n    x += action[0]\n    v = x\n    v *= 2.0\n    return State(x + state.x, v)",
    "a number read before a change": "a = action[0]\n    action[0] = 9.0\n    return State(state.x + a, action[0])",
    "a fixed point": "c = np.array([0.5, -0.5])\n    p = np.array([state.x, state.v]) - c\n    return State(p[0], "
    "c[0] + p[1])",
    "distance from a point": "d = np.linalg.norm(np.array([state.x - 1.0, state.v]))\n    return State(d if d < 2 else -d, 0)",
    "a wall as a pair": "wall = (-2.0, 2.0)\n    x = min(max(state.x + action[0], wall[0]), wall[1])\n    return "
    "state._replace(x=x)",
    "chained comparison": "return State(1.0 if -1 < state.x < 1 else 2.0, state.v) if not state.v > 3 else state",
    "remainders and powers": "return State((state.x + 10) % 3.0, (state.v + 5) ** 2 // 3)",
}


@pytest.mark.parametrize("name", TOGETHER)
def test_what_models_write_runs_together(name: str, cases: tuple[np.ndarray, np.ndarray]):
    text = f"{HEAD}def step(state, action):\n    {TOGETHER[name]}\n"
    with Sandbox(Program(text), FIELDS, ACTION_DIM) as sandbox:
        found = sandbox.predict(*cases)
    assert found.way == "batched"
    np.testing.assert_allclose(found.states[0], by_hand(text, cases[0], cases[1].copy()), rtol=1e-9)


def test_a_lane_that_fails_is_nan_and_told_and_the_others_are_not(cases: tuple[np.ndarray, np.ndarray]):
    text = f"{HEAD}def step(state, action):\n    return State(math.sqrt(state.x), state.v)\n"
    with Sandbox(Program(text), FIELDS, ACTION_DIM) as sandbox:
        found = sandbox.predict(*cases)
    negative = cases[0][:, 0] < 0
    assert np.array_equal(np.isnan(found.states[0, :, 0]), negative)
    assert found.num_failed == negative.sum()
    assert all(negative[lane] and "line 8: ValueError" in sentence for lane, sentence in found.failures.items())


def test_hidden_fields_begin_at_their_defaults():
    text = HEAD.replace("    v: float\n", "    v: float\n    age: float = 3.0\n")
    text += "def step(state, action):\n    return state._replace(x=state.age, age=state.age + 1.0)\n"
    with Sandbox(Program(text), FIELDS, ACTION_DIM) as sandbox:
        rolled = sandbox.rollouts(np.zeros(2), np.zeros((1, 3, ACTION_DIM)))
    assert rolled[0, :, 0].tolist() == [3.0, 4.0, 5.0]


NONSENSE = {"no JSON": "'['", "another JSON": "7", "nested deeply": "'[' * 20_000", "a flood": "'x' * 10**6"}


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_from_the_process_is_one_sentence(name: str, monkeypatch: pytest.MonkeyPatch):
    """A program that had broken out of everything could still only write into the pipe."""
    monkeypatch.setattr(sandbox_process, "CHILD", f"print({NONSENSE[name]}, flush=True); input()")
    before = started()
    with pytest.raises(BadProgram, match=r"no answer|longer than any answer"):
        Sandbox(Program(HEAD + "def step(state, action):\n    return state\n"), FIELDS, ACTION_DIM, QUICK)
    assert started() == before


def test_a_stopped_program_stays_stopped():
    text = HEAD + "def step(state, action):\n    while state.x > 1: pass\n    return state\n"
    with Sandbox(Program(text), FIELDS, ACTION_DIM, Limits(wall_s=0.5, cpu_s=5)) as sandbox:
        with pytest.raises(BadProgram, match="did not finish within"):
            sandbox.predict(np.full((1, 2), 2.0), np.zeros((1, ACTION_DIM)))
        with pytest.raises(BadProgram, match="stopped before"):
            sandbox.predict(np.zeros((1, 2)), np.zeros((1, ACTION_DIM)))
