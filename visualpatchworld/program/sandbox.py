"""Running programs that nobody here wrote: locked in, within limits, one at a time or many rollouts at once."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.errors import VpwError
from visualpatchworld.program.program import BadProgram, Program
from visualpatchworld.program.sandbox_process import (
    LONGEST_LINE,
    Deadline,
    Nonsense,
    Process,
    ProcessStopped,
    protections_in,
    read_answer,
    refusal_in,
    rolled_in,
    width_in,
    world_in,
)
from visualpatchworld.program.sandbox_screen import screen

Told = TypeVar("Told")

START_S = 60.0
WITH_LIFE = 3  # numbers that come with a step: its reward, whether it ended, and whether the laws hold there
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
    """States (H, N, S) that a program foresees, NaN from where
    it failed, with the first failures and how it was run.
    """

    states: Float[np.ndarray, "H N S"]
    failures: Mapping[int, str]  # lane -> sentence, the first few
    num_failed: int
    way: str  # "batched", "one by one", or "mixed"


class Sandbox:
    """One program in one locked process; `with` ends that process, whatever happened.

    Without `fields` the whole world of the program is loaded: a step then gives its reward, its end and whether the
    laws hold there as well (`SandboxedWorld` reads that).

    Where the machine has no system call filter the process could still delete files, so it is not started, unless
    `unfiltered` insists.
    """

    def __init__(
        self,
        program: Program,
        fields: Sequence[str] | None,
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
            self.protections = self._heard(
                lambda process: protections_in(read_answer(process.line(LONGEST_LINE, starting)))
            )
            if FILTER not in self.protections and not unfiltered and os.environ.get(INSIST) != "1":
                raise NoSandbox(
                    "This machine lets no process filter its system calls (seccomp), so that the sandbox "
                    "cannot keep a program from your "
                    f"files; insist with --unfiltered or {INSIST}=1 if you trust the program, or run it "
                    "on another machine."
                )
            known = None if fields is None else list(fields)
            self.fields, self.defines = self._asked(
                {"do": "load", "text": program.text, "fields": known, "action_dim": action_dim},
                b"",
                lambda _, answer, __: world_in(answer) if known is None else (tuple(known), frozenset()),
            )
            self._with_life = WITH_LIFE if fields is None else 0
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

    def rollouts(
        self, state: Float[np.ndarray, " S"], actions: Float[np.ndarray, "K H A"]
    ) -> Float[np.ndarray, "K H S"]:
        """States after each action of K sequences from one state; NaN from where the program failed."""
        states = np.repeat(np.asarray(state, np.float64)[None], len(actions), axis=0)
        return self.roll(states, np.asarray(actions).swapaxes(0, 1)).states.swapaxes(0, 1)

    def roll(self, states: Float[np.ndarray, "N S"], actions: Float[np.ndarray, "H N A"]) -> Prediction:
        """N states forward under H actions each."""
        arrays = [np.ascontiguousarray(values, dtype=np.float64) for values in (states, actions)]
        wanted = (actions.shape[0], np.shape(states)[0], np.shape(states)[1] + self._with_life)
        num_steps, num_lanes, count = wanted[0], wanted[1], int(np.prod(wanted))

        def heard(process: Process, answer: dict[str, Any], deadline: Deadline) -> Prediction:
            told = rolled_in(answer, num_lanes, num_steps)
            after = np.frombuffer(process.bytes(8 * count, deadline), np.float64).reshape(wanted)
            alone = told.num_together < num_steps * num_lanes
            way = "batched" if not alone else "mixed" if told.num_together else "one by one"
            return Prediction(after, told.failures, told.num_failed, way)

        job = {"do": "roll", "shapes": [values.shape for values in arrays]}
        return self._asked(job, b"".join(values.tobytes() for values in arrays), heard)

    def convert(self, how: Literal["read", "observe"], rows: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N L"]:
        """States that observations show (`read`), or observations of states (`observe`)."""
        values = np.ascontiguousarray(rows, dtype=np.float64)

        def heard(process: Process, answer: dict[str, Any], deadline: Deadline) -> Float[np.ndarray, "N L"]:
            shape = len(values), width_in(answer)
            return np.frombuffer(process.bytes(8 * shape[0] * shape[1], deadline), np.float64).reshape(shape)

        return self._asked({"do": how, "shapes": [values.shape]}, values.tobytes(), heard)

    def close(self) -> None:
        """End the process with all it may have started."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _asked(
        self, job: dict[str, Any], payload: bytes, heard: Callable[[Process, dict[str, Any], Deadline], Told]
    ) -> Told:
        """What is made of the answer to a job; `BadProgram` with the
        program's own error, `ProgramFailed` where it gave none.
        """
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
                time.monotonic() + left_s,
                f"the program used up the {limits.total_s:g} s that all its calls may take and was stopped",
            )
        return Deadline(
            time.monotonic() + limits.wall_s, f"the program did not finish within {limits.wall_s:g} s and was stopped"
        )


MOST_RESTARTS = 3  # after so many stops a program is not tried again: each one costs a planner the whole time limit
MOST_AT_ONCE = 300  # sequences in one call where there may be any number, since a call has to end within its time limit


