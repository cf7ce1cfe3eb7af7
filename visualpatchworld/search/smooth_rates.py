"""Rates of smooth curves: sums of terms in the weak form, then those whose rollouts take the fewest bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.optimize import least_squares

from visualpatchworld.grammar.expr import Expr
from visualpatchworld.search.motion import Rate
from visualpatchworld.search.regress import beam, normalised, weights_of
from visualpatchworld.search.shoot import Shooting, Shot
from visualpatchworld.search.smooth_terms import libraries_of, shapes_of
from visualpatchworld.search.weak import Curve, averaged

WEIGHT_BITS = 10.0  # of a term's own weight: noise leaves about three digits of it
RARE_BITS = 6.0  # more for operations that few laws of smooth worlds have
COMMON = ("add", "sub", "mul", "pow", "neg", "var", "number")
MOST = 6  # terms of one sum
PAIRS = 60  # of all pairs of terms, that a beam begins with
WIDE = 40  # terms that are few enough to begin with all of them and to drop one after the other
WIDTH = 30  # supports that a beam keeps
PER_SIZE = 4  # supports of each size whose inner numbers are polished
KEPT = 30  # supports whose terms are candidates beside shapes with inner numbers
ENOUGH, FEW = 8.0, 3  # bits that are left, and terms: shapes with inner numbers are tried beyond
TRIED = 6  # supports of a field that rollouts compare
MARGIN = 60.0  # bits: rollouts do not compare supports that averages tell apart
CERTAIN = 8.0  # standard errors: terms beyond are needed
FLOOR = 3e-4  # of the spread of a field: residuals of rollouts below it are as good as none


@dataclass(frozen=True)
class Choice:
    """A support of one field with its weights, and the bits of what it leaves and of itself."""

    rate: Rate
    bits: float

    @property
    def left(self) -> float:
        """Bits of what it leaves."""
        return self.bits - float(costs_of(self.rate.terms).sum())


def costs_of(terms: Sequence[Expr]) -> Float[np.ndarray, " m"]:
    return np.array(
        [term.bits + WEIGHT_BITS + RARE_BITS * sum(node.op not in COMMON for node in term.nodes()) for term in terms]
    )


def left_bits(residual: Float[np.ndarray, " N"]) -> float:
    """Bits of residuals in units of their noise: none up to the noise, then as many as the digits beyond it."""
    return 0.5 * len(residual) * float(np.log2(max(float(np.mean(residual**2)), 1.0)))


class _Field:
    """The weak form of one field: candidate terms, averaged under bumps in units of noise, and the left side."""

    def __init__(self, curves: Sequence[Curve], names: Sequence[str], k: int):
        sides = [curve.sides(k) for curve in curves]
        self.parts = [(side[0], _values(curve, names)) for side, curve in zip(sides, curves, strict=True)]
        self.target = np.concatenate([side[1] for side in sides])

    def columns(self, terms: Sequence[Expr]) -> np.ndarray:
        return np.concatenate([averaged(whitened, terms, values) for whitened, values in self.parts])

    def choices(self, terms: Sequence[Expr], averages: np.ndarray) -> list[Choice]:
        """The best supports of each size, inner numbers polished."""
        fine = np.isfinite(averages).all(axis=0)
        places = np.flatnonzero(fine)
        unit, length = normalised(averages[:, places])
        places, unit = places[length > 0], unit[:, length > 0]
        gram, cross = unit.T @ unit, unit.T @ self.target
        sizes: dict[int, set[tuple[int, ...]]] = {}
        for supports in beam(gram, cross, most=MOST, width=WIDTH, begin=_pairs(gram, cross)):
            sizes.setdefault(len(supports[0]), set()).update(supports)
        if len(places) <= WIDE:
            for support in _shrunk(unit, self.target):
                sizes.setdefault(len(support), set()).add(support)
        found: dict[tuple[Expr, ...], Choice] = {}
        for supports in sizes.values():
            scored = {}
            for support in supports:
                chosen = places[list(support)]
                part = averages[:, chosen]
                weights = weights_of(part, self.target)
                own = tuple(terms[p] for p in chosen)
                bits = left_bits(self.target - part @ weights) + float(costs_of(own).sum())
                form = frozenset(form_of(own))
                if form not in scored or bits < scored[form].bits:
                    scored[form] = Choice(Rate(own, tuple(float(w) for w in weights)), bits)
            for choice in sorted(scored.values(), key=lambda c: c.bits)[:PER_SIZE]:
                own = choice.rate.terms
                found[own] = self.polished(choice) if any(term.free_values for term in own) else choice
        return sorted(found.values(), key=lambda c: c.bits)

    def polished(self, choice: Choice) -> Choice:
        """Inner numbers that fit best, the weights always being the best for them."""
        terms = choice.rate.terms
        first = np.array([v for term in terms for v in term.free_values])
        counts = [len(term.free_values) for term in terms]
        scale = np.maximum(np.abs(first), 1e-6)

        def moved(values: np.ndarray) -> tuple[Expr, ...]:
            parts = iter(np.split(values, np.cumsum(counts)[:-1]))
            return tuple(term.with_free(next(parts).tolist()) for term in terms)

        def residual(values: np.ndarray) -> np.ndarray:
            part = self.columns(moved(values * scale))
            if not np.isfinite(part).all():
                return np.full(len(self.target), 1e6)
            return self.target - part @ weights_of(part, self.target)

        start = first / scale
        done = least_squares(
            residual,
            start,
            max_nfev=12,
            bounds=(np.minimum(start * 0.1, start * 10), np.maximum(start * 0.1, start * 10)),
        )
        own = moved(done.x * scale)
        part = self.columns(own)
        if not np.isfinite(part).all():
            return choice
        weights = weights_of(part, self.target)
        bits = left_bits(self.target - part @ weights) + float(costs_of(own).sum())
        return Choice(Rate(own, tuple(float(w) for w in weights)), bits)


def form_of(terms: Sequence[Expr]) -> tuple[Expr, ...]:
    """Terms without the values of their inner numbers."""
    return tuple(term.with_free([0.0] * len(term.free_values)) for term in terms)


def _pairs(gram: Float[np.ndarray, "m m"], cross: Float[np.ndarray, " m"]) -> list[tuple[int, ...]]:
    """The pairs of columns that together take most: two that nearly cancel say little alone."""
    if len(cross) < 2:
        return []
    rest = 1.0 - gram**2
    gain = cross[:, None] ** 2 + cross**2 - 2 * gram * cross[:, None] * cross
    gain = np.where(np.triu(rest > 1e-8, 1), gain / np.maximum(rest, 1e-8), 0.0)
    best = np.argsort(-gain, axis=None)[:PAIRS]
    return [(int(a), int(b)) for a, b in zip(*np.unravel_index(best, gain.shape), strict=True) if gain[a, b] > 0]


def _shrunk(unit: Float[np.ndarray, "K m"], target: Float[np.ndarray, " K"]) -> list[tuple[int, ...]]:
    """From all columns to one, always without the one that is needed least."""
    kept, found = list(range(unit.shape[1])), []
    while len(kept) > 1:
        part = unit[:, kept]
        inverse = np.linalg.pinv(part.T @ part, rcond=1e-13, hermitian=True)
        weights = inverse @ (part.T @ target)
        kept.pop(int(np.argmin(weights**2 / np.maximum(np.diag(inverse), 1e-300))))
        if len(kept) <= MOST + 2:
            found.append(tuple(kept))
    return found


def _values(curve: Curve, names: Sequence[str]) -> dict[str, np.ndarray]:
    return {name: curve.smooth[:, k] for k, name in enumerate(names)}


def find_rates(
    curves: Sequence[Curve], names: Sequence[str], progress: Callable[[str], None] = lambda _: None
) -> Shot | None:
    """The rates of all fields, per unit of time."""
    seen = [_values(curve, names) for curve in curves]
    values = {name: np.concatenate([one[name] for one in seen]) for name in names}
    libraries = libraries_of(names, values)
    terms = list(dict.fromkeys(term for library in libraries for term in library))
    place = {term: p for p, term in enumerate(terms)}
    shapes: list[Expr] = []
    options: dict[str, list[Choice]] = {}
    for k, name in enumerate(names):
        field = _Field(curves, names, k)
        if not len(field.target):
            return None
        averages = field.columns(terms)
        found = [c for library in libraries for c in field.choices(library, averages[:, [place[t] for t in library]])]
        found.sort(key=lambda c: c.bits)
        if found[0].left > ENOUGH or len(found[0].rate.terms) > FEW:
            shapes = shapes or shapes_of(names, values)
            kept = list(dict.fromkeys([t for c in found[:KEPT] for t in c.rate.terms] + libraries[0]))
            both = np.column_stack([averages[:, [place[t] for t in kept]], field.columns(shapes)])
            found = sorted([*found, *field.choices([*kept, *shapes], both)], key=lambda c: c.bits)
        unique = {frozenset(form_of(c.rate.terms)): c for c in reversed(found)}
        options[name] = sorted(unique.values(), key=lambda c: c.bits)[:TRIED]
        progress(f"{name} changes by {shown(options[name][0].rate)}")
    return compared(curves, names, options, progress)


def shown(rate: Rate) -> str:
    return " + ".join(f"{w:.4g}*{t}" for t, w in zip(rate.terms, rate.weights, strict=True))


def compared(
    curves: Sequence[Curve],
    names: Sequence[str],
    options: Mapping[str, Sequence[Choice]],
    progress: Callable[[str], None],
) -> Shot | None:
    """The supports whose rollouts take the fewest bits, one field changed at a time."""
    shooting = Shooting(curves, names, FLOOR * np.std(np.concatenate([curve.rows for curve in curves]), axis=0))
    cache: dict[tuple, tuple[float, Shot | None]] = {}

    def tried(rates: Mapping[str, Rate]) -> tuple[float, Shot | None]:
        key = tuple((name, rate.terms) for name, rate in rates.items())
        if key not in cache:
            shot = shooting.fit(rates)
            bits = np.inf
            if shot is not None:
                bits = sum(left_bits(r) for r in shot.residual.T) + sum(
                    float(costs_of(rate.terms).sum()) for rate in rates.values()
                )
            cache[key] = bits, shot
        return cache[key]

    rates = {name: found[0].rate for name, found in options.items()}
    bits, best = tried(rates)
    for name in names:
        for choice in options[name][1:]:
            if choice.bits > options[name][0].bits + MARGIN:
                break
            now = best.rates if best is not None else rates
            other_bits, other = tried({**now, name: choice.rate})
            if other_bits < bits:
                bits, best = other_bits, other
                progress(f"{name} rather changes by {shown(choice.rate)}")
    shorter = best
    while shorter is not None:
        best, shorter = shorter, None
        for fewer in _without_one(best):
            other_bits, other = tried(fewer)
            if other is not None and other_bits < bits:
                bits, shorter = other_bits, other
                break
    return best


def _without_one(shot: Shot) -> Iterator[dict[str, Rate]]:
    """The rates without one of the terms that are not far from zero."""
    for name, rate in shot.rates.items():
        for drop, (weight, error) in enumerate(zip(rate.weights, shot.errors[name], strict=True)):
            if abs(weight) <= CERTAIN * error[0]:
                kept = [p for p in range(len(rate.terms)) if p != drop]
                fewer = Rate(tuple(rate.terms[p] for p in kept), tuple(rate.weights[p] for p in kept))
                yield {**shot.rates, name: fewer}
