"""A program of an environment of your own: a boat that steers, drifts, and is paid for being near a buoy."""

import gymnasium as gym
import numpy as np

import visualpatchworld as vpw


class Boat(gym.Env):
    observation_space = gym.spaces.Box(-np.inf, np.inf, (4,), np.float64)
    action_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = self.np_random.uniform([-4, -4, -3, 0], [4, 4, 3, 0.5])
        return self.state.copy(), {}

    def step(self, action):
        x, y, heading, speed = self.state
        speed += 0.1 * (1.5 * action[0] - 0.3 * speed * abs(speed))
        heading += 0.08 * action[1]
        self.state = np.array([x + 0.1 * speed * np.cos(heading), y + 0.1 * speed * np.sin(heading), heading, speed])
        return self.state.copy(), -float(np.hypot(*self.state[:2])), bool(abs(self.state[0]) > 8), False, {}


boat = gym.wrappers.TimeLimit(Boat(), 100)
found = vpw.induce(boat, seed=0)  # it is only reset and stepped; nobody reads the equations above
print(found)
print(found.program)

earned = vpw.evaluate_return(boat, found.program, episodes=2, seed=0).report
print(f"planned return {earned['return_mean']:.0f}, random actions {earned['random_return']:.0f}")
