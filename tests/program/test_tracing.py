"""Plain Python of a person's program means the same when JAX compiles it for many states at once."""

import sys
import textwrap
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from visualpatchworld.program.imagine import imagine
from visualpatchworld.program.program import BadProgram, Program

SHARED = Path(__file__).parents[3] / "shared"
ZOO = ["L1-0", "L1-6", "L2-1", "L2-3", "L2-18", "L2-23", "L3-2", "L3-11", "L4-0", "L4-8", "L4-13"]
HEAD = """import math
from math import hypot
from typing import NamedTuple

import numpy as np

EDGE = 0.5
TURNS = 3
CHOICES = (-1.0, 0.25, 1.0)
PAIRS = ((1.0, 2.0), (3.0, 4.0), (5.0, 6.0))
FAST = (True, False)


class State(NamedTuple):
    x: float
    v: float


def step(state, action):
    x, v = state
"""
BODIES = {
    "if expression": "return State(x if v > 0 else -x, v)",
    "if statement": "if x > EDGE:\n    x = EDGE\n    v = 0.0\nreturn State(x, v)",
    "if and else": "if abs(v) <= EDGE:\n    v = 0.0\nelse:\n    v = v - EDGE * np.sign(v)\nreturn State(x, v)",
    "elif": "if x > EDGE:\n    v = 1.0\nelif x < -EDGE:\n    v = 2.0\nelse:\n    v += x\nreturn State(x, v)",
    "early return": "if x > EDGE:\n    return State(EDGE, v)\nx = 2 * x\nreturn State(x, v)",
    "early returns": "if x > EDGE:\n    x = x - 1\n    if v > 0:\n        return State(x, 0.0)\nv = v + 1\nreturn State(x, v)",
    "a name of one way": "if x > EDGE:\n    gap = x - EDGE\n    x = x - 2 * gap\nreturn State(x, v)",
    "a name of both ways": "if x > EDGE:\n    sign = 1.0\nelse:\n    sign = -1.0\nreturn State(sign, v)",
    "tuples": "if x > v:\n    x, v = v, x\nreturn State(x, v)",
    "a whole state": "if x > 0:\n    state = State(v, x)\nreturn state",
    "nested ifs": "if x > 0:\n    if v > 0:\n        x = 1.0\n    else:\n        x += 2.0\nreturn State(x, v)",
    "and, or, not": "return State(1.0 if x > 0 and v > 0 or not x > -1 else 2.0, v)",
    "values of and, or": "return State((x > 0) and v, (x > 0) or v)",
    "a chain": "return State(1.0 if -EDGE < x < EDGE else 0.0, float(0 < v <= 1))",
    "in": "k = int(action[0])\nreturn State(1.0 if k in (0, 2) else 0.0, 1.0 if k not in (0, 2) else 0.0)",
    "a choice": "return State(CHOICES[int(action[0])], v)",
    "a choice of pairs": "a, b = PAIRS[int(action[0])]\nreturn State(a, b)",
    "min and max": "return State(min(x, v, EDGE), max([x, v]))",
    "any and all": "return State(float(any([x > 0, v > 0])), float(all(p > 0 for p in state)))",
    "bool and float": "return State(float(bool(x > 0)) + float(x), v)",
    "math": "return State(math.sin(x) + hypot(x, v) + math.fabs(v), math.floor(10 * x) + math.atan2(x, v) + math.pi)",
    "names of numpy": "import numpy\nfrom numpy import sin\nreturn State(numpy.cos(x), sin(v))",
    "a counted loop": "for _ in range(TURNS):\n    x = x + 0.1 * v\n    if x > EDGE:\n        x, v = EDGE, -v\nreturn State(x, v)",
    "a loop that counts": "for k in range(3):\n    if x > k * EDGE:\n        x = x - 0.1 * k\nreturn State(x, v)",
    "a loop in a way": "if x > 0:\n    for _ in range(TURNS):\n        x = x * 0.5\nreturn State(x, v)",
    "a switch": "on = x > 0\nfor _ in range(TURNS):\n    if on:\n        x = x - 0.4\n    on = x > EDGE\nreturn State(x, v)",
    "known tests": "return State(*(p + 1 if fast else p for p, fast in zip(state, FAST)))",
    "a list": "a, b = np.linalg.solve(np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([x, v])).tolist()\nreturn State(a, b)",
    "a remainder": "if abs(x) > EDGE:\n    x = (x + EDGE) % (2 * EDGE) - EDGE\nreturn State(x, v)",
    "a function of its own": "def lesser(a, b):\n    if a < b:\n        return a\n    return b\nreturn State(lesser(x, v), v)",
    "a name like a builtin": "def max(a):\n    return a + 1\nreturn State(max(x), v)",
    "short of the other way": "return State(EDGE / TURNS if TURNS else 1 / TURNS, v)",
}
REFUSED = {
    "while": "while x > EDGE:\n    x = x - 1\nreturn State(x, v)",
    "break": "for k in range(3):\n    if x > EDGE:\n        break\n    x = x + 1\nreturn State(x, v)",
    "a changed list": "found = [x, v]\nif x > EDGE:\n    found.append(x)\nreturn State(sum(found), v)",
    "a stored item": "found = [x, v]\nif x > EDGE:\n    found[0] = 1.0\nreturn State(*found)",
    "a filter": "return State(sum([p for p in state if p > 0]), v)",
    "one way without a value": "if x > EDGE:\n    return State(x, v)",
}


