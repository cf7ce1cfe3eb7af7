"""Candidate terms of a rate: products of fields, inputs and their shapes; and families with one inner number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from itertools import product as iter_product

import numpy as np

from visualpatchworld.grammar.expr import Expr, call, number, product, var
from visualpatchworld.search.rows import Rows

WAVES = 90.0  # radians over the range of a field, up to which waves are looked for
ARC = 0.3  # radians
CENTRES = 7  # of a pull that are tried along each axis
FEW_FIELDS = 4  # more fields get fewer centres
MOST_PLACES = 8  # fields that may span a plane with a pull
SIMILAR = 0.1  # the two axes of a plane have spreads of a similar size
SOFT = (0.15, 0.5)  # of the spread: how soft a pull is near its centre
MOST_FACTORS = 4  # of a term that is tried without some of them
MOST_TERMS = 1400  # columns of one regression: more take longer than a second


@dataclass(frozen=True)
class Atoms:
    """What terms are made of: plain fields, sines and cosines, inputs, and values that do not change."""

    plain: tuple[Expr, ...]
    trig: tuple[Expr, ...]
    maybe_trig: tuple[Expr, ...]  # of fields that may or may not be angles
    inputs: tuple[Expr, ...]
    steady: tuple[Expr, ...]
    whole: tuple[Expr, ...] = ()


def atoms_of(rows: Rows, skip: Sequence[str] = ()) -> Atoms:
    plain, trig, maybe, steady, whole = [], [], [], [], []
    for f in rows.fields:
        x = var(f.name)
        if f.name in skip:
            continue
        if f.kind == "angle":
            trig += [call("sin", x), call("cos", x)]
        elif f.kind == "steady":
            steady += [x] if np.ptp(rows.before[:, rows.at(f.name)]) > 0 else []
        elif f.kind == "plain":
            plain.append(x)
            # Within a small arc a sine is the angle itself and a cosine one: neither would be told from them.
            turns = f.columns and np.abs(rows.before[:, rows.at(f.name)]).max() > ARC
            maybe += [call("sin", x), call("cos", x)] if turns else []
        elif f.columns:  # a count or a mode: it has no shape but its levels; a hidden one comes into terms by itself
            whole.append(x)
    inputs = tuple(var(name) for name in _inputs(rows))
    return Atoms(tuple(plain), tuple(trig), tuple(maybe), inputs, tuple(steady), tuple(whole))


def _inputs(rows: Rows) -> list[str]:
    """Inputs that are not determined by the others: of one indicator per choice, all but the first."""
    first = {f"{name}_is_0" for name in rows.choices}
    return [name for name in rows.inputs if name not in first and name not in rows.choices]


def terms_of(atoms: Atoms) -> list[Expr]:
    """The library of a first look, the simplest first and each once."""
    one = number(1.0)
    plain, inputs = list(atoms.plain), list(atoms.inputs)
    numeric = [u for u in inputs if "_is_" not in u.name]
    linear = [*plain, *inputs, *atoms.trig, *atoms.whole]
    found = [one, *linear, *atoms.maybe_trig, *atoms.steady]
    found += [x**2 for x in plain] + [x * call("abs", x) for x in (*plain, *numeric)] + [x**3 for x in plain]
    found += [call("abs", x) for x in (*plain, *numeric)]
    found += [call("grip", x) for x in plain]
    found += [call("sqrt", call("abs", x)) * call("sign", x) for x in plain]
    found += [a * b for i, a in enumerate(linear) for b in linear[i + 1 :] if not _exclusive(a, b)]
    found += [x * t for t in atoms.maybe_trig for x in (*plain, *inputs) if x not in t.args]
    found += [a * call("abs", u) for a in plain for u in numeric]
    for i, a in enumerate(plain):
        for b in plain[i + 1 :]:
            found.append(call("sign", a - b) * call("sqrt", call("abs", a - b)))
    found += [p * x for p in atoms.steady for x in linear]
    found += [a**2 * b for a in plain for b in plain if a != b]
    found += [x * a * b for i, a in enumerate(atoms.trig) for b in atoms.trig[i + 1 :] for x in (*plain, *inputs)]
    found += [u * x * t for u in inputs for x in plain for t in atoms.trig]
    found += [x**2 * t for x in plain for t in atoms.trig]
    return list(dict.fromkeys(found))[:MOST_TERMS]


def _exclusive(a: Expr, b: Expr) -> bool:
    """Whether both are indicators of the same action: their product is zero."""
    return "_is_" in a.name and "_is_" in b.name and a.name.partition("_is_")[0] == b.name.partition("_is_")[0]


def level_shapes(x: Expr, p: float) -> list[Expr]:
    """Shapes that turn at a level p of x."""
    level = number(p, free=True)
    return [call("where", call("gt", x, level), 1.0, 0.0), call("max", x - level, 0.0)]


def symmetric_shapes(u: Expr, p: float) -> list[Expr]:
    """Shapes that turn at both -p and p: saturation, and dead zones that shift what is beyond or do not."""
    level = number(p, free=True)
    small = call("lt", call("abs", u), level)
    return [
        call("max", call("min", u, level), -level),
        call("where", small, 0.0, u - level * call("sign", u)),
        call("where", small, 0.0, u),
    ]


def wave_shapes(x: Expr, p: float) -> list[Expr]:
    wave = number(p, free=True) * x
    return [call("sin", wave), call("cos", wave)]


def ratio_shapes(x: Expr, p: float) -> list[Expr]:
    """Saturating and exponential shapes with a scale p of x > 0."""
    scale = number(p, free=True)
    return [number(1.0) / (scale + x), x / (scale + x), call("exp", -(scale / x))]


def rate_shapes(x: Expr, p: float) -> list[Expr]:
    return [call("exp", -(number(p, free=True) * x))]


def shapes_of(rows: Rows, atoms: Atoms, levels: int = 24) -> list[Expr]:
    """One-number families on a grid of that number, for the fields and inputs as they were seen."""
    values = rows.values()
    found: list[Expr] = []
    continuous_inputs = [u for u in atoms.inputs if "_is_" not in u.name]
    for x in atoms.whole:
        found += [level_shapes(x, float(p) + 0.5)[0] for p in np.unique(values[x.name])[:-1][:levels]]
    for x in (*atoms.plain, *continuous_inputs):
        seen = values[x.name]
        for p in np.unique(np.quantile(seen, np.linspace(0.02, 0.98, levels))):
            found += level_shapes(x, float(p))
        size = np.abs(seen).max()
        for share in np.linspace(0.08, 0.92, levels):
            found += symmetric_shapes(x, float(share * size)) if x in continuous_inputs else []
        spread = max(float(np.std(seen)), 1e-9)
        if x in continuous_inputs:
            found += [call("tan", number(float(p), free=True) * x) for p in np.geomspace(0.15, 1.3, 12) / size]
            continue
        for p in np.arange(1.0, WAVES) / max(float(np.ptp(seen)), 1e-9):
            found += wave_shapes(x, float(p))
        if seen.min() >= 0:
            for p in np.geomspace(0.03, 30.0, levels) * max(float(np.median(seen)), 1e-9):
                found += ratio_shapes(x, float(p))
        if abs(seen.min()) > 1e-3 * spread:  # a column may be shown with an offset: poles lie below all that was seen
            for p in np.geomspace(0.03, 30.0, levels) * max(float(np.median(seen - seen.min())), 1e-9) - seen.min():
                found.append(number(1.0) / (number(float(p), free=True) + x))
        for p in np.geomspace(0.1, 5.0, 12) / spread:
            found += rate_shapes(x, float(p))
    plain = list(atoms.plain)
    for i, a in enumerate(plain):
        for b in plain[i + 1 :]:
            apart = call("hypot", a, b)
            seen = apart.evaluate(values)
            for p in np.quantile(seen, np.linspace(0.05, 0.95, levels // 2)):
                found.append(call("where", call("lt", apart, number(float(p), free=True)), 1.0, 0.0))
    return found


def pulls_of(rows: Rows, atoms: Atoms) -> list[Expr]:
    """Pulls towards points of the plane that two fields span, on a coarse grid of the point and of how soft they are."""
    found: list[Expr] = []
    values = rows.values()
    places = [x for x in atoms.plain if x.name in rows.names and rows.fields[rows.at(x.name)].shown]
    count = CENTRES if len(places) <= FEW_FIELDS else CENTRES - 2
    ranges = {x: np.linspace(values[x.name].min(), values[x.name].max(), count + 2)[1:-1] for x in places}
    for a, b in permutations(places[:MOST_PLACES], 2):
        size = float(np.std(values[a.name]))
        if not SIMILAR < size / max(float(np.std(values[b.name])), 1e-12) < 1 / SIMILAR:
            continue
        for p, q, soft in iter_product(ranges[a], ranges[b], SOFT):
            gaps = [x - number(float(c), free=True) for x, c in ((a, p), (b, q))]
            found.append(call("pull", *gaps, number(soft * size, free=True)))
    return found


def factors_of(atoms: Atoms) -> list[Expr]:
    """What a shape may be multiplied by."""
    return [number(1.0), *atoms.plain, *atoms.inputs, *atoms.trig, *atoms.whole]


def shaped(shapes: Sequence[Expr], factors: Sequence[Expr]) -> list[Expr]:
    return [product(factor, shape) for factor in factors for shape in shapes]


def parts_of(term: Expr) -> list[Expr]:
    """Products of some of the factors of a term, the longest first."""
    factors, queue = [], [term]
    while queue:
        node = queue.pop(0)
        queue = [*node.args, *queue] if node.op == "mul" else queue
        factors += [node] if node.op != "mul" else []
    sizes = range(len(factors) - 1, 0, -1) if len(factors) <= MOST_FACTORS else ()
    return list(dict.fromkeys(product(*part) for size in sizes for part in combinations(factors, size)))


def groups_of(terms: Sequence[Expr]) -> list[tuple[int, ...]]:
    """Places of terms that come together: what the choices of one action do to the same factor is one table."""
    tables: dict[tuple[str, Expr], list[int]] = {}
    for place, term in enumerate(terms):
        chosen = sorted({name for name in term.variables if "_is_" in name})
        key = "", term
        if len(chosen) == 1:
            key = chosen[0].partition("_is_")[0], term.substituted({var(chosen[0]): number(1.0)})
        tables.setdefault(key, []).append(place)
    return [tuple(places) for places in tables.values()]
