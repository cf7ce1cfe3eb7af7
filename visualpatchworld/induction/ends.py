"""Ends: thresholds that tell the steps with which a world came to an end, or with which something happened, from all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.induction.atoms import chain_heights, goal_differences, lengths, state_atoms
from visualpatchworld.induction.motion import Number
from visualpatchworld.induction.reading import Reading
from visualpatchworld.induction.transitions import Transitions

FEW = 5  # events: a rule that rests on fewer is told as unsure
MOST_RULES = 4


@dataclass(frozen=True)
class Threshold:
    """`expression` above (or below) a number that lies somewhere in a bracket; it was crossed in so many of the events."""

    expression: str  # over `state`, the state after the step
    above: bool
    bracket: tuple[float, float]  # the nearest values seen on either side, the lower one first
    events: int

    @property
    def value(self) -> float:
        """The shortest number inside the bracket."""
        return shortest_between(*self.bracket)


@dataclass(frozen=True)
class Ends:
    """When a world comes to an end: as soon as one of the thresholds is crossed."""

    thresholds: tuple[Threshold, ...]
    events: int  # that were seen
    unexplained: int  # events that no threshold tells from the rest

    @property
    def why(self) -> str:
        if not self.events:
            return "no end was ever seen"
        if self.unexplained:
            return f"{self.unexplained} of {self.events} ends are not told from other steps by any threshold"
        few = f"; only {self.events} ends were seen" if self.events < FEW else ""
        return f"all {self.events} ends are told from all other steps{few}"

    def numbers(self) -> tuple[Number, ...]:
        """The thresholds as constants of a program, each with its bracket."""
        return tuple(
            Number(f"END_{i + 1}", rule.value, doc=f"between {rule.bracket[0]:.7g} and {rule.bracket[1]:.7g}", free=False)
            for i, rule in enumerate(self.thresholds)
        )

    def function(self) -> str:
        """The text of `terminated(state)`."""
        tests = [f"({rule.expression} {'>' if rule.above else '<'} END_{i + 1})" for i, rule in enumerate(self.thresholds)]
        doc = '    """Whether the world comes to an end in this state."""'
        return "\n".join(["def terminated(state):", doc, f"    return {' | '.join(tests) or 'False'}"])


def find_ends(reading: Reading, steps: Transitions, happened: Bool[np.ndarray, " N"] | None = None) -> Ends:
    """The fewest thresholds on the state after a step that tell the ends (or what else `happened`) from everything else."""
    happened = steps.ended if happened is None else happened
    events = int(happened.sum())
    if not events:
        return Ends((), 0, 0)
    atoms = [*state_atoms(reading), *chain_heights(reading), *goal_differences(reading)]
    plain = [f"state.{coordinate.name}" for coordinate in reading.coordinates if not coordinate.angle]
    places = [*goal_differences(reading), *(f"({d.expression})" for d in reading.derived), *plain]
    candidates = list(dict.fromkeys([*atoms, *(f"np.abs({atom})" for atom in atoms), *lengths(places)]))
    values = [steps.value(_after(candidate)) for candidate in candidates]
    rules: list[Threshold] = []
    left = happened.copy()
    while left.any() and len(rules) < MOST_RULES:
        best = _best_rule(candidates, values, left, ~happened)
        if best is None:
            break
        rules.append(best)
        left &= ~_beyond(best, values[candidates.index(best.expression)])
    return Ends(tuple(_owned(rules, [values[candidates.index(rule.expression)] for rule in rules], happened)), events, int(left.sum()))


def _beyond(rule: Threshold, value: Float[np.ndarray, " N"]) -> Bool[np.ndarray, " N"]:
    """The steps that lie beyond all that no event went with."""
    return value > rule.bracket[0] if rule.above else value < rule.bracket[1]


def _owned(rules: Sequence[Threshold], values: Sequence[Float[np.ndarray, " N"]], happened: Bool[np.ndarray, " N"]) -> list[Threshold]:
    """The rules with brackets that only events narrow which no other rule explains: such an event may lie short of the threshold."""
    beyond = [_beyond(rule, value) & happened for rule, value in zip(rules, values, strict=True)]
    narrowed = []
    for i, (rule, value) in enumerate(zip(rules, values, strict=True)):
        alone = beyond[i] & ~np.any([other for k, other in enumerate(beyond) if k != i], axis=0) if len(rules) > 1 else beyond[i]
        low, high = rule.bracket
        edges = (low, float(value[alone].min())) if rule.above else (float(value[alone].max()), high)
        narrowed.append(replace(rule, bracket=edges))
    return narrowed


def _after(expression: str) -> str:
    return expression.replace("state.", "next_state.")


def _best_rule(
    candidates: Sequence[str], values: Sequence[Float[np.ndarray, " N"]], wanted: Bool[np.ndarray, " N"], other: Bool[np.ndarray, " N"]
) -> Threshold | None:
    """The threshold beyond which most of the wanted steps and none of the others lie; the first candidate among equals.

    Steps come close to a threshold from both sides: of two that tell as much, one with a bracket a hundred times narrower is believed more.
    """
    best, best_merit = None, (0, 0)
    for expression, value in zip(candidates, values, strict=True):
        spread = float(np.std(value)) or 1.0
        for above in (True, False):
            signed = value if above else -value
            inner = float(signed[other].max()) if other.any() else -np.inf
            beyond = signed[wanted & (signed > inner)]
            if not len(beyond) or not np.isfinite(inner):
                continue
            gap = (float(beyond.min()) - inner) / spread
            merit = (len(beyond), -int(np.log10(np.clip(gap, 1e-9, 1.0)) / 2))
            if merit > best_merit:
                edges = (inner, float(beyond.min())) if above else (-float(beyond.min()), -inner)
                best, best_merit = Threshold(expression, above, edges, len(beyond)), merit
    return best


def shortest_between(low: float, high: float) -> float:
    """The number with the fewest digits strictly inside a bracket, the middle one where there are several."""
    middle = (low + high) / 2
    for digits in range(1, 17):
        scale = 10.0 ** (digits - 1 - int(np.floor(np.log10(max(abs(low), abs(high), 1e-300)))))
        steps = np.arange(np.ceil(low * scale - 1e-9), np.floor(high * scale + 1e-9) + 1) if (high - low) * scale < 1e4 else np.array([])
        inside = [step / scale for step in steps if low < step / scale < high]
        if inside:
            return float(min(inside, key=lambda value: abs(value - middle)))
        if (high - low) * scale >= 1e4:
            break
    return middle
