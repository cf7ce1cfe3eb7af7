"""Undriven smooth worlds: rates from the weak form, constants from rollouts, at any times and with noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from jaxtyping import Float
from scipy.optimize import least_squares

from visualpatchworld.grammar.expr import Expr, call, number, product, var
from visualpatchworld.search.find import Law
from visualpatchworld.search.motion import Motion, Rate, Scheme
from visualpatchworld.search.regress import beam, normalised, weights_of
from visualpatchworld.search.rows import Field, find_fields, read, rows_of
from visualpatchworld.search.shoot import Shooting, Shot, roll, slope_of
from visualpatchworld.search.weak import Curve, averaged, curves_of
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace

WEIGHT_BITS = 10.0
RARE_BITS = 6.0  # more for operations that few laws of smooth worlds have
COMMON = ("add", "sub", "mul", "pow", "neg", "var", "number")
MOST = 6  # terms of one sum
PAIRS = 60  # of all pairs of terms, that a beam begins with
WIDE = 40  # terms that are few enough to begin with all of them and to drop one after the other
WIDTH = 30  # supports that a beam keeps
PER_SIZE = 4
KEPT = 30  # supports whose terms are candidates beside shapes with inner numbers
ENOUGH, FEW = 8.0, 3  # bits that are left, and terms: shapes with inner numbers are tried beyond
TRIED = 6  # supports of a field that rollouts compare
MARGIN = 60.0  # bits
FLOOR = 3e-4  # of the spread of a field: residuals of rollouts below it are as good as none
MOST_FIELDS = 6  # that move: more make too many products
MOST_ROWS = 3000  # of all curves: more take minutes
LONGEST = 1500  # rows of one curve
LOUD = 0.5  # of the spread of a field: with more noise nothing is known of its motion
EVERY = 5  # one part of so many is held out
HORIZONS = (1, 5, 25)
SAME_STEP = 1e-6  # of a step: how far it may be from another one
SUBSTEPS = (1, 2, 4, 8, 16)
STEPPED = 1e-6  # of the spread: what a step may change with twice as many sub-steps
UNSEEN = 2  # times as many sub-steps: other states may move faster
FAR_OFF = 1e3  # of the spread of motion: the error of a rollout that runs away
AWAY = 0.02  # of a field's size that it stays away from zero to be divided by


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
            found += [x ** number(float(p), free=True) for p in (0.3, 0.7, 1.3, 1.7, 2.5)]
        for p in (*(-np.geomspace(0.2, 6.0, 10)), *np.geomspace(0.2, 6.0, 10)):
            grown = call("exp", number(float(p / spread), free=True) * x)
            found += [product(other, grown) for other in others]
        for p in np.geomspace(0.5, 8.0, 5) / spread:
            for level in np.quantile(seen, [0.1, 0.3, 0.5, 0.7, 0.9]):
                steep = number(float(p), free=True) * (x - number(float(level), free=True))
                found.append(call("tanh", steep))
    return found


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
            return tuple(term.with_free(next(parts)) for term in terms)

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


@dataclass(frozen=True)
class Smooth:
    """A law of curves, and how well it is known."""

    law: Law
    errors: Mapping[str, tuple[tuple[float, ...], ...]]  # standard errors of each rate's weights, per step, and numbers
    left: float  # root mean square of residuals of rollouts in units of noise, in the worst field
    held_out: Mapping[int, Mapping[str, float]]  # errors of the law that the rest gives, by rows ahead
    agreed: bool  # whether the rest gives the same terms
    noisy: bool
    even: bool  # whether all rows are a step apart


def find_smooth(
    pieces: Sequence[tuple[Float[np.ndarray, " T"], Float[np.ndarray, "T C"]]],
    names: Sequence[str],
    dt: float,
    progress: Callable[[str], None] = lambda _: None,
) -> Smooth | None:
    """The law of undriven trajectories, given as times and rows; None where they are not smooth, or too many."""
    if not pieces:
        return None
    trajectories = [Trajectory(rows, np.zeros((len(rows) - 1, 0))) for _, rows in pieces]
    every = np.concatenate([rows for _, rows in pieces])
    fields = find_fields(trajectories, names)
    moving = [f for f in fields if f.kind in ("plain", "angle")]
    still = {f.columns[0]: float(every[0, f.columns[0]]) for f in fields if _stands_still(f, every)}
    if len(moving) + len(still) < len(fields) or not 1 <= len(moving) <= MOST_FIELDS:
        return None
    curves = curves_of([(times, read(rows, moving)) for times, rows in pieces])
    counts = [len(curve.times) for curve in curves]
    spread = np.std(np.concatenate([curve.rows for curve in curves]), axis=0) if curves else np.ones(1)
    if not 0 < sum(counts) <= MOST_ROWS or max(counts) > LONGEST or any(_loud(curve, spread) for curve in curves):
        return None
    own = [f.name for f in moving]
    shot = find_rates(curves, own, progress)
    if shot is None:
        return None
    progress("holding rows out")
    part, rest = _split(curves)
    first = find_rates(part, own) if rest else shot
    held_out = rollout_errors(first, rest, own) if first is not None else {}
    agreed = first is not None and all(
        set(form_of(first.rates[name].terms)) == set(form_of(shot.rates[name].terms)) for name in own
    )
    rates = {name: Rate(r.terms, tuple(w * dt for w in r.weights)) for name, r in shot.rates.items()}
    motion = Motion(rates, Scheme("rk4", _substeps(shot, curves, own, dt)))
    law = Law(tuple(moving), motion, (), {}, still, rows=rows_of(trajectories, moving, ActionSpace("continuous")))
    errors = {name: tuple((e[0] * dt, *e[1:]) for e in one) for name, one in shot.errors.items()}
    left = float(np.sqrt(np.mean(shot.residual**2, axis=0)).max())
    noisy = any(curve.noisy.any() for curve in curves)
    even = all(np.allclose(np.diff(curve.times), dt, rtol=SAME_STEP) for curve in curves)
    return Smooth(law, errors, left, held_out, agreed, noisy, even)


def _stands_still(f: Field, rows: Float[np.ndarray, "T C"]) -> bool:
    seen = rows[:, f.columns[0]]
    return f.kind == "steady" and float(np.ptp(seen)) <= 1e-6 * max(float(np.abs(seen).max()), 1e-12)


def _loud(curve: Curve, spread: Float[np.ndarray, " F"]) -> bool:
    return bool(np.any(np.median(curve.noise, axis=0) > LOUD * spread))


def _split(curves: Sequence[Curve]) -> tuple[list[Curve], list[Curve]]:
    """Curves to learn from and curves that are held out: the end of the longest one where there are few."""
    if len(curves) >= EVERY:
        return (
            [curve for k, curve in enumerate(curves) if k % EVERY != EVERY - 1],
            [curve for k, curve in enumerate(curves) if k % EVERY == EVERY - 1],
        )
    longest = max(range(len(curves)), key=lambda k: len(curves[k].times))
    count = len(curves[longest].times)
    cut = count - count // EVERY
    if count - cut <= HORIZONS[-1]:
        return list(curves), []
    begun, ended = curves[longest].part(0, cut), curves[longest].part(cut - 1, count)
    return [begun if k == longest else curve for k, curve in enumerate(curves)], [ended]


def rollout_errors(shot: Shot, curves: Sequence[Curve], names: Sequence[str]) -> dict[int, dict[str, float]]:
    """By rows ahead, errors of free rollouts in units of the spread of each field's change over as many rows."""
    slope, found = slope_of(shot.rates, names), {}
    for horizon in HORIZONS:
        off = []
        for curve in curves:
            count = len(curve.times) - horizon
            if count < 1:
                continue
            places = np.arange(count) + np.arange(horizon + 1)[:, None]
            gaps = np.diff(curve.times[places], axis=0)
            usual = float(np.median(np.diff(curve.times)))
            last = roll(slope, curve.rows[:count].T, gaps, usual, np.inf)[-1].T
            truth = curve.rows[horizon:]
            change = np.maximum(np.std(truth - curve.rows[:count], axis=0), 1e-12)
            size = np.abs(last - truth) / change
            off.append(np.sqrt(np.mean(np.minimum(np.where(np.isfinite(size), size, FAR_OFF), FAR_OFF) ** 2, axis=1)))
        if off:
            sizes = np.concatenate(off)
            found[horizon] = {
                "mean": float(sizes.mean()),
                "median": float(np.median(sizes)),
                "p90": float(np.quantile(sizes, 0.9)),
            }
    return found


