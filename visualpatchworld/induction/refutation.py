"""What speaks against a form: the first probe that it does not explain, and the quantity that is furthest beyond its tolerance there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol


class Judged(Protocol):
    """A form against one probe, in memory or as a record keeps it."""

    @property
    def probe(self) -> str: ...
    @property
    def explained(self) -> bool: ...
    @property
    def errors(self) -> Mapping[str, float]: ...


@dataclass(frozen=True)
class Refutation:
    """One quantity in one probe, off by more than is tolerated; both numbers are in the quantity's own unit."""

    probe: str
    quantity: str
    error: float
    tolerance: float

    def __str__(self) -> str:
        return f"refuted by '{self.probe}': {self.quantity} off by {self.error:.3g}, {self.tolerance:g} allowed"


def refutation(verdicts: Iterable[Judged], tolerances: Mapping[str, float]) -> Refutation | None:
    """Of the first verdict that is not explained, or none; only quantities that have a tolerance are judged.

    Errors are compared as multiples of their tolerances: 2 degrees and 0.1 m say nothing to each other.
    """
    for verdict in verdicts:
        if not verdict.explained:
            worst = max(tolerances, key=lambda name: _excess(verdict.errors.get(name), tolerances[name]))
            error = verdict.errors.get(worst)
            return Refutation(verdict.probe, worst, math.nan if error is None else error, tolerances[worst])
    return None


def _excess(error: float | None, tolerance: float) -> float:
    """How many times the tolerance an error is; what is missing or not a number is furthest off."""
    return math.inf if error is None or math.isnan(error) else error / tolerance
