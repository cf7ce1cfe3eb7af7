"""The mode of a product of experts, in plain Python: the source of these functions stands in every program that PoE-World emits."""

from __future__ import annotations

import inspect
import math

import numpy as np


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


STEP = '''def step(state, action):
    """Every field becomes what its experts together find likeliest."""
    after = {}
    for name, (tolerance, experts) in EXPERTS.items():
        opinions = [(expert(state, action), weight) for expert, weight in experts]
        after[name] = likeliest(state._asdict()[name], tolerance, opinions)
    return State(**after)
'''


def mode_text() -> str:
    """The functions as they stand in a program."""
    return "\n\n".join([*(inspect.getsource(function) for function in (log_bump, likeliest)), STEP])
