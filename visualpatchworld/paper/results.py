"""Results looked up from their files: cells, inductions and analyses, pooled with the floors on the very same tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from visualpatchworld.domain import Domain, load_domain
from visualpatchworld.errors import VpwError
from visualpatchworld.paper.analysis import Analysis, read_analyses
from visualpatchworld.paper.cell import NO_PROGRAM, BadResults, Cell, Observe, Outcome, Score, read_cells, source_title
from visualpatchworld.paper.record import BadRecord, InductionRecord, read_induction
from visualpatchworld.paper.suite import MAIN_SEED
from visualpatchworld.paper.table import MISSING, Entry, interval, number
from visualpatchworld.paper.task import Summary, summarize

OFFSET = 25  # steps from start to goal in all tables, as in the paper


class NoResults(VpwError):
    """A folder without a single result."""


@dataclass(frozen=True)
class Result:
    """A cell with what is done of it."""

    cell: Cell
    outcomes: tuple[Outcome, ...]
    written: float  # time of its file

    @property
    def rank(self) -> tuple[int, float]:
        return len(self.outcomes), self.written


@dataclass(frozen=True)
class Results:
    """All results of a folder, and the induced programs that lie beside it."""

    folder: Path
    results: tuple[Result, ...]

    @property
    def out(self) -> str:
        """What to give `vpw bench --out` so that it adds to this folder."""
        near = self.folder.name == "results" and self.folder.parent.name and not self.folder.is_absolute()
        return str(self.folder.parent) if near else "DIR"  # an absolute path belongs to one machine, a table to all

    @cached_property
    def inductions(self) -> tuple[InductionRecord, ...]:
        """What `vpw induce` wrote beside the programs."""
        folders = [
            folder / "programs" for folder in (self.folder, self.folder.parent) if (folder / "programs").is_dir()
        ]
        return tuple(_induction(path) for folder in folders[:1] for path in sorted(folder.glob("*/induction.json")))

    @cached_property
    def analyses(self) -> tuple[Analysis, ...]:
        """What was measured besides planning."""
        return read_analyses(self.folder)

    def analyses_of(self, kind: str) -> list[Analysis]:
        """The analyses of one kind; those of a domain's own collection come before those of other sources."""
        return sorted(
            (analysis for analysis in self.analyses if analysis.kind == kind),
            key=lambda analysis: analysis.source != analysis.domain,
        )


def _induction(path: Path) -> InductionRecord:
    try:
        return read_induction(path)
    except BadRecord as error:
        raise BadResults(
            f"'{path}' is no record of an induction ({str(error).rstrip('.')}), or move it elsewhere."
        ) from None


def read_results(folder: Path) -> Results:
    """The results of a folder, or of its folder `results`."""
    folder = folder / "results" if (folder / "results").is_dir() else folder
    results = []
    for cell, outcomes in read_cells(folder):
        path = folder / cell.file_name
        results.append(Result(cell, tuple(outcomes), path.stat().st_mtime if path.exists() else 0.0))
    return Results(folder, tuple(results))


@dataclass(frozen=True)
class Place:
    """A domain, and where its tasks come from; `source` is empty where nothing was measured."""

    domain: Domain
    source: str
    first: bool  # quoted figures stand beside it, and means are taken over it

    @property
    def title(self) -> str:
        return source_title(self.domain, self.source)


def places(results: Results, names: Sequence[str]) -> list[Place]:
    """The named domains in that order, then others that were measured;
    one place per source, tasks of a domain's own collection first.
    """
    others = sorted({result.cell.domain for result in results.results} - set(names))
    found = []
    for name in (*names, *others):
        sources = {result.cell.source for result in results.results if result.cell.domain == name}
        ordered = sorted(sources, key=lambda source: (source != name, source)) or [""]
        found += [Place(load_domain(name), source, source == ordered[0]) for source in ordered]
    return found