class SandboxedRollouts:
    """From one state (S,) and K action sequences (K, H, A) to the states after each action (K, H, S).

    A call in which the program has to be stopped gives NaN throughout, as numbers that are not finite do; `stops` and
    `late` tell the two apart. The program is started anew for the next call, until it was stopped too often or its time
    for all calls is used up.
    """

    def __init__(self, program: Program, fields: Sequence[str], action_dim: int, limits: Limits, unfiltered: bool):
        self._asked = program, fields, action_dim
        self._limits, self._unfiltered = limits, unfiltered
        self._used_s = 0.0  # by processes that are gone
        self.stops: list[str] = []  # the sentence of each stop
        self.late = 0  # how many of them were for time
        self.unanswered = 0  # calls that got NaN for it
        self._running: Sandbox | None = self._started()

    def __call__(
        self, state: Float[np.ndarray, " S"], actions: Float[np.ndarray, "K H A"]
    ) -> Float[np.ndarray, "K H S"]:
        return self._together(np.repeat(np.asarray(state, np.float64)[None], len(actions), axis=0), actions)

    def each(self, states: Float[np.ndarray, "N S"], actions: Float[np.ndarray, "N H A"]) -> Float[np.ndarray, "N H S"]:
        """The same from a state of each sequence's own, however many there are."""
        parts = [slice(first, first + MOST_AT_ONCE) for first in range(0, len(states), MOST_AT_ONCE)]
        return np.concatenate([self._together(states[part], actions[part]) for part in parts])

    def _together(
        self, states: Float[np.ndarray, "N S"], actions: Float[np.ndarray, "N H A"]
    ) -> Float[np.ndarray, "N H S"]:
        if not self.gave_up:
            try:
                if self._running is None:
                    self._running = self._started()
                return self._running.roll(states, np.asarray(actions).swapaxes(0, 1)).states.swapaxes(0, 1)
            except BadProgram as error:
                self.stops.append(str(error))
                self.late += isinstance(error, ProgramLate)
                self.close()
        self.unanswered += 1
        return np.full((*np.shape(actions)[:2], len(self._asked[1])), np.nan)

    @property
    def gave_up(self) -> bool:
        """Whether the program is not tried any more."""
        return len(self.stops) >= MOST_RESTARTS or (self._running is None and self._used_s >= self._limits.total_s)

    def told(self) -> dict[str, object]:
        """How often the program was stopped, for time and otherwise, and what was said first."""
        others = len(self.stops) - self.late
        first = self.stops[0] if self.stops else None
        return {
            "late": self.late,
            "failed": others,
            "unanswered": self.unanswered,
            "gave_up": self.gave_up,
            "first": first,
        }

    def close(self) -> None:
        """End the process, if one is running."""
        if self._running is not None:
            self._used_s = self._running.used_s
            self._running.close()
            self._running = None

    def _started(self) -> Sandbox:
        return Sandbox(*self._asked, self._limits, unfiltered=self._unfiltered, used_s=self._used_s)


@contextmanager
def sandboxed_rollouts(
    program: Program, fields: Sequence[str], action_dim: int, limits: Limits = Limits(), *, unfiltered: bool = False
) -> Iterator[SandboxedRollouts]:
    """A program ready to foresee; `BadProgram` where it does not load."""
    rollouts = SandboxedRollouts(program, fields, action_dim, limits, unfiltered)
    try:
        yield rollouts
    finally:
        rollouts.close()


class Lived(NamedTuple):
    """What N sequences of H actions led to in a program's world; NaN and false from where the program failed."""

    states: Float[np.ndarray, "H N S"]
    rewards: Float[np.ndarray, "H N"]
    ended: Bool[np.ndarray, "H N"]
    valid: Bool[np.ndarray, "H N"]  # whether the program's laws were seen to hold there


class SandboxedWorld:
    """A program's world, whose functions run in the sandbox and nowhere else; rows go in, and rows come out."""

    def __init__(self, program: Program, action_dim: int, limits: Limits = Limits(), *, unfiltered: bool = False):
        self._sandbox = Sandbox(program, None, action_dim, limits, unfiltered=unfiltered)
        self.field_names = self._sandbox.fields
        self.has_reward = "reward" in self._sandbox.defines

    def __enter__(self) -> SandboxedWorld:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        self._sandbox.close()

    def read(self, observations: Float[np.ndarray, "N O"]) -> Float[np.ndarray, "N S"]:
        states = self._sandbox.convert("read", observations)
        if states.shape[1] != len(self.field_names):
            raise BadProgram("The program's read() must return a State.")
        return states

    def observe(self, states: Float[np.ndarray, "N S"]) -> Float[np.ndarray, "N O"]:
        return self._sandbox.convert("observe", states)

    def live(self, states: Float[np.ndarray, "N S"], actions: Float[np.ndarray, "H N A"]) -> Lived:
        """N states forward under H actions each; what comes after an end means nothing."""
        rows = self._sandbox.roll(states, actions).states
        rewards, ended, valid = np.moveaxis(rows[..., -WITH_LIFE:], -1, 0)
        return Lived(rows[..., :-WITH_LIFE], rewards, ended > 0, valid > 0)
