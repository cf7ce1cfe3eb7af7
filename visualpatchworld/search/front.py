"""The front of each field: the best sum of every size that the search looked at, with its held-out error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from visualpatchworld.grammar.expr import Expr
from visualpatchworld.search.find import Law
from visualpatchworld.search.fit import Support, costs_of, floor_of
from visualpatchworld.search.given import num_terms
from visualpatchworld.search.motion import Rate, averages
from visualpatchworld.search.regress import weights_of
from visualpatchworld.search.rows import Rows, free_rows
from visualpatchworld.search.rules import events_of

BETTER = 0.9  # of the error of a shorter sum: less gain is not worth another row
MOST_SUMS = 60  # of one field that are compared


@dataclass(frozen=True)
class Point:
    """A sum for the rate of one field."""

    field: str
    rate: Rate
    terms: int
    bits: float
    error: float  # of one step, root mean square over held-out rows, as a share of the spread of the field's change
    chosen: bool


def front_of(law: Law, aside: Rows) -> list[Point]:
    """For each field that the law moves, sums that are better than all shorter ones, and the one that was chosen."""
    assert law.rows is not None
    found = []
    for name, rate in law.motion.rates.items():
        k = law.rows.at(name)
        if law.rows.fields[k].columns and law.rows.fields[k].kind != "whole":
            found += _best(_points(law, name, rate, aside), floor_of(aside, k) / _spread(aside, k))
    return found


def _spread(rows: Rows, k: int) -> float:
    return max(float(np.std(rows.change[:, k])), 1e-12)


def _points(law: Law, name: str, rate: Rate, aside: Rows) -> list[Point]:
    """Every sum of another structure, its weights fitted to what was learned from under the law's integrator."""
    rows, motion = law.rows, law.motion
    assert rows is not None
    k, fast = rows.at(name), bool(motion.fast(rows.names)[rows.at(name)])
    stages, stages_aside = (motion.step(part, events_of(law.rules, part))[1] for part in (rows, aside))
    free = free_rows(rows, k, ~stages.ruled)
    sums: dict[Support, Rate] = {_structure(rate.terms): rate}
    for support in law.tried.get(name, ())[:MOST_SUMS]:
        if _structure(support) in sums:
            continue
        table = averages(support, rows, stages, fast)
        if np.isfinite(table).all() and free.sum() > len(support):
            weights = weights_of(table, rows.change[:, k], free)
            sums[_structure(support)] = Rate(support, tuple(float(w) for w in weights))
    found = []
    for one in sums.values():
        left = aside.change[:, k] - averages(one.terms, aside, stages_aside, fast) @ np.array(one.weights)
        left = left[~stages_aside.ruled] if not stages_aside.ruled.all() else left
        error = float(np.sqrt(np.mean(left**2))) / _spread(aside, k)
        error = error if np.isfinite(error) else np.inf
        bits = float(costs_of(one.terms).sum())
        found.append(Point(name, one, num_terms(one.terms), bits, error, one is rate))
    return found


def _structure(support: Support) -> tuple[Expr, ...]:
    """The terms without their inner numbers, in an order of their own."""
    return tuple(sorted((term.with_free([0.0] * len(term.free_values)) for term in support), key=str))


def _best(points: list[Point], floor: float) -> list[Point]:
    """Those that are better than every shorter one by more than rounding explains."""
    kept: list[Point] = []
    best = np.inf
    for size in sorted({point.terms for point in points}):
        same = [point for point in points if point.terms == size]
        first = min(same, key=lambda point: (max(point.error, floor), not point.chosen, point.bits))
        if max(first.error, floor) < BETTER * best:
            kept.append(first)
            best = max(first.error, floor)
        kept += [point for point in same if point.chosen and point not in kept]
    return kept
