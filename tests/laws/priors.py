"""The guard that no prior gives a simulator's constant away: in
whatever unit it is written, none lies on a bound or in the middle.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

# What a symbol measures, and how many of the base unit it is. Shares, counts, ratios and gripper openings are plain
# numbers.
SYMBOLS: dict[str, tuple[dict[str, int], float]] = {
    "m": ({"length": 1}, 1.0),
    "mm": ({"length": 1}, 1e-3),
    "cm": ({"length": 1}, 1e-2),
    "px": ({"picture length": 1}, 1.0),
    "s": ({"time": 1}, 1.0),
    "ms": ({"time": 1}, 1e-3),
    "step": ({"step": 1}, 1.0),  # a time where the world says how long a step lasts
    "rad": ({"angle": 1}, 1.0),
    "deg": ({"angle": 1}, math.pi / 180),
    "kg": ({"mass": 1}, 1.0),
    "N": ({"mass": 1, "length": 1, "time": -2}, 1.0),
    "opening": ({}, 1.0),
    "x nominal": ({}, 1.0),
    "x first": ({}, 1.0),
    "1": ({}, 1.0),
    "": ({}, 1.0),
}
NATURAL = (-1.0, 0.0, 1.0)  # bounds that plain numbers have by their meaning: a share is never more than all
NEAR = 0.05


class Prior(NamedTuple):
    """What a learner is given of a constant: a logarithmic prior has
    its middle at the geometric mean, a choice among a few has none.
    """

    name: str
    unit: str
    low: float
    high: float
    kind: Literal["linear", "threshold", "log", "choice"] = "linear"

    @property
    def middle(self) -> float:
        if self.kind == "choice":
            return math.nan
        return math.sqrt(self.low * self.high) if self.kind == "log" else (self.low + self.high) / 2


class Truth(NamedTuple):
    """A constant of a simulator."""

    name: str
    unit: str
    value: float


Dimension = tuple[tuple[str, int], ...]


def in_base_units(unit: str, step_s: float | None) -> tuple[Dimension, float]:
    """The dimension of a unit such as `N m s/rad` or `1/s^2`,
    and how many base units it is; an unknown symbol fails.
    """
    dimension: dict[str, int] = {}
    factor = 1.0
    above, *below = unit.split("/")
    for sign, part in ((1, above), *((-1, part) for part in below)):
        for word in [part] if part in SYMBOLS else part.split():
            symbol, _, exponent = word.partition("^")
            assert symbol in SYMBOLS, f"the unit '{unit}' is not understood: give '{symbol}' a line among SYMBOLS"
            power = sign * int(exponent or 1)
            parts, size = SYMBOLS[symbol]
            if symbol == "step" and step_s is not None:
                parts, size = {"time": 1}, step_s
            factor *= size**power
            for name, one in parts.items():
                dimension[name] = dimension.get(name, 0) + power * one
    return tuple(sorted((name, power) for name, power in dimension.items() if power)), factor


def given_away(priors: Iterable[Prior], truths: Iterable[Truth], step_s: float | None) -> Iterator[str]:
    """A sentence for each prior that has a simulator's constant of the same dimension on a bound or near its middle.

    `step_s` is how long a step of the world lasts, where it says so; that duration is a constant as well.
    """
    known = [*truths] if step_s is None else [*truths, Truth("duration of a step", "s", step_s)]
    for prior in priors:
        dimension, size = in_base_units(prior.unit, step_s)
        for truth in known:
            other, other_size = in_base_units(truth.unit, step_s)
            if dimension != other or truth.value == 0:
                continue
            value = truth.value * other_size / size  # in the prior's own unit
            if math.isclose(prior.middle, value, rel_tol=NEAR):
                yield f"the prior of {prior.name} is centred on the simulator's {truth.name}"
            for bound in (prior.low, prior.high):
                natural = not dimension and bound in NATURAL
                if not natural and math.isclose(bound, value, rel_tol=1e-6):
                    yield f"a bound of {prior.name} is the simulator's {truth.name}"
