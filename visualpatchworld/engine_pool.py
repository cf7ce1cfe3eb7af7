"""Work on all cores: processes that start at the first call, live on until this one ends, and keep their simulators."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from typing import Any

import numpy as np
from jaxtyping import Float

from visualpatchworld.errors import WorkerFailed
from visualpatchworld.simulator import Constants, Simulator

CHUNKS_PER_WORKER = 4  # small enough that a core that is busy elsewhere does not keep the others waiting
NUM_WORKERS = len(os.sched_getaffinity(0))


def rollout(
    kind: Callable[[Any], Simulator],
    constants: Constants,
    engine_state: Float[np.ndarray, " E"],
    actions: Float[np.ndarray, "K H A"],
) -> Float[np.ndarray, "K H S"]:
    """States after each action of K sequences from one engine state;
    `kind` is a simulator's class, known to the workers by its module.
    """
    chunks = np.array_split(actions, min(len(actions), CHUNKS_PER_WORKER * NUM_WORKERS))
    return np.concatenate(map_on_cores(roll, [(kind, constants, engine_state, chunk) for chunk in chunks]))


def roll(
    kind: Callable[[Any], Simulator],
    constants: Constants,
    engine_state: Float[np.ndarray, " E"],
    actions: Float[np.ndarray, "K H A"],
) -> Float[np.ndarray, "K H S"]:
    """The same in this process, one after the other, with a simulator that is made once for its constants."""
    return Simulator.rollout(_simulator(kind, constants), engine_state, actions)


@functools.lru_cache(maxsize=8)
def _simulator(kind: Callable[[Any], Simulator], constants: Constants) -> Simulator:
    return kind(constants)


def map_on_cores(function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]) -> list[Any]:
    """`function(*job)` for every job, in order, each on the next free core;
    the function is known to the workers by its module.
    """
    workers = _workers()
    try:
        return _shared_out(workers, function, jobs)
    except BaseException:
        # A worker may still be computing, and its late answer would be taken for the next one.
        close()
        raise


def close() -> None:
    """End the workers; the next call starts new ones."""
    if _workers.cache_info().currsize:
        for worker in _workers():
            worker.close()
        _workers.cache_clear()


atexit.register(close)


@functools.lru_cache(maxsize=1)
def _workers() -> tuple[_Worker, ...]:
    return tuple(_Worker() for _ in range(NUM_WORKERS))


def _shared_out(workers: Sequence[_Worker], function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]) -> list[Any]:
    results: list[Any] = [None] * len(jobs)
    waiting = iter(enumerate(jobs))
    idle, busy = list(workers), {}
    while True:
        while idle and (entry := next(waiting, None)) is not None:
            worker = idle.pop()
            worker.send((function, entry[1]))
            busy[worker] = entry[0]
        if not busy:
            return results
        ready = wait(list(busy))
        for worker in [worker for worker in busy if worker in ready]:
            results[busy.pop(worker)] = worker.receive()
            idle.append(worker)


class _Worker:
    """A process that answers jobs over its standard streams and ends when they close,
    so that it never outlives its parent.
    """

    def __init__(self):
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._jobs, self._answers = self._process.stdin, self._process.stdout

    def fileno(self) -> int:
        """What to wait on for an answer."""
        return self._answers.fileno()

    def send(self, job: Any) -> None:
        try:
            _write(self._jobs, job)
        except BrokenPipeError:
            raise self._death() from None

    def receive(self) -> Any:
        try:
            fine, answer = pickle.loads(pickle.load(self._answers))
        except (EOFError, pickle.UnpicklingError):
            raise self._death() from None
        if not fine:
            raise WorkerFailed(f"A worker process could not do its part: {answer}")
        return answer

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._answers.close()
        with contextlib.suppress(BrokenPipeError):  # what was not yet sent has no receiver
            self._jobs.close()

    def _death(self) -> WorkerFailed:
        status = self._process.wait()
        return WorkerFailed(
            f"A worker process ended by itself (exit status {status}). Run again; if it recurs, memory may be short."
        )


def serve() -> None:
    """A worker's life: answer jobs until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    jobs, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a job prints must not mix with the answers
    while True:
        try:
            job = pickle.load(jobs)
        except EOFError:
            return
        try:
            function, arguments = pickle.loads(job)
            answer = True, function(*arguments)
        except Exception as error:
            answer = False, f"{type(error).__name__}: {error}"
        try:
            _write(answers, answer)
        except BrokenPipeError:
            return


def _write(stream: Any, message: Any) -> None:
    # Wrapped twice: a message that can not be understood is still read to its end, and the stream stays in step.
    pickle.dump(pickle.dumps(message), stream)
    stream.flush()
