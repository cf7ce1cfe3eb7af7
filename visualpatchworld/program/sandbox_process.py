"""The process that a sandboxed program runs in, and what it answers: only JSON and numbers are believed."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import selectors
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, TypeGuard

from visualpatchworld.errors import printable

LONGEST_LINE = 65_536  # bytes of an answer before its numbers
LONGEST_SENTENCE = 400  # characters of an error; the rest is cut off
MOST_FIELDS = 4096  # of a state or an observation
MOST_FAILURES = 64  # lanes whose sentence is told


class Nonsense(Exception):
    """An answer that no honest process gives."""


@dataclass(frozen=True)
class Refusal:
    """The program's own error, and the line that it came from."""

    sentence: str
    line: int | None


@dataclass(frozen=True)
class Rolled:
    """How rolling went, besides its numbers."""

    failures: dict[int, str]
    num_failed: int
    num_together: int


def read_answer(line: bytes) -> dict[str, Any]:
    """One line of JSON that is an object; numbers that JSON does not have are not taken."""

    def refuse(_: str) -> NoReturn:
        raise Nonsense

    try:
        answer = json.loads(line.decode("utf-8"), parse_constant=refuse)
    except (ValueError, RecursionError):
        raise Nonsense from None
    if not isinstance(answer, dict):
        raise Nonsense
    return answer


def protections_in(answer: dict[str, Any]) -> tuple[str, ...]:
    """What the process says is active."""
    told = answer.get("protections")
    if not isinstance(told, list) or not all(isinstance(name, str) for name in told):
        raise Nonsense
    return tuple(printable(name)[:LONGEST_SENTENCE] for name in told)


def refusal_in(answer: dict[str, Any]) -> Refusal | None:
    """The program's error, where there is one."""
    if "error" not in answer:
        return None
    sentence, line = answer["error"], answer.get("line")
    if not isinstance(sentence, str) or not (line is None or _is_count(line, 10**6)):
        raise Nonsense
    return Refusal(printable(sentence)[:LONGEST_SENTENCE], line)


def rolled_in(answer: dict[str, Any], num_lanes: int, num_steps: int) -> Rolled:
    """How rolling so many lanes forward went."""
    failures, num_failed, num_together = answer.get("failures"), answer.get("num_failed"), answer.get("num_together")
    if (
        not isinstance(failures, dict)
        or not _is_count(num_failed, num_lanes)
        or not _is_count(num_together, num_lanes * num_steps)
    ):
        raise Nonsense
    if len(failures) > min(MOST_FAILURES, num_failed):
        raise Nonsense
    told = {}
    for lane, sentence in failures.items():
        if not (
            lane.isascii() and lane.isdigit() and len(lane) < 10 and int(lane) < num_lanes and isinstance(sentence, str)
        ):
            raise Nonsense
        told[int(lane)] = printable(sentence)[:LONGEST_SENTENCE]
    return Rolled(told, num_failed, num_together)


def world_in(answer: dict[str, Any]) -> tuple[tuple[str, ...], frozenset[str]]:
    """The fields of a program's State, and what it defines besides."""
    fields, defines = answer.get("fields"), answer.get("defines")
    for names in (fields, defines):
        if not isinstance(names, list) or len(names) > MOST_FIELDS:
            raise Nonsense
        if not all(isinstance(name, str) and name.isidentifier() for name in names):
            raise Nonsense
    assert isinstance(fields, list) and isinstance(defines, list)
    return tuple(fields), frozenset(defines)


def width_in(answer: dict[str, Any]) -> int:
    """How many numbers each row has that follows."""
    width = answer.get("width")
    if not _is_count(width, MOST_FIELDS):
        raise Nonsense
    return width


def _is_count(value: object, most: int) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= most


PACKAGE = Path(__file__).parent.parent
# The package's own start-up imports engines; the child needs a few of its modules and nothing else.
CHILD = (
    "import sys, types; package = types.ModuleType('visualpatchworld'); package.__path__ = [{path!r}]; "
    "sys.modules['visualpatchworld'] = package; from visualpatchworld.program.sandbox_child import serve; serve()"
)
# Nothing of ours but the seed of hashes, so that the order of a set is the same on every run.
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}
FOLDER_PREFIX = "vpw-sandbox-"
ENDING_S = 1.0  # that a process which closed its pipe is given to say how it ended


@dataclass(frozen=True)
class Deadline:
    """A moment of the monotonic clock, and what to say of a process that is late."""

    at: float
    said: str


class ProcessStopped(Exception):
    """A process that is late, ended by itself or wrote too much; it has been ended."""

    def __init__(self, reason: str, late: bool = False):
        super().__init__(reason)
        self.late = late