@dataclass(frozen=True, kw_only=True)
class Query:
    """What is asked of a place; the domain's main metric and frozen planner unless others are named."""

    observe: Observe
    score: Score
    method: str = "vpw"
    written_by: str = ""
    metric: str = ""
    planner: str = ""
    seeds: tuple[int, ...] = (MAIN_SEED,)

    @property
    def title(self) -> str:
        condition = condition_title(self.observe, self.score)
        if self.method in ("vpw", "engine"):
            return condition
        return f"{self.method} {condition}" + (f" ({self.written_by})" if self.written_by else "")


def condition_title(observe: str, score: str) -> str:
    """A condition as people say it."""
    return "Engine ceiling" if score == "simulator" else f"{observe.capitalize()}+{score.capitalize()}"


def answers(results: Results, place: Place, query: Query, planner: str | None) -> list[Result]:
    """Every result that answers a query; with `planner` None, whatever the planner was."""
    return [
        result
        for result in results.results
        if (cell := result.cell).domain == place.domain.name
        and cell.source == place.source
        and cell.method == ("engine" if query.score == "simulator" else query.method)
        and cell.written_by == query.written_by
        and (cell.observe, cell.score) == (query.observe, query.score)
        and cell.metric == (query.metric or next(iter(place.domain.metrics)))
        and cell.seed in query.seeds
        and cell.offset == OFFSET
        and (cell.goals, cell.goal_fields, cell.tolerance) == ("same-episode", "", 1.0)
        and not cell.vary
        and planner in (None, cell.planner)
    ]


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
        return Entry(
            number(self.summary.success) + "*" * self.no_program + "~" * (not self.finished),
            interval(self.summary.ci95),
        )

    def unsolved(self) -> Entry:
        """Success over tasks that were not solved at their start."""
        return Entry(number(self.summary.success_unsolved) + "*" * self.no_program if self.summary else MISSING)

    def record(self) -> dict[str, Any]:
        """The fields of `vpw plan --json`, for one seed or several."""
        cell = self.parts[0].cell
        fields = (
            "domain",
            "source",
            "method",
            "written_by",
            "observe",
            "score",
            "metric",
            "offset",
            "budget",
            "planner",
            "program",
        )
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
        notes.append(
            f"{where}: measured more than once ({told}); shown is the first, which has most outcomes or "
            "else the newest file."
        )
    notes += [
        f"{where}, seed {part.cell.seed}: ~ stands for {len(part.outcomes)} of {part.cell.n} tasks so far."
        for part in parts
        if len(part.outcomes) < part.cell.n
    ]
    if len(query.seeds) > len(parts):
        notes.append(
            f"{where}: only seed{'s' * (len(parts) > 1)} {', '.join(str(part.cell.seed) for part in parts)} so far."
        )
    return Found(
        place, query, parts, floor_of(results, parts, "zero"), floor_of(results, parts, "random"), tuple(notes)
    )


def _rank(versions) -> tuple[int, float]:
    ranks = [result.rank for result in versions]
    return sum(count for count, _ in ranks), max(written for _, written in ranks)


def floor_of(results: Results, parts: tuple[Result, ...], method: str) -> Summary | None:
    """What a floor achieves on exactly the tasks that were done; nothing unless it is there for all of them."""
    same = (
        "domain",
        "source",
        "metric",
        "offset",
        "budget",
        "seed",
        "tasks",
        "vary",
        "goals",
        "goal_fields",
        "tolerance",
    )
    outcomes: list[Outcome] = []
    for part in parts:
        done = {outcome.task for outcome in part.outcomes}
        floor = [
            outcome
            for result in results.results
            if result.cell.method == method
            and all(getattr(result.cell, name) == getattr(part.cell, name) for name in same)
            for outcome in result.outcomes
            if outcome.task in done
        ]
        if len(floor) != len(done):
            return None
        outcomes += floor
    return summarize(outcomes)
