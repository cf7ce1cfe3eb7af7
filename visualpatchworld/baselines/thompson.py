"""Thompson sampling over "refine this program": the rule that three of the rivals share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from visualpatchworld.baselines.study import Candidate


def belief(score: float, failed_pulls: int, concentration: float) -> tuple[float, float]:
    """The Beta distribution of a program's worth: its score counts `concentration` times, a pull that solved nothing once."""
    return 1.0 + concentration * score, 1.0 + concentration * (1.0 - score) + failed_pulls


def draw(pool: Sequence[Candidate], failed_pulls: Mapping[int, int], concentration: float, rng: np.random.Generator) -> Candidate:
    """The program whose drawn worth is highest."""
    worths = [rng.beta(*belief(candidate.score, failed_pulls.get(candidate.index, 0), concentration)) for candidate in pool]
    return pool[int(np.argmax(worths))]
