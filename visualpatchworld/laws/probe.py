"""A probe: a short experiment with a chosen start and chosen actions, made to tell the values of an axis apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Probe:
    """What it tests (an axis of the family), where the world is put, and what is done to it.

    A probe that tests nothing is there for the constants: forms are fitted to it, and not judged by it.
    """

    name: str
    tests: str
    start: Float[np.ndarray, " S"]
    actions: Float[np.ndarray, "T A"]
