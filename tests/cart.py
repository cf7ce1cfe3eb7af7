"""A cart whose speed is not observed: as a program, and as the environment that the program describes."""

from typing import Any

import gymnasium as gym
import numpy as np

from visualpatchworld.program.program import Program

# A cart on a rail that ends beyond 2 m; its speed is not observed, so that it has to be followed.
CART = Program("""from typing import NamedTuple

import numpy as np

GAIN = 2.0


class State(NamedTuple):
    x: float
    speed: float = 0.0


def step(state, action):
    speed = 0.9 * state.speed + 0.1 * GAIN * action[0]
    return State(x=state.x + 0.1 * speed, speed=speed)


def observe(state):
    return (np.sin(state.x), np.cos(state.x))


def read(observation):
    return State(x=np.arctan2(observation[0], observation[1]))


def reward(state, action, next_state):
    return -((next_state.x - 0.3) ** 2) - 0.001 * action[0] ** 2


def terminated(state):
    return np.abs(state.x) > 2.0


def valid(state):
    return state.speed < 5.0
""")
CART_ID = "SandboxedCart-v0"
SPACE = gym.spaces.Box(-1.0, 1.0, (1,), np.float64)


class Cart(gym.Env[np.ndarray, Any]):
    """The cart itself, told apart from its program by a text of its own."""

    observation_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float64)
    action_space = SPACE

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.x, self.speed = float(self.np_random.uniform(-1.0, 1.0)), 0.0
        return self.seen(), {}

    def step(self, action: Any):
        self.speed = 0.9 * self.speed + 0.2 * float(action[0])
        self.x += 0.1 * self.speed
        return self.seen(), -((self.x - 0.3) ** 2) - 0.001 * float(action[0]) ** 2, abs(self.x) > 2.0, False, {}

    def seen(self) -> np.ndarray:
        return np.array([np.sin(self.x), np.cos(self.x)])


gym.register(CART_ID, entry_point=lambda **_: Cart(), max_episode_steps=12)
