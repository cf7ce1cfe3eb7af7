"""Columns that nothing predicts but that others depend on: laws are
found given them, and a column of mere noise stays what it is.
"""

import gymnasium as gym
import numpy as np
import pytest
from draws import FIXED
from small_worlds import extra_columns

from visualpatchworld.induction.discover import discover
from visualpatchworld.induction.exogenous import find_outside
from visualpatchworld.induction.fields import read_fields
from visualpatchworld.world.log import LogWorld, Recording
from visualpatchworld.world.open import open_world
from visualpatchworld.world.trajectory import Trajectory

DT = 0.1


def sailing(rng, keep: float, push: float, gain: float) -> LogWorld:
    """A boat in a wind that comes as it will; what is paid is the wind's price of what was done."""
    episodes = []
    for _ in range(8):
        x, v, wind = rng.normal(), 0.0, rng.normal()
        seen, acted, paid = [(x, v, wind)], [], []
        for _ in range(100):
            action = rng.uniform(-1, 1)
            paid.append(wind * action - 0.5 * x)
            v += DT * (gain * action + push * wind - 0.4 * v)
            x += DT * v
            wind = keep * wind + np.sqrt(1 - keep**2) * rng.normal()
            seen.append((x, v, wind))
            acted.append((action,))
        episodes.append(Trajectory(np.array(seen), np.array(acted), np.array(paid)))
    names, bounds = ("place", "speed", "wind"), ((-1.0,), (1.0,))
    return LogWorld(Recording(tuple(episodes), names, dt=DT, choices=False, bounds=bounds), "sailing")


@pytest.mark.parametrize("keep", [0.0, 0.9], ids=("anew in every step", "slowly"))
def test_laws_are_found_given_a_random_wind(keep):
    rng = np.random.default_rng(FIXED)
    push, gain = rng.uniform(0.5, 1.5, 2)
    found = discover(sailing(rng, keep, push, gain))
    shown = f"{found}\n{found.program.text}"
    assert found.verdict == "explained" and "wind is exogenous" in found.why, shown
    assert [field.role for field in found.reading.fields] == ["coordinate", "velocity", "exogenous"], shown
    values = [value for value in found.program.constants.values() if isinstance(value, float)]
    for truth in (push, gain):
        assert any(abs(value / truth - 1) < 1e-3 for value in values), shown
    assert found.reward.exact and "wind" in found.reward.expression, shown
    model = found.program.bind("numpy")
    state = model.State(place=0.0, speed=0.0, wind=2.0)
    after = model.step(state, np.array([0.0]))
    assert after.speed == pytest.approx(2 * DT * push, rel=1e-3), shown
    assert after.wind == pytest.approx(2 * keep, abs=0.3), shown


class Raft(gym.Env):
    """A raft in a wind that is drawn anew in every step; it runs aground on the left, and is ashore on the right."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (3,), np.float64)
    action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float64)

    def __init__(self, ground: float, shore: float, push: float):
        self.ground, self.shore, self.push = ground, shore, push
        self.state = np.zeros(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = self.np_random.uniform(-0.1, 0.1, 3)
        return self.state.copy(), {}

    def step(self, action):
        x, v, wind = self.state
        v = v + 0.05 * (2 * float(action[0]) + self.push * wind - 0.5 * v)
        x = x + 0.05 * v
        if x < self.ground:
            x, v = self.ground, 0.0
        self.state = np.array([x, v, self.np_random.normal()])
        return self.state.copy(), -1.0, bool(x > self.shore), False, {}


def test_experiments_go_on_given_a_random_wind():
    rng = np.random.default_rng(FIXED)
    ground, shore, push = -rng.uniform(2, 3), rng.uniform(2, 3), rng.uniform(0.5, 1.5)
    world = open_world(gym.wrappers.TimeLimit(Raft(ground, shore, push), 60))
    found = discover(world, budget=800, seed=1)
    shown = f"{found}\n{found.program.text}"
    assert world.env_steps <= 800
    assert [field.role for field in found.reading.fields] == ["coordinate", "velocity", "exogenous"], shown
    (end,) = found.ends.thresholds
    assert end.bracket[0] <= shore <= end.bracket[1] and end.bracket[1] - end.bracket[0] < 0.01, shown
    values = [value for value in found.program.constants.values() if isinstance(value, float)]
    assert any(abs(value - ground) < 1e-3 for value in values), shown
    assert any(abs(value / push - 1) < 1e-3 for value in values), shown


def test_noise_that_nothing_depends_on_is_left_out():
    animal = extra_columns(np.random.default_rng(FIXED))
    reading = read_fields(animal.trajectories, animal.space)
    assert "noise" in [field.role for field in reading.fields]
    assert find_outside(reading, animal.trajectories, animal.space).columns == ()


@pytest.mark.parametrize("jumps_first", [True, False])
def test_laws_are_found_given_a_setpoint_that_jumps(jumps_first):
    rng = np.random.default_rng(FIXED)
    stiff, drag, gain = rng.uniform(4, 8), rng.uniform(1, 3), rng.uniform(2, 4)
    episodes = []
    for _ in range(8):
        y, v, goal = rng.uniform(-1, 1), 0.0, rng.uniform(-2, 2)
        seen, acted, paid = [(y, v, goal)], [], []
        for _ in range(100):
            action = np.float32(rng.uniform(-1, 1))
            v = v + DT * (stiff * (goal - y) - drag * v + float(np.float32(gain) * action))
            y = y + DT * v
            jumped = rng.uniform(-2, 2) if rng.uniform() < 0.04 else goal
            paid.append(-abs(y - (jumped if jumps_first else goal)))
            goal = jumped
            seen.append((y, v, goal))
            acted.append((action,))
        episodes.append(Trajectory(np.array(seen), np.array(acted), np.array(paid)))
    bounds = ((-1.0,), (1.0,))
    recording = Recording(tuple(episodes), ("place", "speed", "goal"), dt=DT, choices=False, bounds=bounds)
    found = discover(LogWorld(recording, "servo"))
    shown = f"{found}\n{found.program.text}"
    assert found.verdict == "explained" and "goal is exogenous" in found.why, shown
    assert found.reward.exact and "goal" in found.reward.expression, shown
    values = [abs(value) for value in found.program.constants.values() if isinstance(value, float)]
    for truth in (stiff, drag, gain):
        assert any(abs(value / truth - 1) < 1e-3 for value in values), shown
    model = found.program.bind("numpy")
    after = model.step(model.State(place=0.0, speed=0.0, goal=2.0), np.array([0.0]))
    assert after.goal == 2.0, shown
