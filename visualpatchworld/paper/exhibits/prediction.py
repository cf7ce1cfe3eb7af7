"""What a program predicts, ours in this process and a model's in the sandbox: rollouts, motion step by step, one transition."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from jaxtyping import Float

from visualpatchworld.errors import VpwError
from visualpatchworld.induction.windows import Windows, cut_windows, predict
from visualpatchworld.paper.exhibit import Measured, Subject, plain
from visualpatchworld.paper.film import ways_in
from visualpatchworld.program.sandbox import sandboxed_rollouts
from visualpatchworld.task import ErrorMetric
from visualpatchworld.trace.episode import Episode

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


HORIZON = 25
NUM_WINDOWS = 1000


def measure_rollout(subject: Subject) -> Measured:
    """Mean, median and 90th percentile of every quantity after 1 to 25 steps; a rollout that is not finite counts as infinitely far off."""
    recordings = subject.recordings
    if max(len(recording.actions) for recording in recordings) < HORIZON:
        raise VpwError(f"No test episode of '{subject.source}' has {HORIZON} steps; give --traces FILE.h5 with longer ones.")
    windows = cut_windows(recordings, HORIZON, NUM_WINDOWS, np.random.default_rng(subject.seed))
    with foresight(subject) as foresee:
        predicted = foresee(windows)
    errors = {}
    for name, quantity in subject.domain.error_metrics.items():
        by_step = quantity(predicted, windows.truths)
        by_step = np.where(np.isfinite(by_step), by_step, np.inf)
        with np.errstate(invalid="ignore"):  # between two infinite errors lies no number
            errors[name] = {
                "mean": plain(by_step.mean(axis=0)),
                "median": plain(np.median(by_step, axis=0)),
                "p90": plain(np.percentile(by_step, 90, axis=0)),
            }
    failed = int((~np.isfinite(predicted)).any(axis=(1, 2)).sum())
    return Measured({"horizon": HORIZON, "windows": len(windows), "not_finite": failed, "rollout_error": errors})


def measure_motion(subject: Subject) -> Measured:
    """For every quantity, one-step displacements in the test episode in which it moves most.

    What moves only when touched moves most where it is touched most, so this is a contact episode where there is contact at all.
    """
    with foresight(subject) as foresee:
        return Measured({"motion": {name: _motion(subject, quantity, foresee) for name, quantity in subject.domain.error_metrics.items()}})


def _motion(subject: Subject, quantity: ErrorMetric, foresee: Foresee) -> dict[str, Any]:
    episode = max(subject.held_out, key=lambda episode: _moved(quantity, episode).sum())
    states = episode.observations
    predicted = foresee(Windows(states[:-1], episode.actions[:, None], states[1:, None]))[:, 0]
    true, foreseen = _moved(quantity, episode), quantity(predicted, states[:-1])
    finite = np.isfinite(foreseen)
    return {
        "episode": episode.index,
        "true": plain(true),
        "predicted": plain(foreseen),
        "true_sum": plain(true.sum()),
        "predicted_sum": plain(foreseen[finite].sum()),
        "not_finite": int((~finite).sum()),
    }


def _moved(quantity: ErrorMetric, episode: Episode) -> np.ndarray:
    return quantity(episode.observations[1:], episode.observations[:-1])


def measure_transition(subject: Subject) -> Measured:
    """The liveliest step of the first test episode."""
    domain, episode = subject.domain, subject.held_out[0]
    step = _liveliest(subject, episode)
    before, after, action = episode.observations[step], episode.observations[step + 1], episode.actions[step]
    with foresight(subject) as foresee:
        predicted = foresee(Windows(before[None], action[None, None], after[None, None]))[0, 0]
    world, pictures = domain.simulator(subject.constants), {}
    for name, row in (("before", step), ("after", step + 1)):
        world.set_engine_state(episode.engine_states[row])
        pictures[name] = world.render()
    moments = {"before": before, "after": after, "predicted": predicted}
    ways = ways_in(domain)(np.stack(list(moments.values())))
    return Measured(
        {
            "episode": episode.index,
            "step": step,
            "fields": [{"name": field.name, "unit": field.unit} for field in domain.scene.state_space],
            **{name: plain(state) for name, state in moments.items()},
            "action": plain(action),
            "error": {name: plain(quantity(predicted, after)) for name, quantity in domain.error_metrics.items()},
            "pixels": {name: dict(zip(moments, plain(way), strict=True)) for name, way in ways.items()},
            "graph": domain.scene.oracle(before, subject.constants, step=step).data(),
            "program_text": subject.needed_program().text,
        },
        pictures,
    )


def _liveliest(subject: Subject, episode: Episode) -> int:
    """The step in which things move most, each measured by how much it moves on average: what seldom moves counts when it does."""
    moves = [quantity(episode.observations[1:], episode.observations[:-1]) for quantity in subject.domain.error_metrics.values()]
    return int(np.argmax(sum(move / max(float(move.mean()), np.finfo(float).tiny) for move in moves)))
