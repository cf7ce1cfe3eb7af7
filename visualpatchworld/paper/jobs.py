"""Cells as commands of their own: run by processes of this machine, or by workers of a Dask
cluster that share the folder of results.
"""

from __future__ import annotations

import os
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

from visualpatchworld import __version__
from visualpatchworld.domain import PAPER
from visualpatchworld.errors import VpwError, WorkerFailed
from visualpatchworld.extras import need
from visualpatchworld.files import from_json
from visualpatchworld.paper import jobs
from visualpatchworld.paper.cell import Observe, Score
from visualpatchworld.paper.record import SEARCH


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
        """Whose program it is, as cells and analyses say it."""
        return self.sketch or self.rival or "vpw"

    @property
    def is_made(self) -> bool:
        """Whether there is nothing left to make; a search that ended without a program has ended, too."""
        return (self.program if self.rival is None else self.program.with_name(SEARCH)).exists()

    def collection(self, episodes: int, seed: int) -> list[str]:
        return _vpw(
            "collect", self.domain, *_flat({"--episodes": episodes, "--seed": seed, "--out": self.traces}), "--json"
        )

    def making(self, writer: Writer | None) -> list[str] | None:
        """The command that makes the program; None where a model would have to write it and there is none."""
        places = _flat({"--traces": self.traces, "--out": self.program.parent})
        if self.rival is None:
            form = [] if self.sketch is None else ["--sketch", self.sketch]
            return _vpw("induce", self.domain, *form, *places, "--json")
        return (
            None if writer is None else _vpw("baseline", self.rival, self.domain, *writer.options(), *places, "--json")
        )


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
        told = _flat({"--program": self.source.program, "--method": self.source.method})
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
        condition = {
            "--traces": self.source.traces,
            "--observe": self.observe,
            "--score": self.score,
            "--seed": self.seed,
            "--episodes": self.tasks,
            "--results": results,
        }
        planner = () if "--planner" in self.options else ("--planner", PAPER)
        program = self._program() if self.score != "simulator" else _flat({"--program": self.source.program})
        return _vpw("plan", self.source.domain, *program, *_flat(condition), *planner, *self.options, "--json")


@dataclass(frozen=True)
class AnalysisJob(Job):
    """One analysis to measure."""

    source: Source
    kind: str

    @property
    def title(self) -> str:
        return f"{self.source.title}: analysis {self.kind}"

    def command(self, results: Path) -> list[str]:
        from visualpatchworld.paper.analysis import MEASURED_OF

        program = self._program() if MEASURED_OF[self.kind] == "program" else []
        places = _flat({"--traces": self.source.traces, "--results": results})
        return _vpw("analyse", self.kind, self.source.domain, *program, *places, "--json")


def run_job(
    command: Sequence[str],
    logs: Path,
    title: str,
    *,
    place: Path | None = None,
    settings: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Run a command that prints one JSON object; what it says on stderr is kept in a log.

    It runs here, or where `place` says, with this process's environment and the `settings`.
    """
    name = "".join(letter for letter in title if letter not in ",():")
    log = logs / f"{name.replace(' ', '-')}.log"
    with log.open("w", encoding="utf-8") as errors:
        environment = {**os.environ, **(settings or {})}
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, check=False, cwd=place, env=environment
        )
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


if TYPE_CHECKING:
    from distributed import Client, Future

REACHED_S = 10.0  # within which a scheduler and a first worker must answer
GONE_S = 60.0  # without any worker, after which nobody waits any longer
LOOK_S = 2.0  # between two looks at what has ended
CARRIED = ("VPW_DOMAINS", "JAX_COMPILATION_CACHE_DIR")  # settings of the one who asks that a job's process needs, too


@contextmanager
def cluster(address: str, folder: Path) -> Iterator[Client]:
    """The cluster behind a scheduler's address, if its workers have this package and see this folder."""
    need("dask")
    from distributed import Client

    try:
        client = Client(address, timeout=REACHED_S)
    except (OSError, ValueError, TypeError):
        raise VpwError(
            f"No Dask scheduler answers at '{address}'; start one with `dask scheduler --host 127.0.0.1`."
        ) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=REACHED_S)
        except TimeoutError:
            raise VpwError(
                f"The scheduler at '{address}' has no worker; start one with `dask worker {address} --nthreads 1`."
            ) from None
        _check_workers(client, folder.resolve())
        yield client


def run_on_cluster(
    client: Client, todo: Sequence[jobs.Job], results: Path, logs: Path, *, gone_s: float = GONE_S
) -> Iterator[dict[str, Any] | WorkerFailed]:
    """The report of every job, or its failure, as they end, whichever worker ran it."""
    from distributed import CancelledError, wait

    place, settings = Path.cwd(), {name: os.environ[name] for name in CARRIED if name in os.environ}
    # The first word of a command is this machine's Python; a worker has its own.
    running: dict[Future, str] = {
        client.submit(_run, job.command(results)[1:], logs.resolve(), job.title, place, settings, pure=False): job.title
        for job in todo
    }
    lonely_s = 0.0
    try:
        while running:
            try:
                looked: Any = wait(list(running), timeout=LOOK_S, return_when="FIRST_COMPLETED")
                ended = looked.done
            except TimeoutError:
                ended = set()
            except CancelledError:
                ended = {future for future in running if future.done()} or set(running)
            for future in ended:
                yield _report(future, running.pop(future))
            lonely_s = 0.0 if ended or client.scheduler_info()["workers"] else lonely_s + LOOK_S
            if lonely_s >= gone_s:
                for title in running.values():
                    yield WorkerFailed(
                        f"'{title}' waits for a worker, but there is none; what is done is kept, so "
                        "start again to go on."
                    )
                return
    finally:
        client.cancel(list(running))


def _run(arguments: Sequence[str], logs: Path, title: str, place: Path, settings: dict[str, str]) -> dict[str, Any]:
    """A job as a worker runs it: where whoever asked stands, so that paths mean the same."""
    return jobs.run_job([sys.executable, *arguments], logs, title, place=place, settings=settings)


def _report(future: Future, title: str) -> dict[str, Any] | WorkerFailed:
    from distributed import CancelledError, KilledWorker

    try:
        return future.result()
    except WorkerFailed as failure:
        return failure
    except KilledWorker:
        return WorkerFailed(f"'{title}' failed: every worker that took it was lost; is there enough memory?")
    except CancelledError:
        return WorkerFailed(f"'{title}' was lost with the scheduler; what is done is kept, so start again to go on.")
    except OSError as error:
        return WorkerFailed(f"'{title}' failed: a worker said: {error}")


def _check_workers(client: Client, folder: Path) -> None:
    """Every worker has this very version, and sees a file that is put into the folder."""
    with NamedTemporaryFile(dir=folder, prefix=".cluster-") as token:
        answers: Any = client.run(_answer, token.name, on_error="return")
    mine = __version__
    for worker, answer in answers.items():
        if not isinstance(answer, tuple):
            raise VpwError(
                f"The worker {worker} cannot run jobs ({type(answer).__name__}: {answer}); is "
                "visualpatchworld installed there?"
            )
        theirs, sees = answer
        if theirs != mine:
            raise VpwError(f"The worker {worker} has visualpatchworld {theirs}, and here is {mine}.")
        if not sees:
            raise VpwError(
                f"The worker {worker} does not see '{folder}'; a cluster needs an --out that all its machines share."
            )


def _answer(token: str) -> tuple[str, bool]:
    return __version__, Path(token).exists()
