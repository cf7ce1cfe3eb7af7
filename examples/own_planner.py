"""A program in one's own hands: its compiled rollouts in a planner
of one's own, and the program itself as a Gymnasium environment.
"""

from pathlib import Path

import gymnasium as gym
import numpy as np

import visualpatchworld as vpw

INDUCED = Path(__file__).parent.parent / "programs" / "tworoom" / "world_model.py"
HORIZON, CANDIDATES, TEMPERATURE_PX = 20, 512, 4.0


class Imagined(gym.Env):
    """The world as the program has it; a reinforcement learner can practise here, since no engine is needed."""

    def __init__(self, program: vpw.Program, goal: np.ndarray):
        self.dynamics, self.goal = program.bind("numpy"), goal
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, goal.shape, np.float64)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = self.dynamics.State(*(options or {}).get("state", self.np_random.uniform(40, 90, 2)))
        return np.array(self.state), {}

    def step(self, action):
        self.state = self.dynamics.step(self.state, action)
        distance = float(np.linalg.norm(np.array(self.state) - self.goal))
        return np.array(self.state), -distance, distance < 16, False, {}


def path_integral_plan(rollouts, state, goal, mean, rng):
    """MPPI in four lines: draw around the last plan, foresee all
    draws in one compiled call, average them by how near they come.
    """
    actions = np.clip(mean + 0.8 * rng.normal(size=(CANDIDATES, *mean.shape)), -1, 1)
    distance = np.linalg.norm(np.asarray(rollouts(state, actions)) - goal, axis=-1).mean(axis=1)
    weights = np.exp(-(distance - distance.min()) / TEMPERATURE_PX)
    return np.einsum("k,kha->ha", weights / weights.sum(), actions)


world = vpw.load_domain("tworoom")
program = vpw.load_program(world, INDUCED)
rollouts = vpw.compile_rollouts(program)  # one state (S) and K action sequences (K H A) -> states (K H S)
rng = np.random.default_rng(0)
start, goal = np.array([60.0, 60.0]), np.array([160.0, 50.0])  # in the other room, behind the door

for name, env in {"imagined": Imagined(program, goal), "true": gym.make("vpw/TwoRoom-v0").unwrapped}.items():
    state, _ = env.reset(seed=0, options={"state": start})
    mean, steps = np.zeros((HORIZON, 2)), 0
    while np.linalg.norm(state - goal) >= 16 and steps < 60:
        mean = path_integral_plan(rollouts, state, goal, mean, rng)
        state, *_ = env.step(mean[0])
        mean, steps = np.concatenate([mean[1:], np.zeros((1, 2))]), steps + 1
    print(f"{name} world: {np.linalg.norm(state - goal):.1f} px from the goal after {steps} steps")
