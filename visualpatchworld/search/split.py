"""Split by a guard: rows that follow one short law, found where it holds alone, on one side of a threshold.

Bodies that touch, or a mode that lasts, spoil so many rows that no fit to all of them shows the law of either side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from jaxtyping import Bool

from visualpatchworld.grammar.expr import Expr, columns, var
from visualpatchworld.search.fit import costs_of, floor_of
from visualpatchworld.search.library import groups_of
from visualpatchworld.search.regress import OUTLYING, best_sums
from visualpatchworld.search.rows import Rows

ENDS = (0.0, 0.5)  # where in a step terms are taken
CUTS = (0.3, 0.5, 0.7)  # quantiles of an expression at which rows are split
MOST_TERMS = 60  # the shortest ones, that a law of one side may use
MOST_SUM = 5  # terms of it
WIDTH = 8  # of its beam
ROWS = 160  # of one side that it is fitted to
FAR_BETTER = 0.02  # of the usual residual of a fit to all rows
LEAST_MET = 0.4  # of all rows that the law of one side is to meet


def one_side(
    rows: Rows, terms: Sequence[Expr], name: str, used: Bool[np.ndarray, " N"]
) -> Bool[np.ndarray, " N"] | None:
    """The rows that the best law of one side of a threshold meets, where it is far better than one law for all rows."""
    k = rows.at(name)
    y, floor = rows.change[:, k], floor_of(rows, k)
    terms = sorted((t for t in terms if t.op != "grip"), key=lambda term: term.bits)[:MOST_TERMS]
    groups, costs = groups_of(terms), costs_of(terms)
    best: tuple[int, np.ndarray] | None = None
    for end in ENDS:
        table = np.zeros((len(rows), len(terms)))
        for share, states in ((1 - end, rows.before), (end, rows.after)):
            table += share * columns(terms, rows.values(states), len(rows))
        usual: float | None = None
        for side in (used, *_sides(rows, used)):
            places = np.flatnonzero(side)
            places = places[np.unique(np.linspace(0, len(places) - 1, min(ROWS, len(places))).astype(int))]
            every = np.ones(len(places), bool)
            found = best_sums(
                table[places], y[places], costs, every, floor, groups, most=MOST_SUM, width=WIDTH, passes=1
            )[0]
            off = np.abs(y - table[:, list(found.support)] @ found.weights)
            here = float(np.median(off[side]))
            if usual is None:
                usual = here
                if usual <= floor:  # one law meets all rows
                    return None
            elif here <= max(FAR_BETTER * usual, floor):
                met = used & (off <= OUTLYING * max(here, floor))
                if best is None or met.sum() > best[0]:
                    best = int(met.sum()), met
    if best is None or best[0] < LEAST_MET * used.sum():
        return None
    return best[1]


def _sides(rows: Rows, used: Bool[np.ndarray, " N"]) -> Iterator[Bool[np.ndarray, " N"]]:
    """Both sides of thresholds on fields, on differences of two, and on the time since an episode began."""
    moving = [f.name for f in rows.fields if f.kind == "plain" and f.columns]
    exprs = [*map(var, moving), *(var(a) - var(b) for a, b in combinations(moving, 2))]
    values = [np.asarray(expr.evaluate(rows.values()), float) for expr in exprs]
    for value in (*values, rows.time.astype(float)):
        for cut in np.quantile(value[used], CUTS):
            yield used & (value < cut)
            yield used & (value >= cut)
