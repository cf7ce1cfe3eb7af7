"""Train a policy inside a program, and run it in the true world, of which training takes not a single step.

Needs an environment of its own: pip install visualpatchworld 'skrl[jax]'
"""

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

WORLD, TIME_LIMIT, COPIES, STEPS, ROLLOUT = "Pendulum-v1", 200, 512, 6400, 32


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


def train(program: vpw.Program, starts: np.ndarray, space: gym.Space, seed: int) -> PPO:
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
    SequentialTrainer(env=env, agents=agent, cfg={"timesteps": STEPS, "headless": True}).train()
    return agent


def returns(env: gym.Env, agent: PPO | None, episodes: int) -> np.ndarray:
    """What whole episodes earn; without an agent, actions are drawn evenly."""
    earned = np.zeros(episodes)
    env.action_space.seed(0)
    for episode in range(episodes):
        seen, _ = env.reset(seed=1000 + episode)
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
    true = gym.make(WORLD)
    found = vpw.induce(WORLD, seed=0)
    print(f"{found.verdict}: {found.why}")
    starts = np.stack([true.reset(seed=i)[0] for i in range(256)])
    began = time.perf_counter()
    agent = train(found.program, starts, true.action_space, seed=0)
    seconds = time.perf_counter() - began
    agent.enable_training_mode(False)
    imagined = vpw.as_env(found.program, starts=starts, action_space=true.action_space, time_limit=TIME_LIMIT)
    for place, env, policy in (("program", imagined, agent), ("true world", true, agent), ("true world, random actions", true, None)):
        earned = returns(env, policy, 20)
        print(f"return in the {place}: {earned.mean():.1f} +- {earned.std():.1f}")
    print(f"{COPIES * STEPS:,} steps in the program in {seconds:.0f} s")
