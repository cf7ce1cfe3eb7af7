"""What a user gives to a search: terms of their own, and a cap on the terms of a rate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from jaxtyping import Bool

from visualpatchworld.grammar.expr import Expr, columns
from visualpatchworld.grammar.productions import Grammar
from visualpatchworld.search.fit import Support, costs_of, floor_of
from visualpatchworld.search.library import Atoms, groups_of
from visualpatchworld.search.look import Look
from visualpatchworld.search.regress import data_bits, steady_weights
from visualpatchworld.search.rows import Rows, free_rows


def given_terms(grammar: Grammar, atoms: Atoms, rows: Rows, progress: Callable[[str], None]) -> list[Expr]:
    """The terms of a grammar; those that give no number in some row cannot be tried, and are named."""
    terms = grammar.terms(atoms, (*rows.names, *rows.inputs))
    if not terms:
        return []
    both = [columns(terms, rows.values(states), len(rows)) for states in (rows.before, rows.after)]
    fine = {k for k in range(len(terms)) if all(np.isfinite(table[:, k]).all() for table in both)}
    for term in (term for k, term in enumerate(terms) if k not in fine):
        progress(f"the term '{term}' is not a number in some rows, so it is not tried")
    return [terms[k] for k in sorted(fine)]


def num_terms(support: Support) -> int:
    """How many terms a sum has; what the choices of one action do to the same factor is one table, and one term."""
    return len(groups_of(support))


def capped(look: Look, rows: Rows, name: str, used: Bool[np.ndarray, " N"], most: int | None) -> Look:
    """The look without supports of more than so many terms; the shortest one stays in any case."""
    supports = look.supports if most is None else tuple(s for s in look.supports if num_terms(s) <= most)
    supports = supports or (min(look.supports, key=num_terms),)
    if supports[0] == look.supports[0]:
        return replace(look, supports=supports)
    k, first = rows.at(name), list(supports[0])
    before, after = (columns(first, rows.values(states), len(rows)) for states in (rows.before, rows.after))
    table = (1 - look.end) * before + look.end * after
    free, floor = free_rows(rows, k, used), floor_of(rows, k)
    weights, _ = steady_weights(table, rows.change[:, k], free, floor)
    left = (rows.change[:, k] - table @ weights)[free]
    bits = data_bits(left, floor) + float(costs_of(first).sum())
    return Look(supports, tuple(float(w) for w in weights), look.end, bits)
