"""Cells of results: one file each, named by all that it depends on, with a line per task."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from visualpatchworld import __version__
from visualpatchworld.domain import Domain
from visualpatchworld.errors import CannotWrite, VpwError
from visualpatchworld.files import read_bytes, to_json

if TYPE_CHECKING:  # results are read where nothing plans
    from visualpatchworld.plan.control import Attempt, Task


def versions() -> dict[str, str]:
    """Versions of what decides the numbers of a result."""
    return {"visualpatchworld": __version__, "jax": version("jax"), "python": platform.python_version()}


def source_title(domain: Domain, source: str) -> str:
    """The domain's title, with the name of the source where that is not the domain's own collection."""
    if source in ("", domain.name):
        return domain.title
    return f"{domain.title} {source.removeprefix(domain.name).lstrip('_-')}"


Observe = Literal["oracle", "tool"]
Score = Literal["induced", "hybrid", "sparing", "simulator", "none"]
Count = Annotated[int, Field(ge=0, le=2**53)]
Vector = tuple[float | None, ...]  # None where a number was not finite
SIGNIFICANT_DIGITS = 7  # of a state or action as it is kept
# In place of a fingerprint, where a method wrote no program that loads; its outcomes count as failures.
NO_PROGRAM = "none"


class BadResults(VpwError):
    """A file among the results that is damaged or something else."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What is measured, down to the program and the tasks;
    it names the file, so that results of unequal cells never mix.
    """

    domain: str
    method: str  # whose program, or `zero` and `random` for the floors
    observe: Observe
    score: Score
    metric: str
    offset: Count
    budget: Count
    seed: Count
    source: str  # where the tasks come from
    planner: str
    vary: Mapping[str, Any] = field(default_factory=dict)
    program: str = ""  # fingerprint of the program's text
    tasks: str  # fingerprint of starts and goals
    n: Annotated[int, Field(ge=1)]
    written_by: str = ""  # model and budget, where a language model wrote the program
    goals: str = "same-episode"  # where goals come from; the offset is 0 where they have nothing to do with the start
    goal_fields: str = ""  # what of a goal counts, where that is not all
    tolerance: float = 1.0  # on the success radius
    search: str = ""  # the values of a planner that is not the frozen one; its title says only the main ones

    @property
    def file_name(self) -> str:
        # What came later counts only where it says something, so that cells keep their names.
        later = {"written_by": "", "goals": "same-episode", "goal_fields": "", "tolerance": 1.0, "search": ""}
        named = {name: value for name, value in asdict(self).items() if name not in later or value != later[name]}
        digest = hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:8]
        return f"{self.domain}-{self.source}-{self.method}-{self.observe}-{self.score}-{self.offset}-{self.seed}-{digest}.jsonl"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How one task of a cell went."""

    task: Count
    episode: Count
    step: Count
    success: bool
    solved_at_start: bool
    steps: Count
    plans: Count
    engine_rollouts: Count
    non_finite: Count
    plan_seconds: tuple[float, ...]
    states: tuple[Vector, ...]
    actions: tuple[Vector, ...]


def outcome_of(task: Task, attempt: Attempt, *, brief: bool = False) -> Outcome:
    """An attempt as it is kept: numbers rounded, plans counted; a brief one is without the way."""
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
        states=() if brief else _rounded(attempt.states),
        actions=() if brief else _rounded(attempt.actions),
    )


def _rounded(rows: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(f"{value:.{SIGNIFICANT_DIGITS}g}") for value in row) for row in rows)


@dataclass(frozen=True)
class ResultLine:
    """A line of a results file: one outcome with all that it was measured under."""

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    cell: Cell
    versions: dict[str, str]
    outcome: Outcome


@contextmanager
def open_cell(folder: Path, cell: Cell, versions: Mapping[str, str]) -> Iterator[CellFile]:
    """The cell's file, locked against a second writer; a line that an interrupted run left unfinished is cut off."""
    path = folder / cell.file_name
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
    except OSError as error:
        raise _cannot_write(path, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield CellFile(path, descriptor, cell, versions)
    finally:
        os.close(descriptor)


class CellFile:
    """Results on disk: each line is whole once it is there."""

    def __init__(self, path: Path, descriptor: int, cell: Cell, versions: Mapping[str, str]):
        self._path, self._descriptor, self._cell, self._versions = path, descriptor, cell, dict(versions)
        rows = read_rows(path)
        if rows and rows[0].cell != cell:
            raise BadResults(f"'{path}' holds the results of another cell than its name says; move it elsewhere.")
        self.outcomes = {row.outcome.task: row.outcome for row in rows}
        self._cut(path.read_bytes().rfind(b"\n") + 1)

    def add(self, outcome: Outcome) -> None:
        """Write an outcome down; where its line does not fit, nothing is left of it."""
        line = memoryview(to_json(asdict(ResultLine(self._cell, self._versions, outcome))).encode() + b"\n")
        size = os.fstat(self._descriptor).st_size
        try:
            while line:  # a full disk may take a part of it
                line = line[os.write(self._descriptor, line) :]
            os.fsync(self._descriptor)
        except BaseException as error:
            with suppress(CannotWrite):
                self._cut(size)
            if isinstance(error, OSError):
                raise _cannot_write(self._path, error) from error
            raise
        self.outcomes[outcome.task] = outcome

    def _cut(self, size: int) -> None:
        try:
            os.ftruncate(self._descriptor, size)
        except OSError as error:
            raise _cannot_write(self._path, error) from error


def _cannot_write(path: Path, error: OSError) -> CannotWrite:
    return CannotWrite(f"Could not write results to '{path}' ({error.strerror}).")


def read_rows(path: Path) -> list[ResultLine]:
    """The lines of one results file, all of one cell and each of another task;
    a last line that was never finished does not count.
    """
    rows: list[ResultLine] = []
    seen: dict[int, int] = {}
    for number, line in enumerate(read_bytes(path, "results file", BadResults).split(b"\n")[:-1], start=1):
        try:
            row = _row_reader().validate_json(line)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise _damaged(path, number, f"{where}: {first['msg'].lower()}" if where else "it is not JSON") from None
        if rows and row.cell != rows[0].cell:
            raise _damaged(path, number, "it is of another cell than the first line")
        if row.outcome.task in seen:
            raise _damaged(path, number, f"task {row.outcome.task} is in line {seen[row.outcome.task]} already")
        seen[row.outcome.task] = number
        rows.append(row)
    return rows


@cache
def _row_reader() -> TypeAdapter[ResultLine]:
    return TypeAdapter(ResultLine)


def _damaged(path: Path, number: int, reason: str) -> BadResults:
    return BadResults(
        f"'{path}', line {number}, is not a result as `vpw plan` writes it ({reason}); delete that "
        "line and repeat the command that "
        "measured, which does again what is missing, or move the file elsewhere."
    )


def read_cells(folder: Path) -> list[tuple[Cell, list[Outcome]]]:
    """All cells of a results folder, by file name."""
    found = [read_rows(path) for path in sorted(folder.glob("*.jsonl"))]
    return [(rows[0].cell, [row.outcome for row in rows]) for rows in found if rows]
