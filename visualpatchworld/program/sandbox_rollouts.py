"""A planner's view of a sandboxed program: futures of candidates, not a number where the program fails, whatever it does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from jaxtyping import Float

from visualpatchworld.program.program import BadProgram, Program
from visualpatchworld.program.sandbox import Limits, ProgramLate, Sandbox

MOST_RESTARTS = 3  # after so many stops a program is not tried again: each one costs a planner the whole time limit
MOST_AT_ONCE = 300  # sequences in one call where there may be any number, since a call has to end within its time limit


class SandboxedRollouts:
    """From one state (S,) and K action sequences (K, H, A) to the states after each action (K, H, S).

    A call in which the program has to be stopped gives NaN throughout, as numbers that are not finite do; `stops` and `late` tell the
    two apart. The program is started anew for the next call, until it was stopped too often or its time for all calls is used up.
    """

    def __init__(self, program: Program, fields: Sequence[str], action_dim: int, limits: Limits, unfiltered: bool):
        self._asked = program, fields, action_dim
        self._limits, self._unfiltered = limits, unfiltered
        self._used_s = 0.0  # by processes that are gone
        self.stops: list[str] = []  # the sentence of each stop
        self.late = 0  # how many of them were for time
        self.unanswered = 0  # calls that got NaN for it
        self._running: Sandbox | None = self._started()

    def __call__(self, state: Float[np.ndarray, " S"], actions: Float[np.ndarray, "K H A"]) -> Float[np.ndarray, "K H S"]:
        return self._together(np.repeat(np.asarray(state, np.float64)[None], len(actions), axis=0), actions)

    def each(self, states: Float[np.ndarray, "N S"], actions: Float[np.ndarray, "N H A"]) -> Float[np.ndarray, "N H S"]:
        """The same from a state of each sequence's own, however many there are."""
        parts = [slice(first, first + MOST_AT_ONCE) for first in range(0, len(states), MOST_AT_ONCE)]
        return np.concatenate([self._together(states[part], actions[part]) for part in parts])

    def _together(self, states: Float[np.ndarray, "N S"], actions: Float[np.ndarray, "N H A"]) -> Float[np.ndarray, "N H S"]:
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
        return {"late": self.late, "failed": others, "unanswered": self.unanswered, "gave_up": self.gave_up, "first": first}

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
