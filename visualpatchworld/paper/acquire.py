"""Acquisition, the optional stage: act with a program, gather what it predicted wrongly, refit it,
and keep the better of the two.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from visualpatchworld.domain import Domain
from visualpatchworld.induction.fit import fit
from visualpatchworld.induction.induce import NUM_WINDOWS, VALIDATION_SHARE
from visualpatchworld.induction.loss import search_over
from visualpatchworld.induction.windows import (
    ErrorTable,
    cut_windows,
    errors_by_horizon,
    joined,
    predict,
    split_trajectories,
    trajectories_of,
)
from visualpatchworld.laws.form import Form
from visualpatchworld.paper.evaluation import Condition, planning
from visualpatchworld.paper.task import draw_tasks
from visualpatchworld.plan.control import Attempt
from visualpatchworld.plan.scorer import InducedScorer
from visualpatchworld.program.program import Program
from visualpatchworld.program.source import emit, unfitted
from visualpatchworld.simulator import Constants
from visualpatchworld.trace.episode import Episode
from visualpatchworld.world.trajectory import Trajectory

NUM_CHECKS = 10  # tasks of the planning check
OFFSET = 25
WORSE = 1.01  # a validation error this many times the earlier one is worse; less is rounding
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Acquisition:
    """What one round brought: the program to go on with, and why."""

    program: Program
    accepted: bool
    reason: str
    surprises: int  # stretches of the attempts that the program predicted wrongly
    errors_before: ErrorTable
    errors_after: ErrorTable | None
    successes_before: int
    successes_after: int | None


def acquire(
    domain: Domain,
    constants: Constants,
    program: Program,
    sketch: Form,
    episodes: Sequence[Episode],
    *,
    tasks: int,
    seed: int,
    progress: Progress = lambda _: None,
) -> Acquisition:
    """One round. `episodes` are those that may be fitted to; so are the tasks of practice and check drawn from them."""
    rng = np.random.default_rng(seed)
    train, validation = split_trajectories(trajectories_of(episodes), VALIDATION_SHARE, rng)
    progress("practising")
    attempts = practice(domain, constants, program, episodes, count=tasks, seed=seed)
    surprises = surprising(domain, program, attempts)
    before = errors_by_horizon(program, validation, domain, np.random.default_rng(seed))
    checks = practice(domain, constants, program, episodes, count=NUM_CHECKS, seed=seed + 1)
    succeeded = sum(attempt.success for attempt in checks)
    if not surprises:
        return Acquisition(program, False, "the program predicted everything it did", 0, before, None, succeeded, None)

    windows = cut_windows(train, domain.horizon, NUM_WINDOWS, rng)
    long_enough = [recording for recording in surprises if len(recording.actions) >= domain.horizon]
    if long_enough:
        windows = joined(windows, cut_windows(long_enough, domain.horizon, NUM_WINDOWS, rng))
    constants_of = sketch.constants
    found = fit(
        unfitted(sketch),
        constants_of,
        windows,
        cut_windows(validation, domain.horizon, NUM_WINDOWS, rng),
        domain.scene.state_space,
        rng,
        search_over(domain.horizon, draw_every_option=False),
        [{name: value for name, value in program.constants.items() if name in constants_of}],
        lambda stage: progress(f"refitting: {stage}"),
    )
    refitted = emit(sketch, found.values, found.errors, header_of(program, len(surprises)))
    after = errors_by_horizon(refitted, validation, domain, np.random.default_rng(seed))
    worse = [
        name for name in after if after[name][domain.horizon]["mean"] > WORSE * before[name][domain.horizon]["mean"]
    ]
    if worse:
        reason = f"validation {', '.join(worse)} got worse"
        return Acquisition(program, False, reason, len(surprises), before, after, succeeded, None)
    progress("checking")
    again = sum(
        attempt.success for attempt in practice(domain, constants, refitted, episodes, count=NUM_CHECKS, seed=seed + 1)
    )
    if again < succeeded:
        return Acquisition(program, False, "fewer plans succeeded", len(surprises), before, after, succeeded, again)
    return Acquisition(refitted, True, "nothing got worse", len(surprises), before, after, succeeded, again)


def practice(
    domain: Domain, constants: Constants, program: Program, episodes: Sequence[Episode], *, count: int, seed: int
) -> list[Attempt]:
    """Attempts at tasks drawn from the episodes, in the true world."""
    condition = Condition(
        domain=domain,
        constants=constants,
        model=InducedScorer(program, domain.cost),
        observe="oracle",
        score="induced",
        planner=domain.planner,
        cost=domain.cost,
    )
    meets = next(iter(domain.metrics.values()))
    attempt = planning(
        condition, meets, domain.budget_per_offset * OFFSET, seed, [episode.actions for episode in episodes]
    )
    world = domain.simulator(constants)
    attempts = []
    for task in draw_tasks(episodes, count=count, offset=OFFSET, seed=seed):
        world.reset(options={"engine_state": task.start_engine_state})
        attempts.append(attempt(task, world))
    return attempts


def surprising(domain: Domain, program: Program, attempts: Sequence[Attempt]) -> list[Trajectory]:
    """The attempts in which a step came out otherwise than predicted, by more than
    the domain's tolerance for one step.
    """
    found = []
    for attempt in attempts:
        if not len(attempt.actions):
            continue
        recording = Trajectory(attempt.states, attempt.actions)
        steps = cut_windows([recording], 1, len(recording.actions), np.random.default_rng(0))
        predicted = predict(program, steps)
        errors = {name: domain.error_metrics[name](predicted, steps.truths) for name in domain.transition_tolerances}
        if any(not (errors[name] <= tolerance).all() for name, tolerance in domain.transition_tolerances.items()):
            found.append(recording)
    return found


def header_of(program: Program, surprises: int) -> str:
    """The program's own header, and that it was refitted."""
    text = ast.get_docstring(program.module) or ""
    return f"{text}\nRefitted with {surprises} attempts that it had predicted wrongly.\n"
