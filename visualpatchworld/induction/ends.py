"""Thresholds: where a world came to an end or something happened, and beyond which its laws do not hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.induction.motion import Number
from visualpatchworld.induction.reading import Reading
from visualpatchworld.induction.regress import shortest_between
from visualpatchworld.induction.transitions import (
    Transitions,
    chain_heights,
    gap_lengths,
    gaps,
    goal_differences,
    lengths,
    state_atoms,
)

FEW = 5  # events: a rule that rests on fewer is said to be unsure
MOST_RULES = 4  # of an end
BLUR = 0.01  # of the spread: how far short of a threshold a few events may lie
FEW_BLURRED = 0.05  # of a rule's events
PLAIN_RULES = 2  # where more are needed, or these do not do, two thresholds that must both be crossed are tried
LEAST_STEPS = 3  # mispredicted, beyond a threshold
MOST_INSIDE = 6  # thresholds within which laws hold
EXCEPTION = 4.0  # mispredicted steps for every one that goes as predicted, beyond a threshold


@dataclass(frozen=True)
class Threshold:
    """`expression` above (or below) a number that lies somewhere
    in a bracket; it was crossed in so many of the events.
    """

    expression: str  # over `state`, the state after the step
    above: bool
    bracket: tuple[float, float]  # the nearest values seen on either side, the lower one first
    events: int
    also: Threshold | None = None  # must be crossed, too

    @property
    def value(self) -> float:
        """The shortest number inside the bracket."""
        return shortest_between(*self.bracket)

    @property
    def all(self) -> tuple[Threshold, ...]:
        """This threshold and those that must be crossed with it."""
        return (self, *(self.also.all if self.also else ()))


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
            return f"{self.unexplained} of {self.events} ends are not separated from other steps by any threshold"
        few = f"; only {self.events} ends were seen" if self.events < FEW else ""
        return f"all {self.events} ends are separated from all other steps{few}"

    def numbers(self) -> tuple[Number, ...]:
        """The thresholds as constants of a program, each with its bracket."""
        return tuple(
            Number(
                f"END_{i + 1}", rule.value, doc=f"between {rule.bracket[0]:.7g} and {rule.bracket[1]:.7g}", free=False
            )
            for i, rule in enumerate(rule for first in self.thresholds for rule in first.all)
        )

    def test(self) -> str:
        """An expression over `state`, with the constants by their names."""
        names = iter(number.name for number in self.numbers())
        return tests(self.thresholds, lambda _: next(names))

    def function(self) -> str:
        """The text of `terminated(state)`."""
        doc = '    """Whether the world comes to an end in this state."""'
        return "\n".join(["def terminated(state):", doc, f"    return {self.test()}"])


def tests(thresholds: Sequence[Threshold], number: Callable[[Threshold], str]) -> str:
    """Whether any of the thresholds is crossed, as an expression; `number` says what stands for a threshold's value."""
    parts = []
    for first in thresholds:
        crossed = [f"({rule.expression} {'>' if rule.above else '<'} {number(rule)})" for rule in first.all]
        parts.append(crossed[0] if len(crossed) == 1 else f"({' & '.join(crossed)})")
    return " | ".join(parts) or "False"


def find_ends(
    reading: Reading, steps: Transitions, happened: Bool[np.ndarray, " N"] | None = None, distances: Sequence[str] = ()
) -> Ends:
    """The fewest thresholds on the state after a step that tell
    the ends (or what else `happened`) from everything else.

    `distances` are further expressions over the state that may be what a threshold is of, such as those that a reward
    names.
    """
    happened = steps.ended if happened is None else happened
    events = int(happened.sum())
    if not events:
        return Ends((), 0, 0)
    plainly = replace(reading, turning=())
    atoms = [*state_atoms(plainly), *chain_heights(reading), *goal_differences(reading)]
    plain = [f"state.{coordinate.name}" for coordinate in reading.coordinates if not coordinate.angle]
    places = [*goal_differences(reading), *(f"({d.expression})" for d in reading.derived), *plain]
    waves = [atom for atom in state_atoms(reading) if atom not in atoms]
    apart = gaps(reading)
    far = [*lengths(places), *apart, *(f"np.abs({gap})" for gap in apart), *gap_lengths(apart)]
    candidates = list(dict.fromkeys([*atoms, *(f"np.abs({atom})" for atom in atoms), *distances, *waves, *far]))
    values = [steps.value(_after(candidate)) for candidate in candidates]
    rules: list[Threshold] = []
    left = happened.copy()
    while left.any() and len(rules) < MOST_RULES:
        best = _best_rule(candidates, values, left, ~happened)
        if best is None:
            break
        value = values[candidates.index(best.expression)]
        left &= ~_beyond(best, value)
        best, near = _blurred(best, value, left)
        left &= ~near
        rules.append(best)
    rules = _plainer(rules, atoms, candidates, values, happened)
    if left.any() or len(rules) > PLAIN_RULES:
        both = _both(candidates, values, happened)
        if both is not None:
            return Ends((both,), events, 0)
    return Ends(
        tuple(_owned(rules, [values[candidates.index(rule.expression)] for rule in rules], happened)),
        events,
        int(left.sum()),
    )


