"""Gates: terms of a rate that act on one side of a guard only, found from the rows that a law misses.

A tank that runs empty takes a drive away, a region adds a wind. Too few rows tell of it for a first look; but those rows
lie together, and there what a law leaves of a field is a short sum of its own terms, or of plain ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from jaxtyping import Bool

from visualpatchworld.grammar.expr import Expr, call, number
from visualpatchworld.search.fit import costs_of, floor_of
from visualpatchworld.search.guards import LEAST, guards_of, pool_of
from visualpatchworld.search.library import atoms_of
from visualpatchworld.search.motion import Motion, Rate, averages
from visualpatchworld.search.regress import best_sums, data_bits
from visualpatchworld.search.rows import ATOM, Rows
from visualpatchworld.search.rules import Rule, find_rules, predicted, residual_bits, unexplained

MOST_GATES = 3
MET = 0.9  # of the rows inside that a gate is to explain
SHARE = 0.25  # of the rows inside in which a field is off, for a gate to change its rate
LEAST_FOR_SUM = 8  # rows inside that a new sum is fitted to
MOST_SUM = 3  # terms that act inside alone


def find_events(
    rows: Rows, motion: Motion, targets: Sequence[str], used: Bool[np.ndarray, " N"], known: Sequence[Rule] = ()
) -> tuple[Motion, tuple[Rule, ...]]:
    """Rules for the rows that motion misses; and where rules alone do not do, terms that are switched as well.

    What is held at a value looks like a rate that is switched off, so that both ways are taken and compared in bits.
    """

    def bits(motion: Motion, rules: Sequence[Rule]) -> float:
        rates = sum(float(costs_of(rate.terms).sum()) for rate in motion.rates.values())
        left = residual_bits(rows, targets, predicted(rows, motion, rules)[0])
        return left + rates + sum(rule.bits for rule in rules)

    rules = find_rules(rows, motion, targets, used, known)
    off = unexplained(rows, targets, predicted(rows, motion, rules)[0], used).any(axis=1)
    if off.sum() >= LEAST:
        switched = gated(rows, motion, targets, used, known)
        if switched is not motion:
            other = find_rules(rows, switched, targets, used, known)
            if bits(switched, other) < bits(motion, rules):
                return switched, other
    return motion, rules


def gated(
    rows: Rows, motion: Motion, targets: Sequence[str], used: Bool[np.ndarray, " N"], rules: Sequence[Rule] = ()
) -> Motion:
    """The motion with terms switched by guards, as long as that explains rows and saves bits."""
    for _ in range(MOST_GATES):
        after, _ = predicted(rows, motion, rules)
        off = unexplained(rows, targets, after, used)
        bits = residual_bits(rows, targets, after)
        best: tuple[float, Motion] | None = None
        for version, inside, cost in _versions(rows, motion, targets, off, rows.after - after):
            outcome, _ = predicted(rows, version, rules)
            left = residual_bits(rows, targets, outcome) + cost
            changed = [rows.at(name) for name in targets if version.rates.get(name) != motion.rates.get(name)]
            wrong = np.asarray(unexplained(rows, targets, outcome, used)[:, changed].any(axis=1))
            if wrong[inside].mean() <= 1 - MET and left < (bits if best is None else best[0]):
                best = left, version
        if best is None:
            break
        motion = best[1]
    return motion


def _versions(
    rows: Rows, motion: Motion, targets: Sequence[str], off: Bool[np.ndarray, "N F"], residual: np.ndarray
) -> Iterator[tuple[Motion, Bool[np.ndarray, " N"], float]]:
    """Motions with the rates that explain what is left inside a guard, the rows inside, and the bits that they cost."""
    pool = [(e, value) for e, value in pool_of(rows, targets, rows.before) if not any("@" in n for n in e.variables)]
    _, stages = motion.step(rows)
    tried = set()
    targets = [name for name in targets if rows.fields[rows.at(name)].kind != "whole"]
    for name in targets:
        bad = off[:, rows.at(name)]
        if bad.sum() < LEAST:
            continue
        for guards, inside in guards_of(pool, bad):
            if len(guards) != 1 or guards in tried or bad[inside].mean() < 0.5:
                continue
            tried.add(guards)
            outside = _outside(guards[0], rows, inside)
            rates, cost = dict(motion.rates), outside.bits
            for other in targets:
                k = rows.at(other)
                if other not in rates or off[inside, k].mean() < SHARE:
                    continue
                fast = bool(motion.fast(rows.names)[k])
                left = residual[inside, k]
                found = _switched(rows, rates[other], stages, fast, left, inside, outside, floor_of(rows, k))
                if found is not None:
                    rates[other], more = found
                    cost += more
            if rates != motion.rates:
                yield replace(motion, rates=rates), inside, cost


def _outside(guard: Expr, rows: Rows, inside: Bool[np.ndarray, " N"]) -> Expr:
    """Where the guard does not hold; a field that something holds at a value is cut at that value."""
    if guard.op in ("eq", "ne"):
        return replace(guard, op="ne" if guard.op == "eq" else "eq")
    expr = guard.args[0]
    value = np.asarray(expr.evaluate(rows.values()), float)[inside]
    edge = float(value.max() if guard.op == "lt" else value.min())
    cut = number(edge, free=True) if (value == edge).sum() >= ATOM else guard.args[1]
    return call("gt" if guard.op == "lt" else "lt", expr, cut)


def _switched(
    rows: Rows, rate: Rate, stages, fast: bool, left: np.ndarray, inside: np.ndarray, outside: Expr, floor: float
) -> tuple[Rate, float] | None:
    """The rate without some terms inside, or with others there alone, whichever leaves fewer bits inside."""
    means = averages(rate.terms, rows, stages, fast)[inside]
    best: tuple[float, Rate, float] = data_bits(left, floor), rate, 0.0
    for count in (1, 2):
        for drop in combinations(range(len(rate.terms)), count):
            part = list(drop)
            bits = data_bits(left + means[:, part] @ np.array(rate.weights)[part], floor) + outside.bits * count
            if bits < best[0] and all(rate.terms[p].op != "grip" for p in part):
                terms = tuple(call("where", outside, t, 0.0) if p in part else t for p, t in enumerate(rate.terms))
                best = bits, Rate(terms, rate.weights), outside.bits * (count - 1)
    if inside.sum() >= LEAST_FOR_SUM:
        atoms = atoms_of(rows)
        plain = (number(1.0), *atoms.plain, *atoms.inputs, *atoms.trig)
        terms = [t for t in dict.fromkeys((*plain, *rate.terms)) if t.op not in ("grip", "where")]
        table = averages(terms, rows, stages, fast)[inside]
        costs = costs_of(terms) + outside.bits
        every = np.ones(int(inside.sum()), bool)
        most = min(MOST_SUM, int(inside.sum()) // 4)
        found = best_sums(table, left, costs, every, floor, most=most, width=8)[0]
        if found.bits < best[0] and found.support:
            new = tuple(call("where", outside, 0.0, terms[p]) for p in found.support)
            weights = (*rate.weights, *map(float, found.weights))
            best = found.bits, Rate((*rate.terms, *new), weights), float(costs[list(found.support)].sum())
    return None if best[1] is rate else (best[1], best[2])
