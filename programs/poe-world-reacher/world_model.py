"""Experts written by qwen2.5-coder-1.5b-instruct-q4_k_m in a poe-world search, multiplied."""


from typing import NamedTuple
import math
import numpy as np


class State(NamedTuple):
    shoulder: float  # rad
    wrist: float  # rad
    shoulder_velocity: float  # rad/s
    wrist_velocity: float  # rad/s
    finger_x: float  # m
    finger_y: float  # m


def make_0():
    def shoulder(state, action):
        shoulder = state.shoulder
        shoulder_velocity = state.shoulder_velocity
    
        # Assuming the action is a vector [x, y] in radians per second
        # The new shoulder angle can be calculated by adding the action to the current shoulder angle
        new_shoulder_angle = shoulder + action[0] * shoulder_velocity
    
        # Ensure the new shoulder angle is within the range of [-pi, pi]
        new_shoulder_angle = math.atan2(math.sin(new_shoulder_angle), math.cos(new_shoulder_angle))
    
        return new_shoulder_angle
    return shoulder

expert_0 = make_0()


# field: its tolerance, and the experts that foresee it with their weights
EXPERTS = {
    "shoulder": (0.0025, [(expert_0, 0.0506271)]),
    "wrist": (0.0025, []),
    "shoulder_velocity": (0.054634, []),
    "wrist_velocity": (0.125829, []),
    "finger_x": (0.0025, []),
    "finger_y": (0.0025, []),
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
