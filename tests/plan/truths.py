"""Programs written by hand of well-known worlds: they stand in for induced ones where planning itself is tested."""

from visualpatchworld.program.program import Program

PENDULUM = Program("""
from typing import NamedTuple
import jax.numpy as np

class State(NamedTuple):
    theta: float
    omega: float

def step(state, action):
    torque = np.clip(action[0], -2.0, 2.0)
    omega = np.clip(state.omega + 0.05 * (15.0 * np.sin(state.theta) + 3.0 * torque), -8.0, 8.0)
    return State(state.theta + 0.05 * omega, omega)

def observe(state):
    return np.cos(state.theta), np.sin(state.theta), state.omega

def read(observation):
    return State(np.arctan2(observation[1], observation[0]), observation[2])

def reward(state, action, next_state):
    angle = np.mod(state.theta + np.pi, 2 * np.pi) - np.pi
    return -(angle**2 + 0.1 * state.omega**2 + 0.001 * np.clip(action[0], -2.0, 2.0) ** 2)
""")

CARTPOLE = Program("""
from typing import NamedTuple
import jax.numpy as np

class State(NamedTuple):
    x: float
    v: float
    theta: float
    omega: float

def step(state, action):
    force = 20.0 * action[0] - 10.0
    push = (force + 0.05 * state.omega**2 * np.sin(state.theta)) / 1.1
    spin = (9.8 * np.sin(state.theta) - np.cos(state.theta) * push) / (0.5 * (4.0 / 3.0 - 0.1 * np.cos(state.theta) ** 2 / 1.1))
    pull = push - 0.05 * spin * np.cos(state.theta) / 1.1
    return State(state.x + 0.02 * state.v, state.v + 0.02 * pull, state.theta + 0.02 * state.omega, state.omega + 0.02 * spin)

def reward(state, action, next_state):
    return 1.0

def terminated(state):
    return (np.abs(state.x) > 2.4) | (np.abs(state.theta) > 0.20943951)
""")

MOUNTAIN_CAR = Program("""
from typing import NamedTuple
import jax.numpy as np

class State(NamedTuple):
    x: float
    v: float

def step(state, action):
    v = np.clip(state.v + 0.001 * (action[0] - 1) - 0.0025 * np.cos(3 * state.x), -0.07, 0.07)
    x = np.clip(state.x + v, -1.2, 0.6)
    return State(x, np.where((x <= -1.2) & (v < 0), 0.0, v))

def reward(state, action, next_state):
    return -1.0

def terminated(state):
    return state.x >= 0.5
""")

MOUNTAIN_CAR_CONTINUOUS = Program("""
from typing import NamedTuple
import jax.numpy as np

class State(NamedTuple):
    x: float
    v: float

def step(state, action):
    v = np.clip(state.v + 0.0015 * np.clip(action[0], -1.0, 1.0) - 0.0025 * np.cos(3 * state.x), -0.07, 0.07)
    x = np.clip(state.x + v, -1.2, 0.6)
    return State(x, np.where((x <= -1.2) & (v < 0), 0.0, v))

def reward(state, action, next_state):
    return 100.0 * (next_state.x >= 0.45) - 0.1 * action[0] ** 2

def terminated(state):
    return state.x >= 0.45
""")

ACROBOT = Program("""
from typing import NamedTuple
import jax.numpy as np

class State(NamedTuple):
    first: float
    second: float
    first_speed: float
    second_speed: float

def rates(state, torque):
    d1 = 0.25 + (1.0 + 0.25 + np.cos(state.second)) + 2.0
    d2 = 0.25 + 0.5 * np.cos(state.second) + 1.0
    phi2 = 0.5 * 9.8 * np.cos(state.first + state.second - np.pi / 2)
    phi1 = (-0.5 * state.second_speed**2 * np.sin(state.second) - state.second_speed * state.first_speed * np.sin(state.second)
            + 1.5 * 9.8 * np.cos(state.first - np.pi / 2) + phi2)
    second = (torque + d2 / d1 * phi1 - 0.5 * state.first_speed**2 * np.sin(state.second) - phi2) / (0.25 + 1.0 - d2**2 / d1)
    return State(state.first_speed, state.second_speed, -(d2 * second + phi1) / d1, second)

def moved(state, slope, time):
    return State(*(a + time * b for a, b in zip(state, slope)))

def step(state, action):
    torque = action[0] - 1
    k1 = rates(state, torque)
    k2 = rates(moved(state, k1, 0.1), torque)
    k3 = rates(moved(state, k2, 0.1), torque)
    k4 = rates(moved(state, k3, 0.2), torque)
    after = State(*(a + 0.2 / 6 * (b + 2 * c + 2 * d + e) for a, b, c, d, e in zip(state, k1, k2, k3, k4)))
    first_speed, second_speed = np.clip(after.first_speed, -4 * np.pi, 4 * np.pi), np.clip(after.second_speed, -9 * np.pi, 9 * np.pi)
    return State(after.first, after.second, first_speed, second_speed)

def observe(state):
    return np.cos(state.first), np.sin(state.first), np.cos(state.second), np.sin(state.second), state.first_speed, state.second_speed

def read(observation):
    c1, s1, c2, s2, first, second = (observation[i] for i in range(6))
    return State(np.arctan2(s1, c1), np.arctan2(s2, c2), first, second)

def reward(state, action, next_state):
    return np.where(terminated(next_state), 0.0, -1.0)

def terminated(state):
    return -np.cos(state.first) - np.cos(state.first + state.second) > 1.0
""")
