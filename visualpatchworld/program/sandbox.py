"""The sandbox: a program that nobody here wrote runs in a process of its own, screened, locked in, limited and killed when late.

What comes back from that process is one line of JSON and plain numbers, read up to a known size: never objects.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from jaxtyping import Float

from visualpatchworld.program.program import BadProgram, Program
from visualpatchworld.program.sandbox_screen import screen

PACKAGE = Path(__file__).parent.parent
# The package's own start-up imports engines; the child needs two of its modules and nothing else.
CHILD = (
    "import sys, types; package = types.ModuleType('visualpatchworld'); package.__path__ = [{path!r}]; "
    "sys.modules['visualpatchworld'] = package; from visualpatchworld.program.sandbox_child import serve; serve()"
)
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "LANG": "C.UTF-8"}
LONGEST_LINE = 65_536  # bytes of an answer before its numbers
START_S = 30.0
FOLDER_PREFIX = "vpw-sandbox-"
NONSENSE = "what came out of the program's process is no answer"


class ProgramFailed(BadProgram):
    """A program that ran too long, ended its process or answered nonsense."""


@dataclass(frozen=True)
class Limits:
    """What one call of a program may take."""

    wall_s: float = 10.0
    cpu_s: float = 10.0
    memory_mb: int = 1024


@dataclass(frozen=True)
class Prediction:
    """States (H, N, S) that a program foresees, NaN from where it failed, with the first failures and how it was run."""

    states: Float[np.ndarray, "H N S"]
    failures: Mapping[int, str]  # lane -> sentence, the first few
    num_failed: int
    way: str  # "batched", "one by one", or "mixed"


class Sandbox:
    """One program in one locked process; `with` ends that process, whatever happened."""

    def __init__(self, program: Program, fields: Sequence[str], action_dim: int, limits: Limits = Limits()):
        screen(program)
        self._limits, self._program = limits, program
        self._folder = tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}{os.getpid()}-")
        self._process: subprocess.Popen[bytes] | None = None
        self._unread, self._deadline = b"", time.monotonic() + START_S
        try:
            self._process = self._start()
            self.protections: tuple[str, ...] = tuple(self._answer().get("protections", ()))
            self._send({"do": "load", "text": program.text, "fields": list(fields), "action_dim": action_dim})
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def predict(self, states: Float[np.ndarray, "N S"], actions: Float[np.ndarray, "N A"]) -> Prediction:
        """Each state one step later under its action; `states` of the answer has H = 1."""
        return self.roll(states, np.asarray(actions)[None])

    def rollouts(self, state: Float[np.ndarray, " S"], actions: Float[np.ndarray, "K H A"]) -> Float[np.ndarray, "K H S"]:
        """States after each action of K sequences from one state; NaN from where the program failed."""
        states = np.repeat(np.asarray(state, np.float64)[None], len(actions), axis=0)
        return self.roll(states, np.asarray(actions).swapaxes(0, 1)).states.swapaxes(0, 1)

    def roll(self, states: Float[np.ndarray, "N S"], actions: Float[np.ndarray, "H N A"]) -> Prediction:
        """N states forward under H actions each."""
        arrays = [np.ascontiguousarray(values, dtype=np.float64) for values in (states, actions)]
        job = {"do": "roll", "shapes": [values.shape for values in arrays]}
        wanted = (actions.shape[0], *np.shape(states))
        told = self._send(job, b"".join(values.tobytes() for values in arrays))
        after = np.frombuffer(self._bytes(8 * int(np.prod(wanted))), np.float64).reshape(wanted)
        try:
            failures = {int(lane): str(sentence) for lane, sentence in told["failures"].items()}
            num_failed, num_together = int(told["num_failed"]), int(told["num_together"])
        except (KeyError, TypeError, ValueError, AttributeError):
            self._fail(NONSENSE)
        way = "batched" if num_together == int(np.prod(wanted[:2])) else "mixed" if num_together else "one by one"
        return Prediction(after, failures, num_failed, way)

    def close(self) -> None:
        """End the process with all it may have started, and remove its folder."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                assert stream is not None
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
            self._process = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-I", "-B", "-c", CHILD.format(path=str(PACKAGE)), str(self._limits.memory_mb)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._folder,
            env=ENVIRONMENT,
            start_new_session=True,
            bufsize=0,
        )
        assert process.stdin is not None
        os.set_blocking(process.stdin.fileno(), False)
        return process

    def _send(self, job: dict[str, Any], payload: bytes = b"") -> dict[str, Any]:
        """The answer to a job; `BadProgram` with the program's own error, `ProgramFailed` where it gave none."""
        if self._process is None:
            raise ProgramFailed(f"{self._program.where()}: the program was stopped before and is not started again.")
        line = json.dumps({**job, "cpu_s": self._limits.cpu_s}).encode() + b"\n"
        self._deadline = time.monotonic() + self._limits.wall_s
        self._feed(line + payload)
        answer = self._answer()
        if "error" in answer:
            line = answer.get("line")
            raise BadProgram(f"{self._program.where(line if isinstance(line, int) else None)}: {answer['error']}.")
        return answer

    def _feed(self, data: bytes) -> None:
        assert self._process is not None and self._process.stdin is not None
        stream, view = self._process.stdin.fileno(), memoryview(data)
        while view:
            self._wait(stream, selectors.EVENT_WRITE)
            try:
                view = view[os.write(stream, view) :]
            except (BrokenPipeError, BlockingIOError):
                self._fail_if_ended()

    def _answer(self) -> dict[str, Any]:
        while b"\n" not in self._unread:
            if len(self._unread) > LONGEST_LINE:
                self._fail("the program's answer was longer than any answer can be")
            self._receive()
        line, _, self._unread = self._unread.partition(b"\n")
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            self._fail(NONSENSE)
        if not isinstance(answer, dict):
            self._fail(NONSENSE)
        return answer

    def _bytes(self, count: int) -> bytes:
        while len(self._unread) < count:
            self._receive()
        found, self._unread = self._unread[:count], self._unread[count:]
        return found

    def _receive(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        stream = self._process.stdout.fileno()
        self._wait(stream, selectors.EVENT_READ)
        data = os.read(stream, 1 << 20)
        if not data:
            self._fail_if_ended()
        self._unread += data

    def _wait(self, stream: int, event: int) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(stream, event)
            if not selector.select(max(self._deadline - time.monotonic(), 0)):
                self._fail(f"the program did not finish within {self._limits.wall_s:g} s and was stopped")

    def _fail_if_ended(self) -> None:
        assert self._process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self._process.wait(timeout=1)
            reasons = {-signal.SIGXCPU: f"used more than {self._limits.cpu_s:g} s of processor time", -signal.SIGSEGV: "crashed"}
            self._fail(f"the program {reasons.get(status, f'ended its process (status {status})')} and was stopped")

    def _fail(self, reason: str) -> NoReturn:
        self.close()
        raise ProgramFailed(f"{self._program.where()}: {reason}.")
