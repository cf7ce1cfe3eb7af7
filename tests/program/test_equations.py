"""Equations are read from a program's text: they say what it computes, and nothing of it is run."""

from pathlib import Path

import numpy as np
import pytest
from plan.truths import PENDULUM

from visualpatchworld.program.equations import Equations
from visualpatchworld.program.program import BadProgram, Program, read_program
from visualpatchworld.program.symbolic import NoEquations

PROGRAMS = Path(__file__).parents[2] / "programs"
STATE = """
from typing import NamedTuple

import jax.numpy as np

DT = 0.1  # s
DRAG = 0.7  # +- 0.002  v changes by it times v
GAIN = 3.0  # +- 0.01  push
TOP = 2.0


class State(NamedTuple):
    x: float
    v: float
    mode: float


def read(observation):
    return State(x=observation[0], v=observation[1], mode=0.0)


"""
SIMPLE = Program(
    STATE
    + '''def step(state, action):
    """One step."""
    start = state
    hit = state.x < 0.0
    state = state._replace(mode=np.where(hit, 1.0, state.mode))
    v = state.v + DT * (GAIN * action[0] - DRAG * state.v)
    x = state.x + DT * v
    state = state._replace(x=x, v=v)
    hit = state.x > TOP
    state = state._replace(x=np.where(hit, TOP, state.x), v=np.where(hit, -0.5 * start.v, state.v))
    return state


def reward(state, action, next_state):
    return -next_state.x ** 2 - 0.1 * action[0] ** 2


def terminated(state):
    return (np.abs(state.x) > TOP) | (state.v < -9.0)
'''
)
STAGES = """def rates(state, action):
    return State(x=state.v, v=-DRAG * state.v, mode=0.0)


def moved(state, slope, time):
    return State(*(value + time * rate for value, rate in zip(state, slope)))


def step(state, action):
    for _ in range(SUBSTEPS):
        {}
    return state
"""
EXPLICIT = "state = moved(state, rates(state, action), DT)"
MIDDLE = "middle = moved(state, rates(state, action), DT / 2); state = moved(state, rates(middle, action), DT)"
RK4 = (
    "k1 = rates(state, action); k2 = rates(moved(state, k1, DT / 2), action);"
    "k3 = rates(moved(state, k2, DT / 2), action); k4 = rates(moved(state, k3, DT), action);"
    "slope = State(*((a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k1, k2, k3, k4)));"
    "state = moved(state, slope, DT)"
)


def known(path: str) -> Equations:
    return read_program(PROGRAMS / path / "world_model.py").equations()


def test_rates_rules_reward_and_end():
    found = SIMPLE.equations()
    assert found.lines() == [
        "where x < 0: mode <- 1",
        "x' = v",
        "v' = GAIN action[0] - DRAG v",
        "where x > TOP: x <- TOP, v <- -0.5 v_before",
        "reward = -x_next^2 - 0.1 action[0]^2",
        "ends where |x| > TOP or v < -9",
    ]
    assert found.hidden == ("mode",)
    assert found.constants == {"DRAG": (0.7, 0.002), "GAIN": (3.0, 0.01), "TOP": (2.0, None)}
    assert found.scheme == "semi-implicit Euler, DT = 0.1"
    said = str(found)
    assert "DRAG = 0.7 +- 0.002" in said and "hidden: mode" in said


def test_values_in_place_of_names():
    assert "v' = 3 action[0] - 0.7 v" in SIMPLE.equations().with_values.lines()


@pytest.mark.parametrize(
    ("line", "scheme"),
    [(EXPLICIT, "explicit Euler"), (MIDDLE, "midpoint rule"), (RK4, "fourth-order Runge-Kutta")],
)
def test_stages_of_a_step_are_one_rate(line: str, scheme: str):
    found = Program(STATE.replace("TOP = 2.0", "SUBSTEPS = 4") + STAGES.format(line)).equations()
    assert found.lines() == ["x' = v", "v' = -DRAG v"]
    assert found.scheme == f"{scheme}, 4 sub-steps, DT = 0.1"


