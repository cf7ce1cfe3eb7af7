"""A cell of the benchmark: one domain, method, observation, scoring and seed; its results are one JSON line per episode."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from visualpatchworld.errors import CannotWrite, VpwError

Observe = Literal["oracle", "tool"]
Score = Literal["induced", "hybrid", "simulator", "none"]
NO_PROGRAM = "none"  # in place of a fingerprint, where a method wrote no program that loads; its outcomes count as failures


class BadResults(VpwError):
    """A file among the results that is damaged or something else."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What is measured, down to the program and the tasks; it names the file, so that results of unequal cells never mix."""

    domain: str
    method: str  # whose program, or `zero` and `random` for the floors
    observe: Observe
    score: Score
    metric: str
    offset: int
    budget: int
    seed: int
    source: str  # where the tasks come from
    planner: str
    vary: Mapping[str, Any] = field(default_factory=dict)
    program: str = ""  # fingerprint of the program's text
    tasks: str  # fingerprint of starts and goals
    n: int
    written_by: str = ""  # model and budget, where a language model wrote the program

    @property
    def file_name(self) -> str:
        # Only where a model wrote: our own cells are called the same whether or not rivals are known.
        named = {name: value for name, value in asdict(self).items() if name != "written_by" or value}
        digest = hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:8]
        return f"{self.domain}-{self.source}-{self.method}-{self.observe}-{self.score}-{self.offset}-{self.seed}-{digest}.jsonl"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How one task of a cell went."""

    task: int
    episode: int
    step: int
    success: bool
    solved_at_start: bool
    steps: int
    plans: int
    engine_rollouts: int
    non_finite: int
    plan_seconds: tuple[float, ...]
    states: tuple[tuple[float, ...], ...]
    actions: tuple[tuple[float, ...], ...]


@contextmanager
def open_cell(folder: Path, cell: Cell, versions: Mapping[str, str]) -> Iterator[CellFile]:
    """The cell's file, locked against a second writer; lines that an interrupted run left unfinished are cut off."""
    path = folder / cell.file_name
    try:
        with path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield CellFile(path, file.fileno(), {"cell": asdict(cell), "versions": dict(versions)})
    except OSError as error:
        raise CannotWrite(f"Could not write results to '{path}' ({error.strerror}).") from error


class CellFile:
    """Results on disk: each line is whole once it is there."""

    def __init__(self, path: Path, descriptor: int, shared: Mapping[str, Any]):
        self._descriptor, self._shared = descriptor, shared
        lines = path.read_bytes().splitlines(keepends=True)
        whole = [line for line in lines if line.endswith(b"\n")]
        os.ftruncate(descriptor, sum(map(len, whole)))
        rows = [json.loads(line) for line in whole]
        self.outcomes = {row["outcome"]["task"]: read_outcome(row["outcome"]) for row in rows}

    def add(self, outcome: Outcome) -> None:
        line = json.dumps({**self._shared, "outcome": asdict(outcome)}) + "\n"
        os.write(self._descriptor, line.encode())  # one write to a file open for appending: no line is ever mixed with another
        os.fsync(self._descriptor)
        self.outcomes[outcome.task] = outcome


def read_outcome(fields: Mapping[str, Any]) -> Outcome:
    """An outcome from its JSON form."""
    return Outcome(**{name: _frozen(value) for name, value in fields.items()})


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def read_cells(folder: Path) -> list[tuple[Cell, list[Outcome]]]:
    """All cells of a results folder, by file name; a last line that was never finished does not count."""
    cells = []
    for path in sorted(folder.glob("*.jsonl")):
        try:
            rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]
            if rows:
                cells.append((Cell(**rows[0]["cell"]), [read_outcome(row["outcome"]) for row in rows]))
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise BadResults(f"'{path}' does not hold results as `vpw plan` writes them; move it elsewhere.") from error
    return cells
