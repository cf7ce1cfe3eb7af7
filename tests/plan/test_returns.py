"""Planning for a return, with programs written by hand in place of induced ones, in the true worlds."""

import jax.numpy as jnp
import numpy as np
import pytest
from plan.truths import ACROBOT, CARTPOLE, MOUNTAIN_CAR, MOUNTAIN_CAR_CONTINUOUS, PENDULUM

from visualpatchworld.plan.return_search import ReturnPlanner, returns
from visualpatchworld.plan.reward import CannotPlan, choose_planner, evaluate_return
from visualpatchworld.program.env import tracker
from visualpatchworld.program.imagine import imagine
from visualpatchworld.program.program import Program
from visualpatchworld.world.open import living_in, living_in_copies, open_world

SOLVED = [  # well below what is reached, since a test is one or two episodes on any machine
    ("CartPole-v1", CARTPOLE, ReturnPlanner(horizon=60, execute=4), 475),
    ("MountainCar-v0", MOUNTAIN_CAR, ReturnPlanner(horizon=200, execute=10), -125),
    ("MountainCarContinuous-v0", MOUNTAIN_CAR_CONTINUOUS, ReturnPlanner(horizon=200, execute=10), 88),
    ("Acrobot-v1", ACROBOT, ReturnPlanner(horizon=120, execute=6), -110),
    ("Pendulum-v1", PENDULUM, ReturnPlanner(horizon=30, execute=2), -400),
]


@pytest.mark.parametrize(("name", "program", "planner", "enough"), SOLVED, ids=[row[0] for row in SOLVED])
def test_a_true_program_solves_its_world(name: str, program: Program, planner: ReturnPlanner, enough: float):
    world = open_world(name)
    evaluation = evaluate_return(world, program, planner, episodes=2, seed=1)
    report = evaluation.report
    assert min(evaluation.returns) >= enough > report["random_return"]
    assert report["return_mean"] == pytest.approx(np.mean(evaluation.returns)) and report["n"] == 2
    assert report["seconds_per_step_median"] > 0 and report["env_steps"] <= 2 * (world.time_limit or 0)
    keys = "return_mean return_std n random_return zero_return planner seconds_per_step_median env_steps"
    assert set(keys.split()) <= set(report)


def test_the_horizon_is_chosen_in_imagination_without_a_step():
    world = open_world("MountainCar-v0")
    assert world.powers
    before = world.env_steps
    planner = choose_planner(world, imagine(MOUNTAIN_CAR), [0, 1], ReturnPlanner(horizon=200, samples=128, rounds=3))
    assert world.env_steps == before
    assert planner.horizon >= 100  # nothing nearer sees the goal


def test_of_plans_that_earn_the_same_one_that_stays_near_counts_for_more():
    state = jnp.zeros(4)
    forth_and_back, forth = jnp.tile(jnp.array([0.0, 1.0]), 5), jnp.ones(10)
    plans = jnp.stack([forth, forth_and_back])[..., None]
    earned = returns(imagine(CARTPOLE), state, plans[:, :8], jnp.asarray(8))
    assert int(jnp.argmax(earned)) == 1 and float(earned.max() - earned.min()) < 1e-2


def test_the_same_planner_plans_in_the_world_itself():
    planner = ReturnPlanner(horizon=15, samples=24, rounds=2, elites=4, execute=5)
    world = open_world("CartPole-v1", max_episode_steps=100)
    evaluation = evaluate_return(world, CARTPOLE, planner, episodes=1, true_world_episodes=1)
    assert evaluation.true_world_returns[0] > 2 * np.mean(evaluation.zero_returns)
    assert evaluation.report["true_world_n"] == 1
    assert evaluation.report["same_starts_return"] == evaluation.returns[0]


def test_copies_of_a_world_in_processes_earn_what_it_earns_itself():
    world = open_world("CartPole-v1")
    world.reset(3)
    here, actions = world.snapshot(), np.random.default_rng(0).integers(2, size=(5, 20, 1)).astype(float)
    with living_in_copies("CartPole-v1", 2) as live:
        np.testing.assert_array_equal(live(here, actions, 15), living_in(world)(here, actions, 15))


def test_the_same_seed_gives_the_same_returns():
    planner = ReturnPlanner(horizon=20, samples=32, rounds=2, elites=4, execute=10)
    worlds = [open_world("Pendulum-v1", max_episode_steps=40) for _ in range(2)]
    runs = [evaluate_return(world, PENDULUM, planner, episodes=1, seed=3).returns for world in worlds]
    assert runs[0] == runs[1]


def test_without_a_reward_there_is_nothing_to_plan_for():
    text = PENDULUM.text[: PENDULUM.text.index("def reward")]
    with pytest.raises(CannotPlan, match="defines no reward"):
        evaluate_return(open_world("Pendulum-v1"), Program(text))
    with pytest.raises(CannotPlan, match="one that runs"):
        evaluate_return(open_world((np.zeros((5, 3)), np.zeros((4, 1)))), PENDULUM)


@pytest.mark.parametrize("settings", [{"horizon": 0}, {"horizon": 5, "execute": 6}, {"horizon": 5, "elites": 1}])
def test_planners_that_make_no_sense_are_refused(settings: dict[str, int]):
    with pytest.raises(ValueError, match="must"):
        ReturnPlanner(**settings)  # pyright: ignore[reportArgumentType]


def test_a_hidden_velocity_is_followed_by_what_is_seen():
    text = """
from typing import NamedTuple
import jax.numpy as np

class State(NamedTuple):
    x: float
    v: float

def step(state, action):
    v = state.v + 0.1 * (action[0] - state.x)
    return State(state.x + 0.1 * v, v)

def observe(state):
    return (state.x,)

def read(observation):
    return State(observation[0], 0.0)
"""
    step = Program(text).bind("numpy").step
    state = Program(text).bind("numpy").State(0.3, 1.7)
    follow = tracker(imagine(Program(text)))
    believed = follow.first([state.x])
    for _ in range(3):
        state = step(state, np.array([0.5]))
        believed = follow.next(believed, [0.5], [state.x])
    np.testing.assert_allclose(believed, [state.x, state.v], atol=1e-3)
