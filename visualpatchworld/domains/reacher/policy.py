"""Data for Reacher: random torques."""

from __future__ import annotations

import numpy as np

from visualpatchworld.domain import Policy
from visualpatchworld.domains.reacher.simulator import Reacher


def random_torques(simulator: Reacher, rng: np.random.Generator) -> Policy:
    """A new uniform action each step; it needs to see nothing."""
    return lambda: rng.uniform(-1.0, 1.0, simulator.action_dim)
