"""Programs called on arrays give the same under NumPy and JAX, for one row and for many."""

import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from plan.truths import CARTPOLE, PENDULUM

from visualpatchworld.errors import BadState
from visualpatchworld.program.imagine import imagine
from visualpatchworld.program.program import BadProgram, Program

LATE = Program("""
from typing import NamedTuple
import jax.numpy as np

class State(NamedTuple):
    x: float
    last: float = 0.0  # not observed

def step(state, action):
    return State(state.x + state.last, action[0])
""")
BRANCHES = Program("""
from typing import NamedTuple

class State(NamedTuple):
    x: float

def step(state, action):
    if state.x > 1.0:
        return State(0.0)
    return State(state.x + action[0])
""")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize(("program", "columns"), [(PENDULUM, 1), (CARTPOLE, 1), (LATE, 1), (BRANCHES, 1)])
def test_batches_under_numpy_and_jax_are_rows_of_the_program(program: Program, columns: int, rng: np.random.Generator):
    states = rng.uniform(0.1, 0.9, (5, len(program.fields)))
    actions = rng.integers(0, 2, (5, 3, columns)).astype(float)
    world = imagine(program, "numpy")
    rows = [world.step(state, action) for state, action in zip(states, actions[:, 0], strict=True)]
    np.testing.assert_allclose(program.step(states, actions[:, 0]), rows)
    np.testing.assert_allclose(program.rollout(states, actions)[:, 0], rows)
    first, given = jnp.asarray(states), jnp.asarray(actions)
    for found in (program.step(first, given[:, 0]), jax.vmap(program.step)(first, given[:, 0])):
        assert isinstance(found, jax.Array)
        np.testing.assert_allclose(found, rows, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        jax.jit(program.rollout)(first, given), program.rollout(states, actions), rtol=1e-4, atol=1e-4
    )
    seen = program.observe(states)
    np.testing.assert_allclose(program.observe(program.read(seen)), seen)
    np.testing.assert_allclose(
        program.simulate(seen, actions)[:, -1], program.observe(program.rollout(program.read(seen), actions)[:, -1])
    )


def test_one_start_goes_with_many_sequences(rng: np.random.Generator):
    actions = rng.uniform(-1, 1, (4, 6, 1))
    assert PENDULUM.rollout([0.1, 0.0], actions).shape == (4, 6, 2)
    assert PENDULUM.simulate(jnp.array([1.0, 0.0, 0.0]), actions).shape == (4, 6, 3)
    assert PENDULUM.rollout([0.1, 0.0], np.zeros((0, 1))).shape == (0, 2)


def test_a_single_number_is_an_action_of_one_column():
    np.testing.assert_allclose(CARTPOLE.step(np.zeros(4), 1), CARTPOLE.step(np.zeros(4), [1]))


def test_reward_and_end_are_those_of_the_program():
    states = np.array([[0.0, 0.0, 0.0, 0.0], [9.0, 0.0, 0.0, 0.0]])
    assert CARTPOLE.terminated(states).tolist() == [False, True]
    assert CARTPOLE.terminated(jnp.asarray(states)).tolist() == [False, True]
    assert CARTPOLE.reward(states, np.zeros((2, 1)), states).tolist() == [1.0, 1.0]
    assert LATE.reward([0.0, 0.0], [1.0], [0.0, 0.0]) == 0.0 and not LATE.terminated([0.0, 0.0])
    assert LATE.valid(np.zeros((3, 2))).all()


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("step", ([0.1], [0.0]), "the 2 fields"),
        ("step", ([0.1, 0.2], []), "at least 1 column"),
        ("read", ([0.1, 0.2],), "3 columns"),
        ("rollout", ([0.1, 0.2], [0.0]), r"\(\.\.\., H, A\)"),
    ],
)
def test_wrong_shapes_are_refused(name: str, arguments: tuple, said: str):
    with pytest.raises(BadState, match=said):
        getattr(PENDULUM, name)(*arguments)


def test_a_failing_program_is_named_with_its_line():
    broken = Program(LATE.text.replace("state.x + state.last", "state.x + missing"))
    with pytest.raises(BadProgram, match="program:10: NameError"):
        broken.step([0.0, 0.0], [1.0])


def test_numpy_does_without_jax(tmp_path: Path):
    (tmp_path / "world_model.py").write_text(PENDULUM.text)
    code = (
        "import sys; from pathlib import Path; from visualpatchworld.program.program import read_program;"
        "program = read_program(Path('world_model.py')); program.simulate([1.0, 0.0, 0.0], [[0.5]] * 3);"
        "program.reward([0.0, 0.0], [0.0], [0.0, 0.0]); sys.exit('jax' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False).returncode == 0
