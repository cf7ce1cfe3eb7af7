"""Where laws hold: thresholds beyond which every step that was seen went otherwise than the laws say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.induction.ends import Threshold, tests
from visualpatchworld.induction.motion import Number
from visualpatchworld.induction.reading import Reading
from visualpatchworld.induction.transitions import Transitions

LEAST_STEPS = 3  # unforeseen, beyond a threshold
MOST_RULES = 6
EXCEPTION = 4.0  # unforeseen steps for every one that goes as foreseen, beyond a threshold


@dataclass(frozen=True)
class Inside:
    """The laws hold inside these thresholds, as far as was seen; beyond any of them they do not."""

    thresholds: tuple[Threshold, ...] = ()

    def numbers(self) -> tuple[Number, ...]:
        """The thresholds as constants of a program."""
        return tuple(
            Number(f"INSIDE_{i + 1}", _inner(rule), doc="beyond it, steps were seen that these laws do not give", free=False)
            for i, rule in enumerate(self.thresholds)
        )

    def function(self) -> str:
        """The text of `valid(state)`."""
        names = iter(number.name for number in self.numbers())
        outside = tests(self.thresholds, lambda _: next(names))
        doc = '    """Whether these laws were seen to hold in this state."""'
        return "\n".join(["def valid(state):", doc, f"    return ~({outside})"])


def find_inside(reading: Reading, steps: Transitions, unforeseen: Bool[np.ndarray, " N"]) -> Inside:
    """The fewest thresholds on single fields beyond which nearly all steps, by where they begin or end, are unforeseen.

    A few steps beyond may go as foreseen: whatever comes back from there fast enough is not held up.
    """
    unforeseen, foreseen = unforeseen & ~steps.ended, ~unforeseen & ~steps.ended
    angles = {c.name for c in reading.coordinates if c.angle}
    fields = [f"state.{c}" for k in reading.coordinates for c in (k.name, k.velocity) if c is not None and c not in angles]
    options = [(f"np.abs({field})", True) for field in fields] + [(field, above) for field in fields for above in (True, False)]
    outer = [_outer(steps, expression, above) for expression, above in options]
    rules: list[Threshold] = []
    left = unforeseen.copy()
    while left.any() and len(rules) < MOST_RULES:
        edges = [_edge(value, left, foreseen) for value in outer]
        best = max(range(len(options)), key=lambda i: edges[i][0])
        gain, low, high = edges[best]
        if gain < LEAST_STEPS:
            break
        expression, above = options[best]
        rules.append(Threshold(expression, above, (low, high) if above else (-high, -low), int((left & (outer[best] > low)).sum())))
        left &= outer[best] <= low
    return Inside(tuple(rules))


def _inner(rule: Threshold) -> float:
    """The side of the bracket on which the laws were seen to hold."""
    return rule.bracket[0] if rule.above else rule.bracket[1]


def _outer(steps: Transitions, expression: str, above: bool) -> Float[np.ndarray, " N"]:
    """How far out a step begins or ends, whichever is further."""
    sides = [steps.value(text) * (1.0 if above else -1.0) for text in (expression, expression.replace("state.", "next_state."))]
    return np.maximum(*sides)


def _edge(outer: Float[np.ndarray, " N"], wanted: Bool[np.ndarray, " N"], other: Bool[np.ndarray, " N"]) -> tuple[float, float, float]:
    """Where most of the wanted and few of the others lie beyond: how many more, and the values on either side of it."""
    order = np.argsort(-outer[wanted | other], kind="stable")
    value = outer[wanted | other][order]
    count = np.cumsum(np.where(wanted[wanted | other][order], 1.0, -EXCEPTION))
    count[:-1] = np.where(value[1:] < value[:-1], count[:-1], -np.inf)  # no threshold lies between equals
    at = int(np.argmax(count))
    return float(count[at]), float(value[at + 1]) if at + 1 < len(value) else -np.inf, float(value[at])
