"""Jobs on a cluster: Dask hands them to workers, and to others when a worker is lost.

A job is a command that keeps its results itself, line by line, in a folder that all machines share. So nothing but the command travels, a
job that was lost half-way goes on where it stopped, and a cell's lock keeps two workers from writing the same file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

from visualpatchworld import __version__
from visualpatchworld.errors import VpwError, WorkerFailed
from visualpatchworld.extras import need
from visualpatchworld.paper import jobs

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
        raise VpwError(f"No Dask scheduler answers at '{address}'; start one with `dask scheduler --host 127.0.0.1`.") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=REACHED_S)
        except TimeoutError:
            raise VpwError(f"The scheduler at '{address}' has no worker; start one with `dask worker {address} --nthreads 1`.") from None
        _check_workers(client, folder.resolve())
        yield client


def run_jobs(
    client: Client, todo: Sequence[jobs.Job], results: Path, logs: Path, *, gone_s: float = GONE_S
) -> Iterator[dict[str, Any] | WorkerFailed]:
    """The report of every job, or its failure, as they end, whichever worker ran it."""
    from distributed import CancelledError, wait

    place, settings = Path.cwd(), {name: os.environ[name] for name in CARRIED if name in os.environ}
    # The first word of a command is this machine's Python; a worker has its own.
    running: dict[Future, str] = {
        client.submit(_run, job.command(results)[1:], logs.resolve(), job.title, place, settings, pure=False): job.title for job in todo
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
                    yield WorkerFailed(f"'{title}' waits for a worker, but there is none; what is done is kept, so start again to go on.")
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
            raise VpwError(f"The worker {worker} cannot run jobs ({type(answer).__name__}: {answer}); is visualpatchworld installed there?")
        theirs, sees = answer
        if theirs != mine:
            raise VpwError(f"The worker {worker} has visualpatchworld {theirs}, and here is {mine}.")
        if not sees:
            raise VpwError(f"The worker {worker} does not see '{folder}'; a cluster needs an --out that all its machines share.")


def _answer(token: str) -> tuple[str, bool]:
    return __version__, Path(token).exists()
