"""Plans with feedback: margins of conditions, and iLQR through a program that falls over by itself."""

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from visualpatchworld.plan.feedback import first_guide, guided, improved, margin_of, shifted_guide
from visualpatchworld.plan.return_search import ReturnPlanner
from visualpatchworld.plan.reward import evaluate_return
from visualpatchworld.program.env import as_env
from visualpatchworld.program.imagine import imagine
from visualpatchworld.program.program import Program

# Two unstable modes under one push: the state grows by more than a fifth in each step, and an end is never far.
FALLING = Program("""
from typing import NamedTuple
import jax.numpy as np

class State(NamedTuple):
    a: float
    b: float

def step(state, action):
    return State(1.25 * state.a + 0.3 * action[0], 1.1 * state.b - 0.2 * action[0])

def reward(state, action, next_state):
    return 1.0 - 0.01 * next_state.a ** 2

def terminated(state):
    return (np.abs(state.a) > 1.0) | (np.abs(state.b) > 1.0)
""")
REST = jnp.zeros(1, jnp.float32)


def push(units):
    return 2.0 * units


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (lambda s: s[0] > 2.0, -0.5),  # half of the way from the reference to the threshold is left
        (lambda s: ~(s[0] > 2.0), 0.5),
        (lambda s: (s[0] > 2.0) | (jnp.abs(s[1]) > 4.0), -0.25),
        (lambda s: (s[0] > 2.0) & (jnp.abs(s[1]) > 4.0), -0.5),
        (lambda s: jnp.where(s[1] > 0.0, s[0] > 2.0, s[0] < -2.0), -0.5),
        (lambda s: jnp.any(jnp.stack([s[0] > 2.0, s[1] > 4.0])), -0.25),
    ],
)
def test_a_condition_has_a_margin_in_units_of_a_first_state(condition, expected):
    margin = margin_of(condition, jnp.array([0.0, 1e-3]))
    here = jnp.array([1.0, 3.0])
    assert float(margin(here)) == pytest.approx(expected, abs=1e-3)
    assert (float(margin(here)) > 0) == bool(condition(here))
    assert np.abs(np.asarray(jax.grad(margin)(here))).max() > 0


def test_a_condition_without_comparisons_has_no_slope():
    margin = margin_of(lambda s: jnp.asarray(False), jnp.zeros(2))
    assert float(margin(jnp.ones(2))) == -1.0


def test_feedback_holds_what_a_fixed_plan_loses():
    world = imagine(FALLING)
    state = jnp.array([0.2, -0.1], jnp.float32)
    guide = first_guide(world, 40, push, REST, state)
    find = jax.jit(lambda state, guide: improved(world, push, 4, state, guide, jnp.zeros((1, 40, 1)), jnp.asarray(40)))
    guide, earned = find(state, guide)
    assert float(earned) > 39  # of 40: it does not fall

    def lived(state, answers):
        for t in range(20):
            units = guided(guide, t, state) if answers else guide.units[t]
            state = world.step(state, push(units))
            if bool(world.terminated(state)):
                return t
        return 20

    moved = state + jnp.array([0.02, -0.01], jnp.float32)  # not where the plan believed to be
    assert lived(moved, answers=True) == 20 > lived(moved, answers=False)
    later = shifted_guide(guide, 5)
    np.testing.assert_array_equal(later.states[0], guide.states[5])
    np.testing.assert_array_equal(later.units[-1], guide.units[-1])


def test_angles_are_compared_the_short_way_round():
    text = """
from typing import NamedTuple
import jax.numpy as np

class State(NamedTuple):
    angle: float
    speed: float

def step(state, action):
    return State(state.angle + 0.1 * state.speed, state.speed + action[0])

def observe(state):
    return (np.cos(state.angle), np.sin(state.angle), state.speed)

def read(observation):
    return State(np.arctan2(observation[1], observation[0]), observation[2])
"""
    world = imagine(Program(text))
    guide = first_guide(world, 3, push, REST, jnp.array([3.1, 0.0], jnp.float32))._replace(
        gains=jnp.full((3, 1, 2), 1.0)
    )
    assert guide.angles.tolist() == [True, False]
    assert float(guided(guide, 0, jnp.array([-3.1, 0.0]))[0]) == pytest.approx(2 * np.pi - 6.2, abs=1e-4)


def test_a_planner_with_feedback_holds_an_unstable_world_between_plans():
    env = as_env(FALLING, starts=[[0.2, -0.1], [-0.1, 0.2]], action_space=gym.spaces.Box(-2, 2, (1,)), time_limit=60)
    planner = ReturnPlanner(horizon=30, samples=16, rounds=1, elites=4, execute=10, feedback=3)
    found = evaluate_return(env, FALLING, planner, episodes=1)
    assert found.report["return_mean"] > 55 > found.report["zero_return"]
    assert "feedback" in found.report["planner"]


def test_a_program_that_runs_away_is_planned_with_in_finite_actions():
    text = FALLING.text.replace("return State(", "return State(1e6 * state[0] ** 3 + ", 1)
    world = imagine(Program(text))
    state = jnp.array([3.0, -2.0], jnp.float32)
    others = jnp.linspace(-1, 1, 3 * 40).reshape(3, 40, 1)
    guide, _ = improved(world, push, 3, state, first_guide(world, 40, push, REST, state), others, jnp.asarray(40))
    assert all(bool(jnp.isfinite(guided(guide, t, 2 * state)).all()) for t in range(40))
