"""Guards: thresholds on short expressions that hold rows together which a law does not explain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.grammar.expr import Expr, call, number, var
from visualpatchworld.search.motion import States
from visualpatchworld.search.rows import Rows

FALSE_ALARM = 3.0  # rows that a guard takes in wrongly weigh so much against one that it explains
LEAST = 2  # rows that a guard must hold together
GUARDS = 6  # that are tried for each field
MOST_VALUES = 24  # of a whole number that guards compare it with


def before(name: str) -> Expr:
    """The value of a field before the step."""
    return var(f"{name}@0")


Pool = list[tuple[Expr, Float[np.ndarray, " N"]]]


def pool_of(rows: Rows, targets: Sequence[str], after: States) -> Pool:
    """Expressions that thresholds are looked for on: what motion gives, what was, what is done, and how things lie."""
    values = rows.values(after) | {f"{name}@0": rows.before[:, k] for k, name in enumerate(rows.names)}
    moving = [f.name for f in rows.fields if f.kind in ("plain", "whole")]
    exprs = [var(name) for name in moving]
    exprs += [before(name) for name in moving]
    exprs += [call("abs", var(name)) for name in moving]
    exprs += [var(name) for name in rows.inputs]
    for f in rows.fields:
        seen = np.unique(rows.before[:, rows.at(f.name)]) if f.kind == "whole" else ()
        exprs += [call("eq", var(f.name), float(value)) for value in seen[:MOST_VALUES]]
    for i, a in enumerate(moving):
        for b in moving[i + 1 :]:
            exprs += [var(a) - var(b), call("hypot", var(a), var(b))]
    with np.errstate(all="ignore"):
        return [
            (e, np.nan_to_num(np.asarray(e.evaluate(values), float), nan=0.0, posinf=1e30, neginf=-1e30)) for e in exprs
        ]


def guards_of(pool: Pool, bad: Bool[np.ndarray, " N"]) -> list[tuple[tuple[Expr, ...], Bool[np.ndarray, " N"]]]:
    """The best single thresholds, and pairs of them where one alone takes in too many other rows."""
    everything = np.ones(len(bad), bool)
    single = [stump for expr, value in pool for stump in stumps(expr, value, bad, everything, FALSE_ALARM)]
    single.sort(key=lambda item: -item[0])
    found = [((guard,), inside) for score, guard, inside in single[:GUARDS] if score > LEAST - 1]
    loose = [stump for expr, value in pool for stump in stumps(expr, value, bad, everything, 0.2)]
    loose.sort(key=lambda item: -item[0])
    for _, guard, inside in loose[: GUARDS // 2]:
        if bad[inside].all():
            continue
        seconds = [stump for expr, value in pool for stump in stumps(expr, value, bad, inside, FALSE_ALARM)]
        seconds.sort(key=lambda item: -item[0])
        found += [((guard, second), both) for score, second, both in seconds[:3] if score > LEAST - 1]
    return found


def stumps(
    expr: Expr,
    value: Float[np.ndarray, " N"],
    bad: Bool[np.ndarray, " N"],
    rows: Bool[np.ndarray, " N"],
    penalty: float,
) -> list[tuple[float, Expr, Bool[np.ndarray, " N"]]]:
    """The best cut on either side: explained rows less a penalty for the others, the guard, and the rows inside."""
    places = np.flatnonzero(rows)
    found = []
    for sign, op in ((-1.0, "gt"), (1.0, "lt")):
        order = places[np.argsort(sign * value[places], kind="stable")]
        sorted_values = value[order]
        gain = np.cumsum(np.where(bad[order], 1.0, -penalty))
        ends = np.append(sorted_values[1:] != sorted_values[:-1], False)  # a cut lies between different values
        gain = np.where(ends, gain, -np.inf)
        if not len(gain) or not np.isfinite(gain.max()):
            continue
        last = int(np.argmax(gain))
        cut = 0.5 * (sorted_values[last] + sorted_values[last + 1])
        inside = np.zeros(len(value), bool)
        inside[order[: last + 1]] = True
        guard = call(op, expr, number(float(cut), free=True))
        if expr.op == "eq":
            guard = expr if op == "gt" else replace(expr, op="ne")
        found.append((float(gain[last]) - 0.05 * expr.bits, guard, inside))
    return found
