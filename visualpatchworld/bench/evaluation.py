"""A measured request: every attempt, and what resting and acting at random reach on the same tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from visualpatchworld.bench.cell import Outcome
from visualpatchworld.bench.measure import Request, report
from visualpatchworld.bench.summary import Summary, summarize


@dataclass(frozen=True)
class Evaluation:
    """What was asked, what came of each task, and the floors."""

    request: Request
    outcomes: tuple[Outcome, ...]
    floors: Mapping[str, Summary]

    @property
    def summary(self) -> Summary:
        return summarize(self.outcomes)

    @property
    def success(self) -> float:
        """In percent of all tasks."""
        return self.summary.success

    @property
    def report(self) -> dict[str, Any]:
        """The fields of `vpw plan --json`."""
        return report(self.request, self.outcomes, self.floors)

    def __repr__(self) -> str:
        return f"<Evaluation in {self.request.domain.name}: {self.success:.0f} % of {len(self.outcomes)} tasks; print it for the floors>"

    def __str__(self) -> str:
        """The score with all that is needed to judge it."""
        summary, request = self.summary, self.request
        low, high = summary.ci95
        lines = [
            f"success {summary.success:.1f} % of {summary.n} tasks, 95 % interval {low:.1f} to {high:.1f}",
            f"  {request.metric} within {request.budget} steps, goals {request.offset} ahead, seed {request.seed}",
            f"  floors on the same tasks: resting {self.floors['zero'].success:.1f} %, at random {self.floors['random'].success:.1f} %",
        ]
        if summary.success_unsolved is not None:
            lines.append(f"  of the {summary.n_unsolved} not solved at their start: {summary.success_unsolved:.1f} %")
        return "\n".join(lines)
