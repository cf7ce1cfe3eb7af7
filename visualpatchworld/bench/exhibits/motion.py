"""How far things move step by step, foreseen from the true state before each step, against how far they did move."""

from __future__ import annotations

from typing import Any

import numpy as np

from visualpatchworld.bench.exhibit import Measured
from visualpatchworld.bench.exhibits._foresight import Foresee, foresight
from visualpatchworld.bench.subject import Subject, plain
from visualpatchworld.domain import Quantity
from visualpatchworld.induction.windows import Windows
from visualpatchworld.trace.episode import Episode

OF = "program"


def measure(subject: Subject) -> Measured:
    """For every quantity, one-step displacements in the test episode in which it moves most.

    What moves only when touched moves most where it is touched most, so this is a contact episode where there is contact at all.
    """
    with foresight(subject) as foresee:
        return Measured({"motion": {name: _motion(subject, quantity, foresee) for name, quantity in subject.domain.quantities.items()}})


def _motion(subject: Subject, quantity: Quantity, foresee: Foresee) -> dict[str, Any]:
    episode = max(subject.held_out, key=lambda episode: _moved(quantity, episode).sum())
    states = episode.states
    predicted = foresee(Windows(states[:-1], episode.actions[:-1, None], states[1:, None]))[:, 0]
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


def _moved(quantity: Quantity, episode: Episode) -> np.ndarray:
    return quantity(episode.states[1:], episode.states[:-1])
