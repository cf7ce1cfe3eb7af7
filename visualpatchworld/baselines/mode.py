"""The mode of a product of experts, in plain Python: the source of these functions stands in every program that PoE-World emits."""

from __future__ import annotations

import inspect
import math


def opinion_of(expert, state, action):
    """What an expert foresees, or None where it says nothing, fails or is no number."""
    try:
        value = expert(state, action)
        return None if value is None or value != value else float(value)
    except Exception:
        return None


def log_bump(distance):
    """The logarithm of an opinion so many tolerances away from the foreseen value."""
    return math.log((1 - 1e-6) * math.exp(-min(distance * distance / 0.18, 100.0)) + 1e-6)


def likeliest(now, tolerance, weighted):
    """The foreseen value that all experts together find likeliest; where none speaks, the value stays."""
    spoken = [(value, weight) for value, weight in weighted if value is not None]
    best, best_score = now, -math.inf
    for value, _ in spoken:
        score = sum(weight * log_bump((value - other) / tolerance) for other, weight in spoken)
        if score > best_score:
            best, best_score = value, score
    return best


STEP = '''def step(state, action):
    """Every field becomes what its experts together find likeliest."""
    after = {}
    for name, (tolerance, experts) in EXPERTS.items():
        opinions = [(opinion_of(expert, state, action), weight) for expert, weight in experts]
        after[name] = likeliest(state._asdict()[name], tolerance, opinions)
    return State(**after)
'''


def mode_text() -> str:
    """The functions as they stand in a program."""
    return "\n\n".join([*(inspect.getsource(function) for function in (opinion_of, log_bump, likeliest)), STEP])