def _substeps(shot: Shot, curves: Sequence[Curve], names: Sequence[str], dt: float) -> int:
    """Sub-steps of rk4 that are enough among the states seen, and some more."""
    slope = slope_of(shot.rates, names)
    seen = np.concatenate([curve.at(curve.times) for curve in curves]).T
    spread = np.std(seen, axis=1)[:, None]
    for count in SUBSTEPS:
        once, twice = (roll(slope, seen, np.full((n, 1), dt / n), dt, np.inf)[-1] for n in (count, 2 * count))
        if np.nanmax(np.abs(once - twice) / spread) <= STEPPED:
            return UNSEEN * count
    return UNSEEN * SUBSTEPS[-1]


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
                progress(f"better {name}: {shown(choice.rate)}")
    if best is None:
        return None
    again = True
    while again:
        again = False
        for name in names:
            rate = best.rates[name]
            for drop in range(len(rate.terms)):
                fewer = Rate(rate.terms[:drop] + rate.terms[drop + 1 :], rate.weights[:drop] + rate.weights[drop + 1 :])
                if abs(rate.weights[drop]) > 8 * best.errors[name][drop][0]:
                    continue
                other_bits, other = tried({**best.rates, name: fewer})
                if other_bits < bits:
                    bits, best, again = other_bits, other, True
                    break
    return best
