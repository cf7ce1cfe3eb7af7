"""Evaluating: every task of a cell is tried once in the true world; what was done before is not done again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from visualpatchworld.bench.cell import Cell, Outcome, open_cell
from visualpatchworld.bench.versions import versions
from visualpatchworld.domain import Metric
from visualpatchworld.plan.control import Attempt, follow
from visualpatchworld.plan.task import Task
from visualpatchworld.simulator import Simulator

SIGNIFICANT_DIGITS = 7
Try = Callable[[Task, Simulator], Attempt]


def evaluate(
    folder: Path, cell: Cell, tasks: Sequence[Task], make_world: Callable[[], Simulator], attempt: Callable[[], Try]
) -> Iterator[Outcome]:
    """The outcome of each task, from the cell's file or computed now; `attempt` is only called when something is missing."""
    with open_cell(folder, cell, versions()) as file:
        missing = [task for task in tasks if task.number not in file.outcomes]
        yield from (file.outcomes[task.number] for task in tasks if task.number in file.outcomes)
        if not missing:
            return
        world, act = make_world(), attempt()
        for task in missing:
            world.reset(seed=cell.seed, options={"engine_state": task.start_engine_state})
            outcome = outcome_of(task, act(task, world))
            file.add(outcome)
            yield outcome


def resting(meets: Metric, budget: int) -> Try:
    """The floor of doing nothing."""
    return lambda task, world: follow(world, task.goal, meets, np.zeros((budget, world.action_dim)))


def acting_at_random(meets: Metric, budget: int, seed: int) -> Try:
    """The floor of acting at random; a task's actions depend on the seed and its number alone."""

    def attempt(task: Task, world: Simulator) -> Attempt:
        rng = np.random.default_rng([seed, task.number])
        return follow(world, task.goal, meets, rng.uniform(-1.0, 1.0, (budget, world.action_dim)))

    return attempt


def without_program(meets: Metric) -> Try:
    """What a method achieves that has no program to plan with: it never acts, and fails even where nothing was left to do."""

    def attempt(task: Task, world: Simulator) -> Attempt:
        state = world.observe()
        return Attempt(False, bool(meets(state, task.goal)), state[None], np.empty((0, world.action_dim)), ())

    return attempt


def outcome_of(task: Task, attempt: Attempt) -> Outcome:
    """An attempt as it is kept: numbers rounded, plans counted."""
    return Outcome(
        task=task.number,
        episode=task.episode,
        step=task.step,
        success=attempt.success,
        solved_at_start=attempt.solved_at_start,
        steps=len(attempt.actions),
        plans=len(attempt.plans),
        engine_rollouts=sum(plan.engine_rollouts for plan in attempt.plans),
        non_finite=sum(plan.non_finite for plan in attempt.plans),
        plan_seconds=tuple(round(plan.seconds, 5) for plan in attempt.plans),
        states=_rounded(attempt.states),
        actions=_rounded(attempt.actions),
    )


def _rounded(rows: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(f"{value:.{SIGNIFICANT_DIGITS}g}") for value in row) for row in rows)