class Process:
    """A child of this process, in a folder that is gone once it is there, with one pipe to it and one back."""

    def __init__(self, memory_mb: int):
        sweep(os.getpid())
        folder = tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}{os.getpid()}-")
        try:
            self._process = _started_for_good(lambda: _start(folder, memory_mb))
        finally:
            # It keeps its folder, which has no name any more and takes no file.
            shutil.rmtree(folder, ignore_errors=True)
        self._unread = b""

    def send(self, data: bytes, deadline: Deadline) -> None:
        """Write all of the data."""
        assert self._process.stdin is not None
        stream, view = self._process.stdin.fileno(), memoryview(data)
        while view:
            self._wait(stream, selectors.EVENT_WRITE, deadline)
            try:
                view = view[os.write(stream, view) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                self._stop_ended()

    def line(self, longest: int, deadline: Deadline) -> bytes:
        """One line, without its end."""
        while b"\n" not in self._unread:
            if len(self._unread) > longest:
                self._stop("the program's answer was longer than any answer can be")
            self._receive(deadline)
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def bytes(self, count: int, deadline: Deadline) -> bytes:
        """So many bytes."""
        parts, missing = [self._unread], count - len(self._unread)
        while missing > 0:
            self._unread = b""
            self._receive(deadline)
            parts.append(self._unread)
            missing -= len(self._unread)
        data = b"".join(parts)
        self._unread = data[count:]
        return data[:count]

    def close(self) -> None:
        """End the process with all it may have started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def _receive(self, deadline: Deadline) -> None:
        assert self._process.stdout is not None
        stream = self._process.stdout.fileno()
        self._wait(stream, selectors.EVENT_READ, deadline)
        data = os.read(stream, 1 << 20)
        if not data:
            self._stop_ended()
        self._unread += data

    def _wait(self, stream: int, event: int, deadline: Deadline) -> None:
        left_s = deadline.at - time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(stream, event)
            # The clock counts even where the pipe is ready: a process could keep it ready for ever.
            if left_s <= 0 or not selector.select(left_s):
                self._stop(deadline.said, late=True)

    def _stop_ended(self) -> None:
        """A pipe is closed; whether the process ended or only closed it, there is no more to hear."""
        try:
            status = self._process.wait(timeout=ENDING_S)
        except subprocess.TimeoutExpired:
            self._stop("the program closed the pipe that it answers through and was stopped")
        reasons = {-signal.SIGXCPU: "used more processor time than it may", -signal.SIGSEGV: "crashed"}
        self._stop(
            f"the program {reasons.get(status, f'ended its process (status {status})')} and was stopped",
            status == -signal.SIGXCPU,
        )

    def _stop(self, reason: str, late: bool = False) -> None:
        self.close()
        raise ProcessStopped(reason, late)


@cache
def sweep(_pid: int) -> None:
    """Remove the folders of processes that were killed before they could; once in each process is enough."""
    for path in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*-*"):
        owner = path.name.removeprefix(FOLDER_PREFIX).partition("-")[0]
        with contextlib.suppress(OSError, ValueError, OverflowError):
            about = path.lstat()
            if stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid() and not _runs(int(owner)):
                shutil.rmtree(path, ignore_errors=True)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _start(folder: str, memory_mb: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-P", "-s", "-B", "-c", CHILD.format(path=str(PACKAGE)), str(memory_mb), str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=ENVIRONMENT,
        start_new_session=True,
        bufsize=0,
    )
    assert process.stdin is not None
    os.set_blocking(process.stdin.fileno(), False)
    return process


# Process id -> what its starting thread is asked for; a forked process has none.
_queues: dict[int, queue.SimpleQueue[Any]] = {}


def _started_for_good(start: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """Start from a thread that lives as long as this process does.

    The kernel ends a child with the thread that started it, not with the process; a caller's thread may be gone long
    before.
    """
    mine: queue.SimpleQueue[Any] = queue.SimpleQueue()
    asked = _queues.setdefault(os.getpid(), mine)
    if asked is mine:
        threading.Thread(target=_start_as_asked, args=(asked,), name="vpw-sandbox-starter", daemon=True).start()
    answer: Future[subprocess.Popen[bytes]] = Future()
    asked.put((start, answer))
    return answer.result()


def _start_as_asked(asked: queue.SimpleQueue[Any]) -> None:
    while True:
        start, answer = asked.get()
        try:
            answer.set_result(start())
        except BaseException as error:
            answer.set_exception(error)
        del start, answer  # else a process that nobody holds any more would live on
