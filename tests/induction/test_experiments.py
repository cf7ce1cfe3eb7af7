"""Ends, walls and the edge of what is known are found where random actions never come; constants are drawn anew."""

from __future__ import annotations

import gymnasium as gym
import jax.numpy as jnp
import numpy as np
import pytest
from draws import SEED
from gymnasium.wrappers import TimeLimit
from world.test_gym_world import Delayed

from visualpatchworld.induction.discover import discover
from visualpatchworld.induction.ends import find_ends, find_inside
from visualpatchworld.induction.fields import read_fields
from visualpatchworld.induction.probe import find_places
from visualpatchworld.induction.reading import Coordinate, Reading
from visualpatchworld.induction.transitions import Transitions
from visualpatchworld.plan.return_search import returns
from visualpatchworld.program.imagine import imagine
from visualpatchworld.program.program import Program
from visualpatchworld.world.collect import collect
from visualpatchworld.world.environment import GymWorld
from visualpatchworld.world.open import open_world
from visualpatchworld.world.trajectory import Trajectory

READING = Reading(fields=(), coordinates=(Coordinate("x", (0,), velocity="v", velocity_column=1),))


class Cart(gym.Env):
    """A cart with friction that starts in the middle, stops at a wall on the left, and is done far out on the right."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float64)

    def __init__(self, wall: float, goal: float, push: float):
        self.wall, self.goal, self.push = wall, goal, push
        self.state = np.zeros(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = self.np_random.uniform(-0.1, 0.1, 2)
        return self.state.copy(), {}

    def step(self, action):
        x, v = self.state
        v = v + 0.05 * (self.push * float(action[0]) - 0.5 * v)
        x = x + 0.05 * v
        if x < self.wall:
            x, v = self.wall, 0.0
        self.state = np.array([x, v])
        return self.state.copy(), -1.0, bool(x > self.goal), False, {}


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(SEED)


def steps_of(before: np.ndarray, after: np.ndarray, ended: np.ndarray) -> Transitions:
    return Transitions(("x", "v"), before, np.zeros((len(before), 1)), after, np.zeros(len(before)), ended)


def test_walls_and_ends_beyond_all_random_steps_are_found(rng):
    wall, goal, push = -rng.uniform(2, 3), rng.uniform(2, 3), rng.uniform(1, 2)
    world = open_world(gym.wrappers.TimeLimit(Cart(wall, goal, push), 60))
    found = discover(world, budget=1000, seed=1)
    assert world.env_steps <= 1000
    (end,) = found.ends.thresholds
    assert end.bracket[0] <= goal <= end.bracket[1] and end.bracket[1] - end.bracket[0] < 0.01
    assert any(isinstance(value, float) and abs(value - wall) < 1e-3 for value in found.program.constants.values())
    assert found.reward.expression == "-1.0"


def test_a_place_is_found_for_every_state(rng):
    world = open_world(Cart(-3.0, 3.0, 1.0))
    visited: list[np.ndarray] = []
    data = collect(world, 200, rng, visited)
    places = find_places(world, read_fields(data, world.action_space, None, None, None), visited)
    assert places is not None
    wanted = rng.uniform(-1, 1, 2)
    assert places.put(wanted) == pytest.approx(wanted, abs=1e-6)


def test_an_end_may_ask_for_two_things_at_once(rng):
    goal, speed = rng.uniform(0.5, 1), rng.uniform(-0.3, 0.3)
    before, after = rng.normal(0, 1, (2, 2000, 2))
    found = find_ends(READING, steps_of(before, after, (after[:, 0] > goal) & (after[:, 1] > speed)))
    assert found.unexplained == 0
    (rule,) = found.thresholds
    assert {one.expression for one in rule.all} == {"state.x", "state.v"}
    for one in rule.all:
        assert one.bracket[0] <= {"state.x": goal, "state.v": speed}[one.expression] <= one.bracket[1]
    assert "&" in found.function()


def test_laws_are_said_to_hold_up_to_where_steps_go_otherwise(rng):
    edge = rng.uniform(1, 2)
    before = rng.normal(0, 1, (2000, 2))
    after = before + 0.01
    strange = after[:, 0] > edge
    inside = find_inside(READING, steps_of(before, after, np.zeros(2000, bool)), strange)
    (rule,) = inside.thresholds
    assert (rule.expression, rule.above) == ("state.x", True)
    assert rule.bracket[0] <= edge <= rule.bracket[1]
    clipped = np.minimum(after, edge)
    inside = find_inside(READING, steps_of(np.minimum(before, edge), clipped, np.zeros(2000, bool)), strange)
    (rule,) = inside.thresholds
    assert (rule.expression, rule.above) == ("state.x", True) and rule.bracket[0] < rule.bracket[1] == edge
    anywhere = find_inside(READING, steps_of(before, after, np.zeros(2000, bool)), rng.uniform(size=2000) < 0.05)
    assert not anywhere.thresholds


def test_a_plan_that_stays_where_laws_hold_is_better():
    program = Program(
        "from typing import NamedTuple\nimport jax.numpy as np\nclass State(NamedTuple):\n    x: float\n"
        "def step(state, action):\n    return State(x=state.x + action[0])\n"
        "def valid(state):\n    return state.x < 2.5\n"
        "def reward(state, action, next_state):\n    return next_state.x\n"
    )
    plans = jnp.array([[[1.0]] * 5, [[1.0], [1.0], [0.0], [0.0], [0.0]], [[0.0]] * 5])
    earned = returns(imagine(program), jnp.zeros(1), plans, jnp.asarray(5))
    assert list(np.argsort(-np.asarray(earned))) == [1, 2, 0]


def test_a_world_with_a_delay_is_probed():
    """A place has what is held, the program's memory, which no reading of a single observation has."""
    found = discover(GymWorld(TimeLimit(Delayed(), 100)), budget=300, seconds=20)
    assert len(found.program.bind("numpy").State._fields) >= 2  # pyright: ignore[reportAttributeAccessIssue]
    assert found.env_steps <= 300


def test_a_column_that_copies_another_may_end_the_world():
    """Ends and rewards are looked for in expressions of the state, columns of columns among them."""
    rng = np.random.default_rng(0)
    episodes = []
    for _ in range(12):
        rows, actions = [rng.uniform(-0.5, 0.5, 2)], rng.uniform(-1, 1, (40, 1))
        for action in actions:
            place, speed = rows[-1]
            speed = speed + 0.1 * (2 * action[0] + place)
            rows.append(np.array([place + 0.1 * speed, speed]))
            if abs(rows[-1][0]) > 1:
                break
        states = np.array(rows)
        seen = np.concatenate([states, 2 * states[:, :1] + 1, 4 * states[:, :1] - 3], axis=1)
        length = len(states) - 1
        episodes.append(Trajectory(seen, actions[:length], -(seen[1:, 2] ** 2), bool(abs(states[-1, 0]) > 1)))
    found = discover(open_world(episodes), seconds=8)
    assert not any("COLUMN" in derived.expression for derived in found.reading.derived)
    assert len(found.reading.derived) == 2 and found.ends.unexplained == 0
    assert "COLUMN" not in found.program.text
