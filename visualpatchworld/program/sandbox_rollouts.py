"""A planner's view of a sandboxed program: futures of candidates, not a number where the program fails, whatever it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from jaxtyping import Float

from visualpatchworld.program.program import BadProgram, Program
from visualpatchworld.program.sandbox import Limits, Sandbox

MOST_RESTARTS = 3  # after so many stops a program is not tried again: each one costs a planner the whole time limit

Rollouts = Callable[[Float[np.ndarray, " S"], Float[np.ndarray, "K H A"]], Float[np.ndarray, "K H S"]]


@contextmanager
def sandboxed_rollouts(program: Program, fields: Sequence[str], action_dim: int, limits: Limits = Limits()) -> Iterator[Rollouts]:
    """A function from one state and K action sequences to the states after each action; `BadProgram` where the program does not load.

    A call in which the program has to be stopped gives NaN throughout; the program is started anew for the next one.
    """
    running: list[Sandbox] = [Sandbox(program, fields, action_dim, limits)]
    stops = 0

    def rollouts(state: Float[np.ndarray, " S"], actions: Float[np.ndarray, "K H A"]) -> Float[np.ndarray, "K H S"]:
        nonlocal stops
        if stops < MOST_RESTARTS:
            try:
                if not running:
                    running.append(Sandbox(program, fields, action_dim, limits))
                return running[0].rollouts(state, actions)
            except BadProgram:
                stops += 1
                for sandbox in running:
                    sandbox.close()
                running.clear()
        return np.full((*np.shape(actions)[:2], len(fields)), np.nan)

    try:
        yield rollouts
    finally:
        for sandbox in running:
            sandbox.close()