def program_of(body: str) -> Program:
    return Program(HEAD + textwrap.indent(body, "    ") + "\n")


def assert_the_same(program: Program, states: np.ndarray, actions: np.ndarray) -> None:
    """A step, what is seen, paid and over after it: as Python has them one by one, and compiled for all at once."""
    plain = imagine(program, "numpy", np.float64)

    def after(world, state, action):
        moved = world.step(state, action)
        return moved, world.observe(moved), world.reward(state, action, moved), world.terminated(moved)

    with np.errstate(all="ignore"):
        one_by_one = [after(plain, *pair) for pair in zip(states, actions, strict=True)]
    with jax.enable_x64(True):
        traced = imagine(program, "jax", jnp.float64)
        at_once = jax.jit(jax.vmap(lambda state, action: after(traced, state, action)))(states, actions)
        for wanted, found in zip(zip(*one_by_one, strict=True), at_once, strict=True):
            np.testing.assert_allclose(np.asarray(found), np.array(wanted), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", BODIES)
def test_compiled_it_means_what_python_says(name: str):
    rng = np.random.default_rng(0)
    assert_the_same(program_of(BODIES[name]), rng.uniform(-2, 2, (40, 2)), rng.integers(0, 3, (40, 1)).astype(float))


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_compiled_is_refused_with_its_line(name: str):
    world = imagine(program_of(REFUSED[name]), "jax")
    first = HEAD.count("\n") + 1
    with pytest.raises(BadProgram, match=r"^program:\d+: ") as refused:
        jax.jit(world.step)(jnp.zeros(2), jnp.zeros(1))
    line = int(str(refused.value).split(":")[1])
    assert first <= line <= first + REFUSED[name].count("\n")
    assert "\n" not in str(refused.value)


@pytest.mark.skipif(not (SHARED / "zoo").is_dir(), reason="the zoo of random worlds is not beside the repository")
@pytest.mark.parametrize("name", ZOO)
def test_true_laws_of_random_worlds_compile(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(SHARED))
    import zoo  # pyright: ignore[reportMissingImports]

    level, seed = (int(part) for part in name.removeprefix("L").split("-"))
    program, env = Program(zoo.spec_of(name).text), zoo.make(seed, level=level)
    plain = imagine(program, "numpy", np.float64)
    env.action_space.seed(0)
    states, actions = [], []
    for episode in range(4):
        state = plain.read(np.asarray(env.reset(seed=episode)[0], dtype=np.float64))
        for _ in range(10):
            action = np.atleast_1d(np.asarray(env.action_space.sample(), dtype=np.float64))
            states.append(state)
            actions.append(action)
            state = plain.step(state, action)
    assert_the_same(program, np.array(states), np.array(actions))
    sys.modules.pop("zoo", None)
