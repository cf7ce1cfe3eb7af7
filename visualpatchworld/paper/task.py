"""Tasks drawn from episodes, and what attempts at them add up to."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest

from visualpatchworld.domain import Metric
from visualpatchworld.errors import VpwError
from visualpatchworld.paper.cell import Outcome
from visualpatchworld.plan.control import Task
from visualpatchworld.trace.episode import Episode


def wilson_percent(successes: int, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share, in percent."""
    interval = binomtest(successes, count).proportion_ci(0.95, method="wilson")
    return 100 * float(interval.low), 100 * float(interval.high)


NUM_EARLIER = 3  # steps before a start that a task carries along


class TooFewTasks(VpwError):
    """The episodes do not hold as many tasks as were asked for."""


def draw_tasks(episodes: Sequence[Episode], *, count: int, offset: int, seed: int) -> tuple[Task, ...]:
    """`count` tasks whose goals lie `offset` steps after their starts, drawn without replacement and sorted by place."""
    places = [(episode, t) for episode in episodes for t in range(episode.num_rows - offset)]
    if len(places) < count:
        raise TooFewTasks(
            f"The episodes hold {len(places)} tasks with a goal {offset} steps ahead, not {count}; "
            "ask for fewer, or for a smaller --offset."
        )
    chosen = np.sort(np.random.default_rng(seed).choice(len(places), count, replace=False))
    return tuple(_task(number, *places[i], goal=Row(places[i][0], places[i][1] + offset)) for number, i in enumerate(chosen))


MOST_DRAWS = 1000  # for one task, before it is believed that there is none


def draw_far_tasks(
    episodes: Sequence[Episode], *, count: int, seed: int, met: Metric, given: Row | None = None, moves: bool = False
) -> tuple[Task, ...]:
    """`count` tasks whose goals are rows of other episodes than their starts, or one given row; none is solved at its start.

    A goal that moves goes on as its episode does.
    """
    rng = np.random.default_rng(seed)
    rows = [Row(episode, step) for episode in episodes for step in range(episode.num_rows)]
    tasks: list[Task] = []
    for _ in range(MOST_DRAWS * count):
        start, goal = rows[rng.integers(len(rows))], given or rows[rng.integers(len(rows))]
        if start.episode is not goal.episode and not met(start.state, goal.state):
            task = _task(len(tasks), start.episode, start.step, goal=goal)
            tasks.append(replace(task, goal=goal.episode.observations[goal.step :]) if moves else task)
        if len(tasks) == count:
            return tuple(tasks)
    raise TooFewTasks("The episodes hold no start that is of another episode than its goal and does not meet it already.")


class Row(NamedTuple):
    """A moment of an episode."""

    episode: Episode
    step: int

    @property
    def state(self) -> np.ndarray:
        return self.episode.observations[self.step]


def _task(number: int, episode: Episode, step: int, *, goal: Row) -> Task:
    earlier = slice(max(0, step - NUM_EARLIER), step)
    return Task(
        number=number,
        episode=episode.index,
        step=step,
        start_engine_state=episode.engine_states[step],
        start=episode.observations[step],
        goal_engine_state=goal.episode.engine_states[goal.step],
        goal=goal.state,
        earlier_engine_states=episode.engine_states[earlier],
        earlier_actions=episode.actions[earlier],
    )


def hash_tasks(tasks: Sequence[Task]) -> str:
    """A short fingerprint of starts and goals."""
    digest = hashlib.sha256()
    for task in tasks:
        digest.update(np.round(np.concatenate([task.start, task.goal.ravel()]), 6).tobytes())
    return digest.hexdigest()[:12]


@dataclass(frozen=True)
class Summary:
    """Success in percent, over all tasks and over those not solved at their start."""

    n: int
    success: float
    ci95: tuple[float, float]
    n_unsolved: int
    success_unsolved: float | None
    plans: int
    engine_rollouts_per_plan: float
    non_finite: int
    seconds_per_plan_median: float | None


def summarize(outcomes: Sequence[Outcome]) -> Summary:
    """The outcomes of one cell, or of several that differ only in their seed."""
    unsolved = [outcome for outcome in outcomes if not outcome.solved_at_start]
    successes = sum(outcome.success for outcome in outcomes)
    plans = sum(outcome.plans for outcome in outcomes)
    seconds = [value for outcome in outcomes for value in outcome.plan_seconds]
    low, high = wilson_percent(successes, len(outcomes))
    return Summary(
        n=len(outcomes),
        success=100 * successes / len(outcomes),
        ci95=(round(low, 1), round(high, 1)),
        n_unsolved=len(unsolved),
        success_unsolved=100 * sum(outcome.success for outcome in unsolved) / len(unsolved) if unsolved else None,
        plans=plans,
        engine_rollouts_per_plan=sum(outcome.engine_rollouts for outcome in outcomes) / plans if plans else 0.0,
        non_finite=sum(outcome.non_finite for outcome in outcomes),
        seconds_per_plan_median=float(np.median(seconds)) if seconds else None,
    )
