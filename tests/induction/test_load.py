"""The same seed gives the same program on a fast machine and on one that computes for longer.

Other processes do not change what a search finds: its clock counts CPU time (`test_clock.py`).
"""

import gymnasium as gym
import numpy as np
import pytest

from visualpatchworld.induction import clock
from visualpatchworld.induction.discover import discover
from visualpatchworld.world.open import open_world


class Sled(gym.Env):
    """A sled with drag and a stiffening spring between two walls, paid for lying near the middle."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = self.np_random.uniform(-0.5, 0.5, 2)
        return self.state.copy(), {}

    def step(self, action):
        x, v = self.state
        v = v + 0.05 * (3.0 * float(action[0]) - 0.4 * v - 1.5 * x**3)
        x = x + 0.05 * v
        if abs(x) > 1.2:
            x, v = 1.2 * np.sign(x), -0.5 * v
        self.state = np.array([x, v])
        return self.state.copy(), -(x**2) - 0.1 * v**2, False, False, {}


@pytest.mark.parametrize("slower", [3.0, 10.0])
def test_a_slower_machine_finds_the_same_program(slower, monkeypatch):
    def found() -> str:
        return discover(open_world(gym.wrappers.TimeLimit(Sled(), 80)), budget=900, seed=2).program.text

    idle = found()
    began, now = clock.time.process_time(), clock.time.process_time
    # Every second that the search computes takes so many by its clock.
    monkeypatch.setattr(clock.time, "process_time", lambda: began + slower * (now() - began))
    assert found() == idle and "Verdict: explained" in idle
