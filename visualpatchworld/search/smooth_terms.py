"""Candidate terms for rates of smooth worlds: nested libraries, and shapes with inner numbers on grids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations_with_replacement

import numpy as np

from visualpatchworld.grammar.expr import Expr, call, number, product, var

AWAY = 0.02  # of a field's size that it stays away from zero to be divided by


def monomials(factors: Sequence[Expr], degree: int) -> list[Expr]:
    """All products of so many factors, powers written as such."""
    found = []
    for chosen in combinations_with_replacement(range(len(factors)), degree):
        parts = []
        for k in dict.fromkeys(chosen):
            power = chosen.count(k)
            parts.append(factors[k] if power == 1 else factors[k] ** power)
        found.append(product(*parts))
    return found


def libraries_of(names: Sequence[str], values: Mapping[str, np.ndarray]) -> list[list[Expr]]:
    """Candidate terms without inner numbers, from few and simple ones to many.

    Products of fields; those of their sines and cosines beside short ones; and all of these with quotients.
    """
    fields = [var(name) for name in names]
    few = len(fields) <= 3
    waves = [call(op, x) for x in fields for op in ("sin", "cos")]
    short = [number(1.0), *fields, *monomials(fields, 2)]
    cubic = [*short, *monomials(fields, 3)] if len(fields) <= 4 else short
    long = [*cubic]
    for degree in range(4, 6 if len(fields) == 1 else 5 if few else 4):
        long += monomials(fields, degree)
    long += [x * call("abs", x) for x in fields]
    waved = [*short, *waves, *monomials(waves, 2), *(x * w for x in fields for w in waves)]
    for i, a in enumerate(fields):
        waved += [call(op, a - b) for b in fields[i + 1 :] for op in ("sin", "cos")]
    found = [*long, *waved]
    found += monomials(waves, 3) if len(fields) <= 2 else []
    apart = [x for x in (*fields, *waves) if _keeps_away(x, values)]
    for below in apart:
        found += [above / below for above in (number(1.0), *fields, *waves) if above != below]
        found += [a * b / below for a in waves for b in waves if below in waves and _other(a, b, below)] if few else []
    positive = [x for x in fields if np.min(values[x.name]) > 0]
    for x in positive:
        found += [call("log", x), *(y * call("log", x) for y in fields), call("sqrt", x)]
    unique = [list(dict.fromkeys(library)) for library in (short, cubic, long, waved, found)]
    return [library for place, library in enumerate(unique) if library not in unique[:place]]


def _other(a: Expr, b: Expr, below: Expr) -> bool:
    return a.args[0] != below.args[0] and b.args[0] == below.args[0] and b != below


def _keeps_away(x: Expr, values: Mapping[str, np.ndarray]) -> bool:
    seen = x.evaluate(values)
    return bool(np.min(np.abs(seen)) > AWAY * np.max(np.abs(seen)) and (np.all(seen > 0) or np.all(seen < 0)))


def shapes_of(names: Sequence[str], values: Mapping[str, np.ndarray]) -> list[Expr]:
    """Terms with inner numbers on grids: saturation, exponentials, steps of sigmoid shape, and powers."""
    fields = [var(name) for name in names]
    found: list[Expr] = []
    for x in fields:
        seen = values[x.name]
        others = [number(1.0), *(y for y in fields if y != x)]
        size, spread = float(np.median(np.abs(seen))) + 1e-9, float(np.std(seen)) + 1e-9
        if np.min(seen) >= 0:
            for p in np.geomspace(0.03, 30.0, 13) * size:
                below = number(float(p), free=True) + x
                found += [product(other, x) / below for other in others]
                found += [other / below for other in others]
        for p in np.geomspace(0.03, 30.0, 11) * size**2:
            below = number(float(p), free=True) + x**2
            found += [product(other, above) / below for other in others for above in (number(1.0), x, x**2)]
        if np.min(seen) >= 0:
            for p in np.geomspace(0.1, 10.0, 7) * size**4:
                found.append(x**4 / (number(float(p), free=True) + x**4))
            found += [call("pow", x, number(float(p), free=True)) for p in (0.3, 0.7, 1.3, 1.7, 2.5)]
        for p in (*(-np.geomspace(0.2, 6.0, 10)), *np.geomspace(0.2, 6.0, 10)):
            grown = call("exp", number(float(p / spread), free=True) * x)
            found += [product(other, grown) for other in others]
        for p in np.geomspace(0.5, 8.0, 5) / spread:
            for level in np.quantile(seen, [0.1, 0.3, 0.5, 0.7, 0.9]):
                steep = number(float(p), free=True) * (x - number(float(level), free=True))
                found.append(call("tanh", steep))
    return found
