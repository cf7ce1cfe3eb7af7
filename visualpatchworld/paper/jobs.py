"""Jobs: programs to make, cells and exhibits to measure; each is a command, run in a process of its own that takes nothing else with it."""

from __future__ import annotations

import os
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from visualpatchworld.domain import PAPER
from visualpatchworld.errors import WorkerFailed
from visualpatchworld.paper.baselines.record import RECORD
from visualpatchworld.paper.cell import Observe, Score
from visualpatchworld.strict_json import from_json


@dataclass(frozen=True, kw_only=True)
class Writer:
    """The language model that writes for the baselines, and how much it may be asked."""

    endpoint: str
    model: str
    calls: int
    max_tokens: int  # of an answer
    prompt_tokens: int

    def options(self) -> list[str]:
        asked = {"--calls": self.calls, "--max-tokens": self.max_tokens, "--prompt-tokens": self.prompt_tokens}
        return _flat({"--endpoint": self.endpoint, "--model": self.model, **asked})


@dataclass(frozen=True)
class Source:
    """Where the episodes of a domain's tasks come from, and where the program made from the others lies."""

    domain: str
    traces: Path
    program: Path
    sketch: str | None = None  # the form that is fitted, where it is not chosen by probes
    rival: str | None = None  # the baseline that searched for the program, where it was not induced

    @property
    def title(self) -> str:
        other = f"({self.traces.stem})" if self.traces.stem != self.domain else None
        return " ".join(part for part in (self.domain, other, self.sketch, self.rival) if part)

    @property
    def method(self) -> str:
        """Whose program it is, as cells and exhibits say it."""
        return self.sketch or self.rival or "vpw"

    @property
    def is_made(self) -> bool:
        """Whether there is nothing left to make; a search that ended without a program has ended, too."""
        return (self.program if self.rival is None else self.program.with_name(RECORD)).exists()

    def collection(self, episodes: int, seed: int) -> list[str]:
        return _vpw("collect", self.domain, *_flat({"--episodes": episodes, "--seed": seed, "--out": self.traces}), "--json")

    def making(self, writer: Writer | None) -> list[str] | None:
        """The command that makes the program; None where a model would have to write it and there is none."""
        places = _flat({"--traces": self.traces, "--out": self.program.parent})
        if self.rival is None:
            form = [] if self.sketch is None else ["--sketch", self.sketch]
            return _vpw("induce", self.domain, *form, *places, "--json")
        return None if writer is None else _vpw("baseline", self.rival, self.domain, *writer.options(), *places, "--json")


class Job(ABC):
    """Something to compute from a source, and the command that keeps it among the results."""

    source: Source

    @property
    @abstractmethod
    def title(self) -> str:
        """What it is, in a few words."""

    @abstractmethod
    def command(self, results: Path) -> list[str]:
        """The command; it prints one JSON object."""

    def _program(self) -> list[str]:
        """The options that say whose program it is."""
        told = _flat({"--program": self.source.program, "--traces": self.source.traces, "--method": self.source.method})
        return [*told, *["--sandbox"] * (self.source.rival is not None)]


@dataclass(frozen=True)
class CellJob(Job):
    """One cell to plan."""

    source: Source
    observe: Observe
    score: Score
    seed: int
    tasks: int
    options: tuple[str, ...] = field(default=(), kw_only=True)  # further ones of `vpw plan`

    @property
    def title(self) -> str:
        further = [part.lstrip("-") for part in self.options]
        return " ".join([f"{self.source.title}: {self.observe} + {self.score}, seed {self.seed}", *further])

    def command(self, results: Path) -> list[str]:
        condition = {"--observe": self.observe, "--score": self.score, "--seed": self.seed, "--episodes": self.tasks, "--results": results}
        planner = () if "--planner" in self.options else ("--planner", PAPER)
        return _vpw("plan", self.source.domain, *self._program(), *_flat(condition), *planner, *self.options, "--json")


@dataclass(frozen=True)
class ExhibitJob(Job):
    """One exhibit to measure."""

    source: Source
    kind: str

    @property
    def title(self) -> str:
        return f"{self.source.title}: exhibit {self.kind}"

    def command(self, results: Path) -> list[str]:
        return _vpw("exhibit", self.kind, self.source.domain, *self._program(), "--results", str(results), "--json")


def run_job(
    command: Sequence[str], logs: Path, title: str, *, place: Path | None = None, settings: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Run a command that prints one JSON object; what it says on stderr is kept in a log.

    It runs here, or where `place` says, with this process's environment and the `settings`.
    """
    name = "".join(letter for letter in title if letter not in ",():")
    log = logs / f"{name.replace(' ', '-')}.log"
    with log.open("w", encoding="utf-8") as errors:
        environment = {**os.environ, **(settings or {})}
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, text=True, check=False, cwd=place, env=environment)
    if done.returncode != 0:
        said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise WorkerFailed(f"'{title}' failed: {said[-1] if said else 'it said nothing'} (see {log})")
    try:
        return from_json(done.stdout)
    except ValueError:
        raise WorkerFailed(f"'{title}' ended well but did not print one JSON object (see {log})") from None


def run_jobs(jobs: Sequence[Job], results: Path, logs: Path, workers: int) -> Iterator[dict[str, Any] | WorkerFailed]:
    """The report of every job, or its failure, as they end."""
    with ThreadPoolExecutor(workers) as pool:
        running = [pool.submit(run_job, job.command(results), logs, job.title) for job in jobs]
        try:
            for future in as_completed(running):
                try:
                    yield future.result()
                except WorkerFailed as failure:
                    yield failure
        except BaseException:
            for future in running:
                future.cancel()
            raise


def _vpw(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "visualpatchworld", *arguments]


def _flat(options: Mapping[str, object]) -> list[str]:
    return [str(part) for option in options.items() for part in option]
