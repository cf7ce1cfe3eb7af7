"""Train a policy inside a program, and run it in the true world, of which training takes not a single step.

Needs an environment of its own: pip install visualpatchworld 'skrl[jax]'
"""

import argparse
import time
from typing import Any

import flax.linen as nn
import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from skrl.agents.jax.ppo import PPO, PPO_CFG
from skrl.envs.wrappers.jax import Wrapper
from skrl.memories.jax import RandomMemory
from skrl.models.jax import DeterministicMixin, GaussianMixin, Model
from skrl.trainers.jax import SequentialTrainer
from skrl.utils import set_seed

import visualpatchworld as vpw
from visualpatchworld.program.env import ProgramEnv

WORLD, TIME_LIMIT, COPIES, ROLLOUT = "Pendulum-v1", 200, 512, 32
FIRST_SEED = 1000  # of the episodes that the policy is tested on; it was trained from starts with other seeds


class Copies(Wrapper):
    """Copies of a program's world as skrl asks for them."""

    def __init__(self, env: Any, space: gym.Space, seed: int):
        super().__init__(env)
        self._space, self._key = space, jax.random.key(seed)
        self._copies, self._seen = env.reset(self._key)

    num_envs = property(lambda self: self._env.num_envs)
    action_space = property(lambda self: self._space)
    observation_space = property(lambda self: gym.spaces.Box(-np.inf, np.inf, self._seen.shape[1:]))

    def reset(self):
        self._copies, self._seen = self._env.reset(self._key)
        return self._seen, {}

    def step(self, actions):
        self._copies, seen = self._env.step(self._copies, actions)
        self._seen = seen.observations
        return self._seen, seen.rewards[:, None], seen.terminated[:, None], seen.truncated[:, None], {}

    def state(self): ...

    def render(self): ...

    def close(self): ...


class Policy(GaussianMixin, Model):
    def __init__(self, **spaces: Any):
        Model.__init__(self, **spaces)
        GaussianMixin.__init__(self, clip_actions=True)

    @nn.compact
    def __call__(self, inputs, role=""):
        hidden = nn.tanh(nn.Dense(64)(nn.tanh(nn.Dense(64)(inputs["observations"]))))
        mean = self.action_space.high * nn.tanh(nn.Dense(self.num_actions)(hidden))  # pyright: ignore
        return mean, {"log_std": self.param("log_std", nn.initializers.zeros, self.num_actions)}


class Value(DeterministicMixin, Model):
    def __init__(self, **spaces: Any):
        Model.__init__(self, **spaces)
        DeterministicMixin.__init__(self)

    @nn.compact
    def __call__(self, inputs, role=""):
        return nn.Dense(1)(nn.tanh(nn.Dense(64)(nn.tanh(nn.Dense(64)(inputs["observations"]))))), {}


def train(program: vpw.Program, starts: np.ndarray, space: gym.Space, steps: int, seed: int) -> PPO:
    """A policy that has seen nothing but the program."""
    set_seed(seed)
    env = Copies(vpw.as_vector_env(program, num_envs=COPIES, starts=starts, time_limit=TIME_LIMIT), space, seed)
    spaces = {"observation_space": env.observation_space, "action_space": space, "device": env.device}
    models = {"policy": Policy(**spaces), "value": Value(**spaces)}
    for role, model in models.items():
        model.init_state_dict(role=role)
    settings = PPO_CFG(
        rollouts=ROLLOUT,
        mini_batches=8,
        discount_factor=0.95,
        time_limit_bootstrap=True,
        rewards_shaper=lambda rewards, *_: 0.1 * rewards,
    )
    settings.experiment.write_interval = settings.experiment.checkpoint_interval = 0
    agent = PPO(models=models, memory=RandomMemory(memory_size=ROLLOUT, num_envs=COPIES), cfg=settings, **spaces)
    SequentialTrainer(env=env, agents=agent, cfg={"timesteps": steps, "headless": True}).train()
    return agent


def returns(env: gym.Env, agent: PPO | None, starts: np.ndarray) -> np.ndarray:
    """What whole episodes earn from these starts, which the true
    world's own seeds give; without an agent, actions are random.
    """
    begin = isinstance(env, ProgramEnv)
    earned = np.zeros(len(starts))
    env.action_space.seed(0)
    for episode, start in enumerate(starts):
        seen, _ = env.reset(seed=FIRST_SEED + episode, options={"observation": start} if begin else None)
        over = False
        while not over:
            action = env.action_space.sample()
            if agent is not None:
                _, told = agent.policy.act({"observations": jnp.asarray(seen, jnp.float32)[None]}, role="policy")
                action = np.asarray(told["mean_actions"][0])
            seen, reward, terminated, truncated, _ = env.step(action)
            earned[episode] += float(reward)
            over = terminated or truncated
    return earned


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=6400, help="of every copy")
    steps = parser.parse_args().steps
    true = gym.make(WORLD)
    found = vpw.induce(WORLD, seed=0)
    print(f"{found.verdict}: {found.why}")
    starts = np.stack([true.reset(seed=i)[0] for i in range(256)])
    began = time.perf_counter()
    agent = train(found.program, starts, true.action_space, steps, seed=0)
    seconds = time.perf_counter() - began
    agent.enable_training_mode(False)
    imagined = vpw.as_env(found.program, starts=starts, action_space=true.action_space, time_limit=TIME_LIMIT)
    tests = np.stack([true.reset(seed=FIRST_SEED + i)[0] for i in range(20)])
    for place, env, policy in (
        ("program", imagined, agent),
        ("true world", true, agent),
        ("true world, random actions", true, None),
    ):
        earned = returns(env, policy, tests)
        print(f"return in the {place}: {earned.mean():.1f} +- {earned.std():.1f}")
    print(f"{COPIES * steps:,} steps in the program in {seconds:.0f} s")
