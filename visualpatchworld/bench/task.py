"""Tasks: a row of an episode to start from, and a later row of it as the goal."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from visualpatchworld.errors import VpwError
from visualpatchworld.trace.episode import Episode


class TooFewTasks(VpwError):
    """The episodes do not hold as many tasks as were asked for."""


@dataclass(frozen=True)
class Task:
    """Where to start and what to reach."""

    number: int
    episode: int
    step: int
    engine_state: Float[np.ndarray, " E"]
    state: Float[np.ndarray, " S"]
    goal: Float[np.ndarray, " S"]
    goal_engine_state: Float[np.ndarray, " E"]


def draw_tasks(episodes: Sequence[Episode], *, count: int, offset: int, seed: int) -> tuple[Task, ...]:
    """`count` tasks whose goals lie `offset` steps after their starts, drawn without replacement and sorted by place."""
    places = [(episode, t) for episode in episodes for t in range(len(episode) - offset)]
    if len(places) < count:
        raise TooFewTasks(
            f"The episodes hold {len(places)} tasks with a goal {offset} steps ahead, not {count}; ask for fewer, or for a smaller --offset."
        )
    chosen = np.sort(np.random.default_rng(seed).choice(len(places), count, replace=False))
    return tuple(
        Task(
            number,
            episode.index,
            t,
            episode.engine_states[t],
            episode.states[t],
            episode.states[t + offset],
            episode.engine_states[t + offset],
        )
        for number, (episode, t) in enumerate(places[i] for i in chosen)
    )


def hash_tasks(tasks: Sequence[Task]) -> str:
    """A short fingerprint of starts and goals."""
    digest = hashlib.sha256()
    for task in tasks:
        digest.update(np.round(np.concatenate([task.state, task.goal]), 6).tobytes())
    return digest.hexdigest()[:12]