def _plainer(
    rules: Sequence[Threshold],
    atoms: Sequence[str],
    candidates: Sequence[str],
    values: Sequence[Float[np.ndarray, " N"]],
    happened: Bool[np.ndarray, " N"],
) -> list[Threshold]:
    """The rules with a plain threshold in place of one on both sides, or of a distance, of which the other rules
    explain all events but those on one side.
    """
    plainer = list(rules)
    for i, rule in enumerate(rules if len(rules) > 1 else ()):
        others = [_beyond(r, values[candidates.index(r.expression)]) for k, r in enumerate(plainer) if k != i]
        own = happened & _beyond(rule, values[candidates.index(rule.expression)]) & ~np.any(others, axis=0)
        trial = _best_rule(atoms, values[: len(atoms)], own, ~happened)
        if rule.expression not in atoms and trial is not None and trial.events == own.sum():
            plainer[i] = trial
    return plainer


def _beyond(rule: Threshold, value: Float[np.ndarray, " N"]) -> Bool[np.ndarray, " N"]:
    """The steps that lie beyond all that no event went with."""
    return value > rule.bracket[0] if rule.above else value < rule.bracket[1]


def _blurred(
    rule: Threshold, value: Float[np.ndarray, " N"], left: Bool[np.ndarray, " N"]
) -> tuple[Threshold, Bool[np.ndarray, " N"]]:
    """The rule with a bracket that takes in the few events just short
    of it, and those: an end may look at what is not quite the state.
    """
    low, high = rule.bracket
    band = BLUR * (float(np.std(value)) or 1.0)
    near = left & ((value > low - band) & (value <= low) if rule.above else (value < high + band) & (value >= high))
    if not near.any() or near.sum() > FEW_BLURRED * rule.events:
        return rule, np.zeros_like(left)
    edges = (float(value[near].min()), low) if rule.above else (high, float(value[near].max()))
    return replace(rule, bracket=edges, events=rule.events + int(near.sum())), near


def _owned(
    rules: Sequence[Threshold], values: Sequence[Float[np.ndarray, " N"]], happened: Bool[np.ndarray, " N"]
) -> list[Threshold]:
    """The rules with brackets that only events narrow which no other
    rule explains: such an event may lie short of the threshold.
    """
    beyond = [_beyond(rule, value) & happened for rule, value in zip(rules, values, strict=True)]
    narrowed = []
    for i, (rule, value) in enumerate(zip(rules, values, strict=True)):
        alone = (
            beyond[i] & ~np.any([other for k, other in enumerate(beyond) if k != i], axis=0)
            if len(rules) > 1
            else beyond[i]
        )
        low, high = rule.bracket
        if not alone.any():
            narrowed.append(rule)
            continue
        edges = (
            (low, max(high, float(value[alone].min()))) if rule.above else (min(low, float(value[alone].max())), high)
        )
        narrowed.append(replace(rule, bracket=edges))
    return narrowed


def _after(expression: str) -> str:
    return expression.replace("state.", "next_state.")


