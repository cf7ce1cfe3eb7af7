"""The constants of a program as dials: each number with its bounds, and the unit, standard error and meaning beside it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from statistics import median

from visualpatchworld.program.program import Program

LINE = re.compile(r"^(?P<name>[^\W\d]\w*) = (?P<value>[^#\n]*?)\s*(?:#\s*(?P<said>.*))?$")
# Of what constants of the same unit usually are: such a value is zero to within rounding, and says nothing about
# bounds.
SMALL = 1e-6
STANDARD_ERRORS = 4.0  # that a dial reaches at least
MOST_WHOLE = 4  # times its value that a whole number may become


@dataclass(frozen=True)
class Dial:
    """One constant: its name, value and bounds, and the unit,
    standard error and meaning that stand beside it in the text.
    """

    name: str
    line: int  # of the text, from 1
    value: float
    stderr: float | None
    unit: str
    meaning: str
    low: float
    high: float
    whole: bool  # a whole number, such as a count of sub-steps

    def turned(self, value: float) -> float | None:
        """The value as this dial takes it: within its bounds, whole
        where it counts something; None for what is no number.
        """
        if not math.isfinite(value):
            return None
        within = min(max(float(value), self.low), self.high)
        return float(round(within)) if self.whole else within

    def written(self, value: float) -> float | int:
        """The value as it stands in a program's text."""
        return int(value) if self.whole else value


def dials_of(program: Program) -> tuple[Dial, ...]:
    """A dial for every constant that is a single number; tuples are shapes, which come from the scene."""
    numbers = {
        name: value
        for name, value in program.constants.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    }
    said: dict[str, tuple[int, str, float | None, str]] = {}
    for line, text in enumerate(program.text.splitlines(), start=1):
        found = LINE.match(text)
        if found and found["name"] in numbers:
            said[found["name"]] = (line, *_comment(found["said"] or ""))
    usual = {
        unit: [abs(numbers[name]) for name, row in said.items() if row[1] == unit]
        for unit in {row[1] for row in said.values()}
    }
    dials = []
    for name, (line, unit, stderr, meaning) in said.items():
        value = numbers[name]
        low, high = _bounds(value, stderr, median(usual[unit]))
        dials.append(Dial(name, line, float(value), stderr, unit, meaning, low, high, isinstance(value, int)))
    return tuple(dials)


def _comment(said: str) -> tuple[str, float | None, str]:
    """Unit, standard error and meaning in a comment, which stand two spaces apart: `px  +- 9e-08  how far`."""
    parts = [part for part in re.split(r"\s{2,}", said.strip()) if part]
    error = next((part for part in parts if part.startswith("+-")), None)
    parts = [part for part in parts if part is not error]
    unit = parts.pop(0) if len(parts) > 1 or (error is not None and parts and said.strip().startswith(parts[0])) else ""
    try:
        stderr = None if error is None else float(error[2:])
    except ValueError:
        stderr = None
    return unit, stderr, "  ".join(parts)


def _bounds(value: float, stderr: float | None, usual: float) -> tuple[float, float]:
    """From zero to twice the value, or as far as the data leave
    open; around zero as far as such constants usually are.
    """
    if isinstance(value, int):
        return (1.0, float(max(MOST_WHOLE * value, 2))) if value > 0 else (float(min(MOST_WHOLE * value, -1)), 1.0)
    open_by = STANDARD_ERRORS * (stderr if stderr is not None and math.isfinite(stderr) else 0.0)
    if abs(value) <= SMALL * usual or value == 0:
        span = max(usual, open_by, abs(value)) or 1.0
        return -span, span
    far = max(2 * abs(value), abs(value) + open_by)
    near = min(0.0, abs(value) - open_by)
    return (near, far) if value > 0 else (-far, 0.0 - near)
