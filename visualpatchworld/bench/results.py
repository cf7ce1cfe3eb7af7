"""Looking cells up: which results of a folder answer a question, with their floors, and what had to be chosen or is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from visualpatchworld.bench.cell import BadResults, Cell, Observe, Outcome, Score, read_cells
from visualpatchworld.bench.exhibits import Exhibit, read_exhibits
from visualpatchworld.bench.induction_record import BadRecord, InductionRecord, read_induction
from visualpatchworld.bench.source import source_title
from visualpatchworld.bench.suite import MAIN_SEED
from visualpatchworld.domain import Domain, load_domain
from visualpatchworld.errors import VpwError

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
        folders = [folder / "programs" for folder in (self.folder, self.folder.parent) if (folder / "programs").is_dir()]
        return tuple(_induction(path) for folder in folders[:1] for path in sorted(folder.glob("*/induction.json")))

    @cached_property
    def exhibits(self) -> tuple[Exhibit, ...]:
        """What was measured besides planning."""
        return read_exhibits(self.folder)

    def exhibits_of(self, kind: str) -> list[Exhibit]:
        """The exhibits of one kind; those of a domain's own collection come before those of other sources."""
        return sorted((exhibit for exhibit in self.exhibits if exhibit.kind == kind), key=lambda exhibit: exhibit.source != exhibit.domain)


def _induction(path: Path) -> InductionRecord:
    try:
        return read_induction(path)
    except BadRecord as error:
        raise BadResults(f"'{path}' is no record of an induction ({str(error).rstrip('.')}), or move it elsewhere.") from None


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
    """The named domains in that order, then others that were measured; one place per source, tasks of a domain's own collection first."""
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
        and not cell.vary
        and planner in (None, cell.planner)
    ]
