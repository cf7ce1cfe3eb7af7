"""The sandbox: a program that nobody here wrote runs in a process of its own, screened, locked in, limited and killed when late.

What comes back from that process is one line of JSON and plain numbers, read up to a known size: never objects.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float

from visualpatchworld.errors import VpwError
from visualpatchworld.program.program import BadProgram, Program
from visualpatchworld.program.sandbox_answer import LONGEST_LINE, Nonsense, protections_in, read_answer, refusal_in, rolled_in
from visualpatchworld.program.sandbox_process import Deadline, Process, ProcessStopped
from visualpatchworld.program.sandbox_screen import screen

Told = TypeVar("Told")

START_S = 60.0
FILTER = "system call filter"
INSIST = "VPW_UNFILTERED"  # set to 1, it lets every sandbox go without a filter


class NoSandbox(VpwError):
    """A machine on which a process cannot be locked in."""


class ProgramFailed(BadProgram):
    """A program that ended its process, answered nonsense or ran too long."""


class ProgramLate(ProgramFailed):
    """A program that used up its time."""


@dataclass(frozen=True)
class Limits:
    """What one call of a program may take, and all its calls together."""

    wall_s: float = 10.0
    cpu_s: float = 10.0
    memory_mb: int = 1024
    total_s: float = 3600.0


@dataclass(frozen=True)
class Prediction:
    """States (H, N, S) that a program foresees, NaN from where it failed, with the first failures and how it was run."""

    states: Float[np.ndarray, "H N S"]
    failures: Mapping[int, str]  # lane -> sentence, the first few
    num_failed: int
    way: str  # "batched", "one by one", or "mixed"


class Sandbox:
    """One program in one locked process; `with` ends that process, whatever happened.

    Where the machine has no system call filter the process could still delete files, so it is not started, unless `unfiltered` insists.
    """

    def __init__(
        self,
        program: Program,
        fields: Sequence[str],
        action_dim: int,
        limits: Limits = Limits(),
        *,
        unfiltered: bool = False,
        used_s: float = 0.0,
    ):
        screen(program)
        self._limits, self._program = limits, program
        self.used_s = used_s  # of the time for all calls, by those before as well
        try:
            self._process: Process | None = Process(limits.memory_mb)
        except OSError as error:
            raise NoSandbox(f"The sandbox cannot start a process ({error.strerror}).") from error
        try:
            starting = Deadline(time.monotonic() + START_S, f"the sandbox did not start within {START_S:g} s")
            self.protections = self._heard(lambda process: protections_in(read_answer(process.line(LONGEST_LINE, starting))))
            if FILTER not in self.protections and not unfiltered and os.environ.get(INSIST) != "1":
                raise NoSandbox(
                    "This machine lets no process filter its system calls (seccomp), so that the sandbox cannot keep a program from your "
                    f"files; insist with --unfiltered or {INSIST}=1 if you trust the program, or run it on another machine."
                )
            self._asked({"do": "load", "text": program.text, "fields": list(fields), "action_dim": action_dim}, b"", lambda *_: None)
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
        wanted = (actions.shape[0], *np.shape(states))
        num_steps, num_lanes, count = wanted[0], wanted[1], int(np.prod(wanted))

        def heard(process: Process, answer: dict[str, Any], deadline: Deadline) -> Prediction:
            told = rolled_in(answer, num_lanes, num_steps)
            after = np.frombuffer(process.bytes(8 * count, deadline), np.float64).reshape(wanted)
            alone = told.num_together < num_steps * num_lanes
            way = "batched" if not alone else "mixed" if told.num_together else "one by one"
            return Prediction(after, told.failures, told.num_failed, way)

        job = {"do": "roll", "shapes": [values.shape for values in arrays]}
        return self._asked(job, b"".join(values.tobytes() for values in arrays), heard)

    def close(self) -> None:
        """End the process with all it may have started."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _asked(self, job: dict[str, Any], payload: bytes, heard: Callable[[Process, dict[str, Any], Deadline], Told]) -> Told:
        """What is made of the answer to a job; `BadProgram` with the program's own error, `ProgramFailed` where it gave none."""
        line = json.dumps({**job, "cpu_s": self._limits.cpu_s}).encode() + b"\n"
        begun, deadline = time.monotonic(), self._deadline()

        def exchange(process: Process) -> Told:
            process.send(line + payload, deadline)
            answer = read_answer(process.line(LONGEST_LINE, deadline))
            refusal = refusal_in(answer)
            if refusal is not None:
                raise BadProgram(f"{self._program.where(refusal.line)}: {refusal.sentence}.")
            return heard(process, answer, deadline)

        try:
            return self._heard(exchange)
        finally:
            self.used_s += time.monotonic() - begun

    def _heard(self, listen: Callable[[Process], Told]) -> Told:
        """What is heard from the process; one that is late or answers nonsense is ended and not asked again."""
        where = self._program.where()
        if self._process is None:
            raise ProgramFailed(f"{where}: the program was stopped before and is not started again.")
        try:
            return listen(self._process)
        except ProcessStopped as stopped:
            self._process = None
            raise (ProgramLate if stopped.late else ProgramFailed)(f"{where}: {stopped}.") from None
        except Nonsense:
            self.close()
            raise ProgramFailed(f"{where}: what came out of the program's process is no answer.") from None
        except BadProgram:
            raise
        except BaseException:  # half an answer may wait in the pipe
            self.close()
            raise

    def _deadline(self) -> Deadline:
        """When one call must be done: after its own time, or when the time for all calls is used up."""
        limits, left_s = self._limits, self._limits.total_s - self.used_s
        if left_s < limits.wall_s:
            return Deadline(
                time.monotonic() + left_s, f"the program used up the {limits.total_s:g} s that all its calls may take and was stopped"
            )
        return Deadline(time.monotonic() + limits.wall_s, f"the program did not finish within {limits.wall_s:g} s and was stopped")
