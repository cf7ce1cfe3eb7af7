"""What a cell's outcomes add up to, with floors and interval beside the score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from visualpatchworld.bench.cell import Outcome
from visualpatchworld.bench.interval import wilson_percent


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