def test_equations_compute_what_the_program_does():
    """A cart with a pole: a mass matrix that is solved by functions of the program."""
    program = read_program(PROGRAMS / "worlds" / "CartPole-v1" / "world_model.py")
    found = program.equations()
    assert found.scheme.startswith("explicit Euler")
    rng = np.random.default_rng(0)
    for state, push in zip(rng.uniform(-0.2, 0.2, (20, 4)), rng.integers(0, 2, 20), strict=True):
        rates = (program.step(state, [push]) - state) / program.constants["DT"]
        values = dict(program.constants) | dict(zip(program.fields, state, strict=True)) | {"action[0]": push}
        values |= {left.name: right.evaluate(values) for left, right in found.definitions}
        values |= {f"{name}'": 0.0 for name in found.rates}
        for _ in range(2):  # rates may refer to each other
            values |= {f"{name}'": rate.evaluate(values) for name, rate in found.rates.items()}
        np.testing.assert_allclose([values[f"{name}'"] for name in program.fields], rates, rtol=1e-6, atol=1e-9)


def test_the_bundled_pendulum():
    lines = known("worlds/Pendulum-v1").lines()
    assert "angle_speed' = ANGLE_PULL sin(angle) + ANGLE_GAIN action[0]" in lines
    assert "wrap(angle) = mod(angle + pi, 2 pi) - pi" in lines


def test_laws_that_are_functions_stay_calls():
    lines = known("tworoom").lines()
    assert any(line.startswith("agent <- walk((agent_x, agent_y), action, AGENT_SPEED)") for line in lines)
    assert "agent_x <- agent[0]" in lines


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("worlds/*/world_model.py")), ids=lambda path: path.parent.name)
def test_every_found_program_has_equations(path: Path):
    found = read_program(path).equations()
    assert found.rates or found.then
    latex = found.latex.replace(r"\leftarrow", "")
    assert latex.count(r"\left") == latex.count(r"\right") and latex.count("{") == latex.count("}")
    assert len(found.mathml) == len(found.lines())


def test_programs_of_other_makes_are_read_or_refused_in_one_sentence():
    for path in PROGRAMS.glob("*/world_model.py"):
        said = ""
        try:
            assert read_program(path).equations().lines()
        except NoEquations as error:
            said = str(error)
        assert not said or (said.startswith(str(path)) and "\n" not in said)


@pytest.mark.parametrize(
    "body",
    [
        "while True:\n        pass",
        "return open('secret').read()",
        "return State(state.x, state.v, len('abc'))",
        "return step(state, action)",
        "return State(*(state.x for _ in range(10 ** 9)))",
        "y = state.x\n" + "    y = y * y + y\n" * 60 + "    return State(y, state.v, state.mode)",
        "return [[state.x for _ in range(9999)] for _ in range(9999)]",
    ],
)
def test_what_is_no_equation_is_refused_soon(body: str):
    program = Program(f"{STATE}def step(state, action):\n    {body}\n")
    with pytest.raises(NoEquations, match="program:"):
        program.equations()


def test_a_tower_of_powers_is_not_computed():
    program = Program(
        f"{STATE}def step(state, action):\n    return State(9 ** 9 ** 9 * state.x, state.v, state.mode)\n"
    )
    assert program.equations().lines()[0].startswith("x <- ")


def test_nothing_is_run(tmp_path: Path):
    program = Program(f"open({str(tmp_path / 'made')!r}, 'w')\n{SIMPLE.text}")
    assert program.equations().rates
    unnamed = Program(f"open({str(tmp_path / 'made')!r}, 'w')\nState = 1\ndef step(state, action):\n    return state\n")
    with pytest.raises(BadProgram, match="no class 'State'"):
        unnamed.equations()
    assert not (tmp_path / "made").exists()


def test_a_notebook_shows_latex():
    assert PENDULUM.equations()._repr_latex_().startswith("$$")
