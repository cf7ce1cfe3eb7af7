"""Columns that follow from the others at the same moment: a tip, a distance, an energy, a sum."""

from __future__ import annotations

import numpy as np

from visualpatchworld.grammar.expr import Expr, call, columns, number, total, var
from visualpatchworld.search.fit import costs_of
from visualpatchworld.search.library import atoms_of
from visualpatchworld.search.regress import best_sums
from visualpatchworld.search.rows import Rows, only

EXACT = 12.0  # floors that an identity may leave in any row
MOST_ROWS = 800


def find_derived(rows: Rows) -> tuple[dict[int, Expr], Rows]:
    """By column, the expression of columns that follow from the rest; and the rows without them.

    The last columns are asked first: what a world adds for convenience usually stands behind what it is made of.
    """
    found: dict[int, Expr] = {}
    for f in reversed(rows.fields):
        if f.kind in ("plain", "whole") and len(rows.fields) > 1:
            expr = identity(rows, f.name)
            if expr is not None:
                # What earlier identities have of this column, they have of the rest.
                found = {column: other.substituted({var(f.name): expr}) for column, other in found.items()}
                found[f.columns[0]] = expr
                rows = _without(rows, f.name)
    return found, rows


def _without(rows: Rows, name: str) -> Rows:
    return only(rows, [other for other in rows.names if other != name])


def identity(rows: Rows, name: str) -> Expr | None:
    """What a column is of the others, if one short expression gives it in every row."""
    k = rows.at(name)
    target = rows.after[:, k]
    if float(np.ptp(target)) <= 1e-6 * max(float(np.abs(target).max()), 1e-12):
        return None
    others = _without(rows, name)
    atoms = atoms_of(others)
    plain, trig = list(atoms.plain), list(atoms.trig)
    if len(plain) + len(trig) + len(atoms.steady) > 40:
        return None
    linear = [*plain, *trig, *atoms.steady]
    raw = list(atoms.maybe_trig)
    pairs = [a * b for i, a in enumerate(linear) for b in linear[i:]]
    terms = list(dict.fromkeys([number(1.0), *linear, *raw, *pairs]))
    found = _exact_sum(others, terms, target, 4.0 * float(rows.floors[k]))
    if found is not None:
        return found
    # A distance: its square is a sum of squares.
    size = max(float(np.abs(target).max()), 1e-12)
    squared = _exact_sum(others, [number(1.0), *linear, *pairs], target**2, 8.0 * size * float(rows.floors[k]))
    if squared is not None and float(target.min()) >= 0:
        return call("sqrt", squared)
    return None


def _exact_sum(rows: Rows, terms: list[Expr], target: np.ndarray, floor: float) -> Expr | None:
    values = rows.values(rows.after)
    step = max(1, len(target) // MOST_ROWS)
    table = columns(terms, values, len(target))
    every = np.ones(len(target[::step]), bool)
    sums = best_sums(
        table[::step], target[::step], costs_of(terms), every, floor, most=7, width=8, per_size=2, passes=1
    )
    best = sums[0]
    left = np.abs(target - table[:, list(best.support)] @ best.weights)
    # Products of rounded columns are less sure than a column itself.
    sure = max(float(np.abs(table[:, list(best.support)] * best.weights).max(initial=0.0)), 1e-12) * 1e-6
    if (
        not best.support
        or np.quantile(left, 0.99) > max(EXACT * floor, sure)
        or left.max() > 30 * max(EXACT * floor, sure)
    ):
        return None
    if np.std(target) < 1e3 * np.quantile(left, 0.9):
        return None
    return total([number(float(w)) * terms[p] for p, w in zip(best.support, best.weights, strict=True)])
