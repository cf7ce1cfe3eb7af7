"""Receding-horizon control: when it looks, what it executes, when it stops."""

from dataclasses import replace

import numpy as np
import pytest
from toy_program import RIGHT

from visualpatchworld.domain import Domain
from visualpatchworld.plan.cem import CEM
from visualpatchworld.plan.control import Oracle, Pixels, Task, control, follow
from visualpatchworld.plan.planner import Plan, Planner, Shooting
from visualpatchworld.plan.scorer import InducedScorer

NO_ROWS = np.zeros((0, 2))
PUSHES = CEM(samples=2, iterations=1, elites=1, horizon=4, replan_every=3, init_std=0.5)


def task_to(goal_x: float) -> Task:
    goal, start = np.array([goal_x, 0.0]), np.zeros(2)
    return Task(0, 0, 0, start, start, goal, goal, NO_ROWS, NO_ROWS[:, :1])


class Scripted:
    """A search that always finds the same plan, and keeps where it was asked to begin."""

    def __init__(self, plan: list[float]):
        self.plan, self.starts, self.states = np.array(plan)[:, None], [], []

    def __call__(self, situation, start, key) -> Plan:
        self.starts.append(start)
        self.states.append(situation.state)
        return Plan(self.plan, 0.0, 7, 1)


def attempt(toy: Domain, search, goal_x: float, budget: int, planner: Planner = PUSHES):
    world = toy.make()
    world.reset(options={"engine_state": np.zeros(2)})
    return control(world, task_to(goal_x), toy.metrics["at_goal"], budget, Oracle(), planner, search, seed=0), world


def test_looks_again_after_the_executed_steps_and_respects_the_budget(toy: Domain):
    search = Scripted([1.0, 0.0, -1.0, 0.5])
    made, world = attempt(toy, search, goal_x=3.9, budget=7)
    assert not made.success
    assert made.actions[:, 0].tolist() == [1, 0, -1, 1, 0, -1, 1]
    assert [plan.step for plan in made.plans] == [0, 3, 6]
    for plan, seen in zip(made.plans, search.states, strict=True):
        np.testing.assert_array_equal(plan.state, made.states[plan.step])
        np.testing.assert_array_equal(seen, made.states[plan.step])
    np.testing.assert_array_equal(world.get_state(), made.states[-1])
    assert sum(plan.engine_rollouts for plan in made.plans) == 21
    assert sum(plan.non_finite for plan in made.plans) == 3


def test_stops_at_the_first_success(toy: Domain):
    made, _ = attempt(toy, Scripted([1.0, 1.0, 1.0, 1.0]), goal_x=0.3, budget=50)
    meets = toy.metrics["at_goal"](made.states, np.array([0.3, 0.0]))
    assert made.success and meets[-1] and not meets[:-1].any()
    assert len(made.states) == len(made.actions) + 1 < 10


def test_nothing_is_done_where_the_goal_is_met_already(toy: Domain):
    search = Scripted([1.0] * 4)
    made, _ = attempt(toy, search, goal_x=0.05, budget=50)
    assert made.success and made.solved_at_start
    assert (len(made.actions), made.plans, search.starts) == (0, (), [])


@pytest.mark.parametrize("warm", [False, True])
def test_warm_start_begins_with_what_is_left_of_the_plan(toy: Domain, warm: bool):
    search = Scripted([0.1, 0.2, 0.3, 0.4])
    planner = CEM(samples=2, iterations=1, elites=1, horizon=4, replan_every=3, init_std=0.5, warm_start=warm)
    attempt(toy, search, goal_x=3.9, budget=6, planner=planner)
    first, second = (start[:, 0].tolist() for start in search.starts)
    assert first == [0, 0, 0, 0]
    assert second == ([0.4, 0, 0, 0] if warm else [0, 0, 0, 0])


@pytest.mark.parametrize(
    "planner", [None, Shooting(macros=20, horizon=5, replan_every=5)], ids=["the toy's own", "library"]
)
def test_a_right_program_reaches_the_goal(toy: Domain, planner: Planner | None):
    planner = planner or toy.planner
    pushes = [np.full((8, 1), push) for push in np.linspace(-1, 1, 9)]
    search = planner.prepare(InducedScorer(RIGHT, toy.cost), pushes, np.random.default_rng(0))
    made, _ = attempt(toy, search, goal_x=0.8, budget=20, planner=planner)
    assert made.success
    assert 0 < len(made.actions) <= 20
    assert all(plan.engine_rollouts == 0 and plan.seconds > 0 for plan in made.plans)


def test_following_given_actions_ends_with_them_or_at_the_goal(toy: Domain):
    world = toy.make()
    world.reset(options={"engine_state": np.zeros(2)})
    meets = toy.metrics["at_goal"]
    short = follow(world, np.array([0.3, 0.0]), meets, np.ones((2, 1)))
    assert not short.success and len(short.actions) == 2
    world.reset(options={"engine_state": np.zeros(2)})
    enough = follow(world, np.array([0.3, 0.0]), meets, np.ones((50, 1)))
    assert enough.success and len(enough.actions) < 10 and enough.plans == ()


def test_a_goal_that_moves_is_told_as_it_will_be_and_met_where_it_is(toy: Domain):
    asked = []

    def search(situation, start, key) -> Plan:
        asked.append(situation.goal)
        return Plan(np.zeros((4, 1)), 0.0, 0, 0)

    way = np.array([[1.0 - 0.2 * step, 0.0] for step in range(6)])  # it comes to the start, and stays there
    task = replace(task_to(0.0), goal=way)
    world = toy.make()
    world.reset(options={"engine_state": np.zeros(2)})
    made = control(world, task, toy.metrics["at_goal"], 20, Oracle(), PUSHES, search, seed=0)
    assert made.success and not made.solved_at_start
    assert 0 < len(made.actions) <= 5
    np.testing.assert_array_equal(asked[0], way[1:])
    np.testing.assert_array_equal(asked[1], way[4:])
    world.reset(options={"engine_state": np.zeros(2)})
    assert len(follow(world, way, toy.metrics["at_goal"], np.zeros((20, 1))).actions) == len(made.actions)


class Glimpses:
    """An extractor that keeps what it was told, and reads nothing but noughts."""

    def __init__(self):
        self.told = []

    def observe(self, frames, actions=None, *, near=None, expected=None) -> np.ndarray:
        self.told.append((near, expected))
        return np.zeros(2)


def test_whoever_sees_pictures_expects_what_the_model_predicts_since_the_last_look(toy: Domain):
    world, stage, extractor = toy.make(), toy.make(), Glimpses()
    for drawn in (world, stage):
        drawn.render = lambda: np.zeros((2, 2, 3), np.uint8)
        drawn.reset(options={"engine_state": np.zeros(2)})
    scorer = InducedScorer(RIGHT, toy.cost)
    made = control(
        world,
        task_to(3.9),
        toy.metrics["at_goal"],
        6,
        Pixels(extractor, stage, scorer.rollouts),  # pyright: ignore[reportArgumentType]
        PUSHES,
        Scripted([1.0, 0.5, -1.0, 0.5]),
        seed=0,
    )
    _, (goal_near, _), (_, first), (_, second) = extractor.told
    np.testing.assert_array_equal(goal_near, np.zeros(2))  # full turns of the goal lead the short way from the start
    assert first is None
    np.testing.assert_allclose(second, made.states[3], atol=1e-5)  # the toy's program is right, and it began at nought