def _best_rule(
    candidates: Sequence[str],
    values: Sequence[Float[np.ndarray, " N"]],
    wanted: Bool[np.ndarray, " N"],
    other: Bool[np.ndarray, " N"],
) -> Threshold | None:
    """The threshold beyond which most of the wanted steps and none of the others lie; the first candidate among equals.

    Steps come close to a threshold from both sides: of two that tell as much, one with a bracket a hundred times
    narrower is believed more.
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


def _both(
    candidates: Sequence[str], values: Sequence[Float[np.ndarray, " N"]], happened: Bool[np.ndarray, " N"]
) -> Threshold | None:
    """Two thresholds that are both crossed in all events and in no other
    step; of several such pairs the one of the first candidates.
    """
    if happened.sum() < FEW or happened.all():
        return None
    signed = np.array([side * value for value in values for side in (1, -1)])
    least = signed[:, happened].min(axis=1)
    crossed = signed[:, ~happened] >= least[:, None]
    pairs = np.argwhere((crossed.astype(np.float32) @ crossed.T.astype(np.float32)) < 0.5)
    pairs = [(int(i), int(j)) for i, j in pairs if i // 2 < j // 2 and crossed[i].any() and crossed[j].any()]
    if not pairs:
        return None
    one, other = min(pairs, key=lambda pair: pair[0] // 2 + pair[1] // 2)
    rules = []
    for this, that in ((one, other), (other, one)):
        inner = float(signed[this][~happened][crossed[that]].max())
        above = this % 2 == 0
        edges = (inner, float(least[this])) if above else (-float(least[this]), -inner)
        rules.append(Threshold(candidates[this // 2], above, edges, int(happened.sum())))
    return replace(rules[0], also=rules[1])


@dataclass(frozen=True)
class Inside:
    """The laws hold inside these thresholds, as far as was seen; beyond any of them they do not."""

    thresholds: tuple[Threshold, ...] = ()

    def numbers(self) -> tuple[Number, ...]:
        """The thresholds as constants of a program."""
        return tuple(
            Number(
                f"INSIDE_{i + 1}",
                _inner(rule),
                doc="beyond it, steps were seen that these laws do not give",
                free=False,
            )
            for i, rule in enumerate(self.thresholds)
        )

    def function(self) -> str:
        """The text of `valid(state)`."""
        names = iter(number.name for number in self.numbers())
        outside = tests(self.thresholds, lambda _: next(names))
        doc = '    """Whether these laws were seen to hold in this state."""'
        return "\n".join(["def valid(state):", doc, f"    return ~({outside})"])


def find_inside(reading: Reading, steps: Transitions, mispredicted: Bool[np.ndarray, " N"]) -> Inside:
    """The fewest thresholds on single fields beyond which nearly
    all steps, by where they begin or end, are mispredicted.

    A few steps beyond may go as predicted: whatever comes back from there fast enough is not held up.
    """
    mispredicted, predicted = mispredicted & ~steps.ended, ~mispredicted & ~steps.ended
    angles = {c.name for c in reading.coordinates if c.angle}
    fields = [
        f"state.{c}" for k in reading.coordinates for c in (k.name, k.velocity) if c is not None and c not in angles
    ]
    options = [(f"np.abs({field})", True) for field in fields] + [
        (field, above) for field in fields for above in (True, False)
    ]
    outer = [_outer(steps, expression, above) for expression, above in options]
    rules: list[Threshold] = []
    left = mispredicted.copy()
    while left.any() and len(rules) < MOST_INSIDE:
        edges = [_edge(value, left, predicted) for value in outer]
        best = max(range(len(options)), key=lambda i: edges[i][0])
        gain, low, high = edges[best]
        if gain < LEAST_STEPS:
            break
        expression, above = options[best]
        rules.append(
            Threshold(
                expression, above, (low, high) if above else (-high, -low), int((left & (outer[best] > low)).sum())
            )
        )
        left &= outer[best] <= low
    return Inside(tuple(rules))


def _inner(rule: Threshold) -> float:
    """The side of the bracket on which the laws were seen to hold."""
    return rule.bracket[0] if rule.above else rule.bracket[1]


def _outer(steps: Transitions, expression: str, above: bool) -> Float[np.ndarray, " N"]:
    """How far out a step begins or ends, whichever is further."""
    sides = [
        steps.value(text) * (1.0 if above else -1.0)
        for text in (expression, expression.replace("state.", "next_state."))
    ]
    return np.maximum(*sides)


def _edge(
    outer: Float[np.ndarray, " N"], wanted: Bool[np.ndarray, " N"], other: Bool[np.ndarray, " N"]
) -> tuple[float, float, float]:
    """Where most of the wanted and few of the others lie beyond: how many more, and the values on either side of it."""
    order = np.argsort(-outer[wanted | other], kind="stable")
    value = outer[wanted | other][order]
    count = np.cumsum(np.where(wanted[wanted | other][order], 1.0, -EXCEPTION))
    count[:-1] = np.where(value[1:] < value[:-1], count[:-1], -np.inf)  # no threshold lies between equals
    at = int(np.argmax(count))
    return float(count[at]), float(value[at + 1]) if at + 1 < len(value) else -np.inf, float(value[at])
