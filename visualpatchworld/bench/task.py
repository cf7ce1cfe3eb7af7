"""Drawing tasks: a row of an episode to start from, and a later row of it as the goal."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from visualpatchworld.errors import VpwError
from visualpatchworld.plan.task import Task
from visualpatchworld.trace.episode import Episode

NUM_EARLIER = 3  # steps before a start that a task carries along


class TooFewTasks(VpwError):
    """The episodes do not hold as many tasks as were asked for."""


def draw_tasks(episodes: Sequence[Episode], *, count: int, offset: int, seed: int) -> tuple[Task, ...]:
    """`count` tasks whose goals lie `offset` steps after their starts, drawn without replacement and sorted by place."""
    places = [(episode, t) for episode in episodes for t in range(len(episode) - offset)]
    if len(places) < count:
        raise TooFewTasks(
            f"The episodes hold {len(places)} tasks with a goal {offset} steps ahead, not {count}; "
            "ask for fewer, or for a smaller --offset."
        )
    chosen = np.sort(np.random.default_rng(seed).choice(len(places), count, replace=False))
    return tuple(_task(number, *places[i], offset=offset) for number, i in enumerate(chosen))


def _task(number: int, episode: Episode, step: int, *, offset: int) -> Task:
    earlier = slice(max(0, step - NUM_EARLIER), step)
    return Task(
        number=number,
        episode=episode.index,
        step=step,
        start_engine_state=episode.engine_states[step],
        start=episode.states[step],
        goal_engine_state=episode.engine_states[step + offset],
        goal=episode.states[step + offset],
        earlier_engine_states=episode.engine_states[earlier],
        earlier_actions=episode.actions[earlier],
    )


def hash_tasks(tasks: Sequence[Task]) -> str:
    """A short fingerprint of starts and goals."""
    digest = hashlib.sha256()
    for task in tasks:
        digest.update(np.round(np.concatenate([task.start, task.goal]), 6).tobytes())
    return digest.hexdigest()[:12]
