"""Unknown constants of a law: named by the argument they are,
bounded, with a unit, and not a number until they are fitted.
"""

from __future__ import annotations

import re
from typing import Any, Literal

Kind = Literal["log", "linear", "threshold", "choice"]


class Constant(float):
    """A number nobody has measured yet: the default value of a law's
    argument. It is NaN, so that an unfitted law predicts nothing.

    In its unit the letter L stands for the length unit of a scene, and its bounds count in the scene's size
    (`measured`).
    """

    kind: Kind
    unit: str
    doc: str
    low: float
    high: float
    options: tuple[int, ...]

    def __new__(
        cls, kind: Kind, unit: str, doc: str, low: float, high: float, options: tuple[int, ...] = ()
    ) -> Constant:
        self = super().__new__(cls, "nan")
        self.kind, self.unit, self.doc, self.low, self.high, self.options = kind, unit, doc, low, high, options
        return self

    def measured(self, length_unit: str, size: float) -> Constant:
        """The constant in a scene of this size: with the scene's unit, and bounds that grow with it."""
        above, _, below = self.unit.partition("/")
        factor = size ** (_power_of_length(above) - _power_of_length(below))
        low, high = (float(f"{factor * bound:.6g}") for bound in (self.low, self.high))
        return Constant(self.kind, re.sub(r"\bL\b", length_unit, self.unit), self.doc, low, high, self.options)


def _power_of_length(unit: str) -> int:
    found = re.search(r"\bL\b(?:\^(\d+))?", unit)
    return int(found[1] or 1) if found else 0


def positive(unit: str, doc: str, low: float, high: float) -> Any:
    """A constant whose order of magnitude is unknown: its prior is flat in the logarithm."""
    return Constant("log", unit, doc, low, high)


def signed(unit: str, doc: str, low: float, high: float) -> Any:
    """A constant that may have either sign or be zero: its prior is flat."""
    return Constant("linear", unit, doc, low, high)


def threshold(unit: str, doc: str, low: float, high: float) -> Any:
    """A constant that only decides a comparison: the loss has no gradient in it, so it is found by a scan."""
    return Constant("threshold", unit, doc, low, high)


def choice(unit: str, doc: str, *options: int) -> Any:
    """A whole number from a small set; every option is tried and the data decide."""
    return Constant("choice", unit, doc, min(options), max(options), options)
