"""Motion: a sum of terms for the rate of each field, an integrator, and one step of both for many rows at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.grammar.expr import Expr
from visualpatchworld.search.rows import Rows


@dataclass(frozen=True)
class Scheme:
    """How rates become a step: explicit, semi-implicit (fast fields first), midpoint or rk4, in equal sub-steps."""

    kind: str
    substeps: int = 1
    fast: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.kind}, {self.substeps} sub-steps" if self.substeps > 1 else self.kind


@dataclass(frozen=True)
class Rate:
    """A weighted sum of terms: the change of a field in one step."""

    terms: tuple[Expr, ...]
    weights: tuple[float, ...]

    def evaluate(self, values: Mapping[str, Any], known: dict) -> Any:
        found: Any = 0.0
        for term, weight in zip(self.terms, self.weights, strict=True):
            if term.op != "grip":
                found = found + weight * term.evaluate(values, np, known)
        return found

    @property
    def grip(self) -> float:
        """How much dry friction takes off in one step."""
        return -sum(weight for term, weight in zip(self.terms, self.weights, strict=True) if term.op == "grip")

    @property
    def variables(self) -> frozenset[str]:
        return frozenset().union(*(term.variables for term in self.terms))


States = Float[np.ndarray, "N F"]
# The states after motion and those before the whole step -> corrected ones, and the rows that were changed.
Events = Callable[[States, States], tuple[States, Bool[np.ndarray, " N"]]]
Both = tuple[Events | None, Events | None]  # after each sub-step, and between fast and slow fields


@dataclass(frozen=True)
class Stages:
    """Where rates were taken in a step, with weights that add up to one; for fast and for slow fields."""

    fast: Sequence[tuple[float, States]]
    slow: Sequence[tuple[float, States]]
    signs: States  # of the fields where dry friction acts, averaged over the sub-steps
    ruled: Bool[np.ndarray, " N"]  # rows in which a rule or dry friction set a field

    def of(self, fast: bool) -> Sequence[tuple[float, States]]:
        return self.fast if fast else self.slow


def march(
    rate: Callable[[States], States],
    scheme: Scheme,
    fast: Bool[np.ndarray, " F"],
    start: States,
    events: Events | None = None,
    grips: Float[np.ndarray, " F"] | None = None,
    between: Events | None = None,
) -> tuple[States, Stages]:
    """The states one step later, and the stages in which rates were taken."""
    h, now = 1.0 / scheme.substeps, start
    signs, ruled = np.zeros_like(start), np.zeros(len(start), bool)
    quick: list[tuple[float, States]] = []
    slow: list[tuple[float, States]] = []
    for _ in range(scheme.substeps):
        if scheme.kind == "explicit":
            quick.append((h, now))
            now = now + h * rate(now)
        elif scheme.kind == "midpoint":
            middle = now + h / 2 * rate(now)
            quick.append((h, middle))
            now = now + h * rate(middle)
        elif scheme.kind == "rk4":
            k1 = rate(now)
            second = now + h / 2 * k1
            k2 = rate(second)
            third = now + h / 2 * k2
            k3 = rate(third)
            fourth = now + h * k3
            quick += [(h / 6, now), (h / 3, second), (h / 3, third), (h / 6, fourth)]
            now = now + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(fourth))
        else:
            first = now + h * np.where(fast, rate(now), 0.0)
            if between is not None:
                first, changed = between(first, start)
                ruled |= changed
            quick.append((h, now))
            slow.append((h, first))
            now = first + h * np.where(fast, 0.0, rate(first))
        if grips is not None:
            signs += h * np.sign(now)
            held = (np.abs(now) <= h * grips) & (grips > 0)
            ruled |= held.any(axis=1)
            now = np.where(held, 0.0, now - h * grips * np.sign(now))
        if events is not None:
            now, changed = events(now, start)
            ruled |= changed
    return now, Stages(quick, slow or quick, signs, ruled)


@dataclass(frozen=True)
class Motion:
    """The rates of all fields that evolve, and the scheme; fields without a rate stay as they are."""

    rates: Mapping[str, Rate]
    scheme: Scheme = field(default_factory=lambda: Scheme("explicit"))

    def fast(self, names: Sequence[str]) -> Bool[np.ndarray, " F"]:
        return np.array([name in self.scheme.fast for name in names])

    def step(self, rows: Rows, events: Both | None = None, start: States | None = None) -> tuple[States, Stages]:
        """The states after one step of every row, and the stages.

        Events come in two: those after each sub-step, and those between fast and slow fields.
        """
        names = rows.names

        def rate(states: States) -> States:
            values, known = rows.values(states), {}
            found = np.zeros_like(states)
            for k, name in enumerate(names):
                if name in self.rates:
                    found[:, k] = self.rates[name].evaluate(values, known)
            return found

        grips = np.array([self.rates[name].grip if name in self.rates else 0.0 for name in names])
        with np.errstate(all="ignore"):
            start = rows.before if start is None else start
            after, between = events or (None, None)
            held = grips if np.any(grips > 0) else None
            return march(rate, self.scheme, self.fast(names), start, after, held, between)


def averages(terms: Sequence[Expr], rows: Rows, stages: Stages, fast: bool) -> Float[np.ndarray, "N m"]:
    """Each term averaged over the stages of a step: the change of a field is its weights times these."""
    found = np.zeros((len(rows), len(terms)), order="F")
    friction = {place: rows.at(term.args[0].name) for place, term in enumerate(terms) if term.op == "grip"}
    with np.errstate(all="ignore"):
        for weight, states in stages.of(fast):
            values, known = rows.values(states), {}
            for place, term in enumerate(terms):
                if place not in friction:
                    found[:, place] += weight * term.evaluate(values, np, known)
        for place, k in friction.items():
            seen = stages.signs[:, k]
            found[:, place] = seen if seen.any() else np.sign(rows.after[:, k])
    return found
