"""Experts written by qwen2.5-coder-1.5b-instruct-q4_k_m in a poe-world search, multiplied."""


from typing import NamedTuple
import math
import numpy as np


class State(NamedTuple):
    agent_x: float  # px
    agent_y: float  # px
    block_x: float  # px
    block_y: float  # px
    block_angle: float  # rad
    agent_vx: float  # px/s
    agent_vy: float  # px/s


def make_0():
    def agent_x(state, action):
        return state.agent_x + action[0] * 10
    return agent_x

expert_0 = make_0()


# field: its tolerance, and the experts that foresee it with their weights
EXPERTS = {
    "agent_x": (1, [(expert_0, 0.0864721)]),
    "agent_y": (1, []),
    "block_x": (1, []),
    "block_y": (1, []),
    "block_angle": (0.0175, []),
    "agent_vx": (1.86882, []),
    "agent_vy": (1.88885, []),
}


def log_bump(distance):
    """The logarithm of an opinion so many tolerances away from the foreseen value."""
    return np.log((1 - 1e-6) * np.exp(-np.minimum(distance * distance / 0.18, 100.0)) + 1e-6)


def likeliest(now, tolerance, opinions):
    """The foreseen value that all experts together find likeliest; where none speaks, the value stays."""
    spoken = [(value, weight) for value, weight in opinions if value is not None]
    if len(spoken) < 2:
        return spoken[0][0] if spoken else now
    best, best_score = now, -math.inf
    for value, _ in spoken:
        score = sum(weight * log_bump((value - other) / tolerance) for other, weight in spoken)
        best, best_score = np.where(score > best_score, value, best), np.maximum(score, best_score)
    return best


def step(state, action):
    """Every field becomes what its experts together find likeliest."""
    after = {}
    for name, (tolerance, experts) in EXPERTS.items():
        opinions = [(expert(state, action), weight) for expert, weight in experts]
        after[name] = likeliest(state._asdict()[name], tolerance, opinions)
    return State(**after)
