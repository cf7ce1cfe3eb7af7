"""What a program foresees: ours in this process, a model's in the sandbox; both answer the same windows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from jaxtyping import Float

from visualpatchworld.bench.subject import Subject
from visualpatchworld.induction.errors_by_horizon import predict
from visualpatchworld.induction.windows import Windows
from visualpatchworld.program.sandbox_rollouts import sandboxed_rollouts

MOST_AT_ONCE = 300  # sequences in one call of a sandboxed program, which has to end within its time limit

# From N windows of H steps to the states foreseen in them; NaN where a sandboxed program failed.
Foresee = Callable[[Windows], Float[np.ndarray, "N H S"]]


@contextmanager
def foresight(subject: Subject) -> Iterator[Foresee]:
    """The program made ready to foresee."""
    program, space = subject.needed_program(), subject.domain.scene.state_space
    action_dim = subject.domain.layout.action.width
    if not subject.sandboxed:
        checked = program.check(space, action_dim).check_tracing(space, action_dim)
        yield lambda windows: predict(checked, windows)
        return
    with sandboxed_rollouts(program, space.names, action_dim) as rollouts:
        yield lambda windows: np.concatenate([rollouts(windows.starts[rows][0], windows.actions[rows]) for rows in _runs(windows)])


def _runs(windows: Windows) -> list[slice]:
    """Stretches of windows that begin in the same state, none too long."""
    changes = np.flatnonzero((np.diff(windows.starts, axis=0) != 0).any(axis=1)) + 1
    bounds = [0, *changes.tolist(), len(windows)]
    return [
        slice(first, min(first + MOST_AT_ONCE, end))
        for begin, end in itertools.pairwise(bounds)
        for first in range(begin, end, MOST_AT_ONCE)
    ]
