"""Data for the puck: a push for a while, then nothing for a while, so that friction shows."""

from __future__ import annotations

import numpy as np

from visualpatchworld.domain import Policy
from visualpatchworld.simulator import Simulator

STEPS = 5  # of a push, and of the coasting after it


def push_and_coast(simulator: Simulator, rng: np.random.Generator) -> Policy:
    """Pushes of random strength towards the middle, with pauses; the episode ends at the step limit."""
    step, push = 0, np.zeros(2)

    def act() -> np.ndarray:
        nonlocal step, push
        if step % (2 * STEPS) == 0:
            push = np.clip(-0.2 * simulator.observe()[:2] + rng.uniform(-1.0, 1.0, 2), -1.0, 1.0)
        step += 1
        return push if (step - 1) % (2 * STEPS) < STEPS else np.zeros(2)

    return act
