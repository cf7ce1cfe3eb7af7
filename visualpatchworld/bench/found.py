"""What a query found: pooled outcomes with floors on the same tasks, as entries and records for tables."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import Any

from visualpatchworld.bench.cell import NO_PROGRAM, Outcome
from visualpatchworld.bench.results import Place, Query, Result, Results, answers
from visualpatchworld.bench.summary import Summary, summarize
from visualpatchworld.bench.table import MISSING, Entry, interval, number


@dataclass(frozen=True)
class Found:
    """The answer to a query, one result per seed; none where nothing was measured."""

    place: Place
    query: Query
    parts: tuple[Result, ...]
    zero: Summary | None
    random: Summary | None
    notes: tuple[str, ...]

    @property
    def summary(self) -> Summary | None:
        """All seeds pooled."""
        return summarize([outcome for part in self.parts for outcome in part.outcomes]) if self.parts else None

    @property
    def success(self) -> float | None:
        return self.summary.success if self.summary else None

    @property
    def by_seed(self) -> dict[int, float]:
        return {part.cell.seed: summarize(part.outcomes).success for part in self.parts}

    @property
    def finished(self) -> bool:
        return bool(self.parts) and all(len(part.outcomes) >= part.cell.n for part in self.parts)

    @property
    def no_program(self) -> bool:
        return any(part.cell.program == NO_PROGRAM for part in self.parts)

    def score(self) -> Entry:
        """Success with its interval; a star where no program could be loaded, a wave while tasks are left to do."""
        if self.summary is None:
            return Entry(MISSING)
        return Entry(number(self.summary.success) + "*" * self.no_program + "~" * (not self.finished), interval(self.summary.ci95))

    def unsolved(self) -> Entry:
        """Success over tasks that were not solved at their start."""
        return Entry(number(self.summary.success_unsolved) + "*" * self.no_program if self.summary else MISSING)

    def record(self) -> dict[str, Any]:
        """The fields of `vpw plan --json`, for one seed or several."""
        cell = self.parts[0].cell
        fields = ("domain", "source", "method", "written_by", "observe", "score", "metric", "offset", "budget", "planner", "program")
        return {
            **{name: getattr(cell, name) for name in fields},
            "seeds": [part.cell.seed for part in self.parts],
            **asdict(self.summary),  # type: ignore[arg-type]
            "floor_zero": self.zero.success if self.zero else None,
            "floor_random": self.random.success if self.random else None,
        }


def find(results: Results, place: Place, query: Query) -> Found:
    """The best answer: of several programs the one with most outcomes, then the newest; the choice is noted."""
    where = f"{place.title}, {query.title}"
    planner = query.planner or place.domain.planner.title
    candidates = answers(results, place, query, planner)
    if not candidates:
        others = sorted({result.cell.planner for result in answers(results, place, query, None)})
        notes = (
            (f"{where}: left out, since it was measured with another planner ({'; '.join(others)}).",)
            if others and not query.planner
            else ()
        )
        return Found(place, query, (), None, None, notes)

    versions: dict[tuple[str, int, int], dict[tuple[int, str], Result]] = defaultdict(dict)
    for result in candidates:
        versions[result.cell.program, result.cell.n, result.cell.budget][result.cell.seed, result.cell.tasks] = result
    ranked = sorted(versions, key=lambda key: _rank(versions[key].values()), reverse=True)
    best_per_seed: dict[int, Result] = {}
    for result in sorted(versions[ranked[0]].values(), key=lambda result: result.rank):
        best_per_seed[result.cell.seed] = result
    parts = tuple(best_per_seed[seed] for seed in sorted(best_per_seed))

    notes = []
    if len(candidates) > len(parts):
        told = "; ".join(f"program {program or 'none'}, n = {n}, {budget} steps" for program, n, budget in ranked)
        notes.append(f"{where}: measured more than once ({told}); shown is the first, which has most outcomes or else the newest file.")
    notes += [
        f"{where}, seed {part.cell.seed}: ~ stands for {len(part.outcomes)} of {part.cell.n} tasks so far."
        for part in parts
        if len(part.outcomes) < part.cell.n
    ]
    if len(query.seeds) > len(parts):
        notes.append(f"{where}: only seed{'s' * (len(parts) > 1)} {', '.join(str(part.cell.seed) for part in parts)} so far.")
    return Found(place, query, parts, _floor(results, parts, "zero"), _floor(results, parts, "random"), tuple(notes))


def _rank(versions) -> tuple[int, float]:
    ranks = [result.rank for result in versions]
    return sum(count for count, _ in ranks), max(written for _, written in ranks)


def _floor(results: Results, parts: tuple[Result, ...], method: str) -> Summary | None:
    """What a floor achieves on exactly the tasks that were done; nothing unless it is there for all of them."""
    same = ("domain", "source", "metric", "offset", "budget", "seed", "tasks", "vary")
    outcomes: list[Outcome] = []
    for part in parts:
        done = {outcome.task for outcome in part.outcomes}
        floor = [
            outcome
            for result in results.results
            if result.cell.method == method and all(getattr(result.cell, name) == getattr(part.cell, name) for name in same)
            for outcome in result.outcomes
            if outcome.task in done
        ]
        if len(floor) != len(done):
            return None
        outcomes += floor
    return summarize(outcomes)
