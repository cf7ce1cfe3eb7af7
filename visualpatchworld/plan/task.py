"""A task: where to start, what to reach, and what was seen just before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Task:
    """A start and a goal, both as engine states (to be put into a world, or drawn) and as observed states."""

    number: int
    episode: int
    step: int
    start_engine_state: Float[np.ndarray, " E"]
    start: Float[np.ndarray, " S"]
    goal_engine_state: Float[np.ndarray, " E"]
    goal: Float[np.ndarray, " S"]
    earlier_engine_states: Float[np.ndarray, "B E"]  # the steps before the start, for whoever has to see motion
    earlier_actions: Float[np.ndarray, "B A"]  # the action taken in each of them
