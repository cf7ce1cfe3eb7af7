"""Data for the slider: uniform random pushes."""

from __future__ import annotations

import numpy as np

from visualpatchworld.domain import Policy
from visualpatchworld.simulator import Simulator


def random_pushes(simulator: Simulator, rng: np.random.Generator) -> Policy:
    """A push of any strength each step; the episode ends at the step limit."""
    return lambda: rng.uniform(-1.0, 1.0, simulator.action_dim)
