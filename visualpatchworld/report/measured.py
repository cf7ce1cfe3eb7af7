"""What was measured with a program: its cells, each with the floors on the very same tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from visualpatchworld.bench.cell import Outcome
from visualpatchworld.bench.results import Result, condition_title
from visualpatchworld.bench.summary import Summary, summarize

SAME_TASKS = ("domain", "source", "metric", "offset", "budget", "seed", "tasks", "vary")  # fields that a cell shares with its floors


@dataclass(frozen=True)
class Measured:
    """A planned cell and its floors, as far as they are there."""

    result: Result
    zero: Result | None
    random: Result | None

    @property
    def title(self) -> str:
        return condition_title(self.result.cell.observe, self.result.cell.score)

    @property
    def summary(self) -> Summary:
        return summarize(self.result.outcomes)

    @property
    def strips(self) -> list[Strip]:
        """A row of marks for the program, then one for each floor."""
        rows = (("planned", self.result), ("resting", self.zero), ("acting at random", self.random))
        return [Strip(name, in_order(part.outcomes)) for name, part in rows if part is not None]

    @property
    def floors(self) -> dict[str, float]:
        """Success in percent without planning, as far as it was measured."""
        return {strip.name: strip.success for strip in self.strips[1:]}


@dataclass(frozen=True)
class Strip:
    """Outcomes of the same tasks, one way of acting."""

    name: str
    outcomes: tuple[Outcome, ...]

    @property
    def success(self) -> float:
        return summarize(self.outcomes).success


def in_order(outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    return tuple(sorted(outcomes, key=lambda outcome: outcome.task))


def measured_with(results: Sequence[Result], program_hash: str | None) -> list[Measured]:
    """The cells of one program (of any where none is named), the fullest and newest first."""
    planned = [
        result for result in results if result.cell.score not in ("none", "simulator") and program_hash in (None, result.cell.program)
    ]
    ranked = sorted(planned, key=lambda result: (result.rank, result.cell.file_name), reverse=True)
    return [Measured(result, _floor(results, result, "zero"), _floor(results, result, "random")) for result in ranked]


def _floor(results: Sequence[Result], planned: Result, method: str) -> Result | None:
    for result in results:
        if result.cell.method == method and all(getattr(result.cell, name) == getattr(planned.cell, name) for name in SAME_TASKS):
            return result
    return None
