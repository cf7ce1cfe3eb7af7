"""From a first look at each field to rates, and to the integrator under which they are exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.grammar.expr import Expr, columns, var
from visualpatchworld.search.library import groups_of, parts_of
from visualpatchworld.search.motion import Both, Motion, Rate, Scheme, Stages, averages
from visualpatchworld.search.regress import (
    OUTLYING,
    Sum,
    beam,
    best_sums,
    data_bits,
    normalised,
    steady_weights,
    weights_of,
)
from visualpatchworld.search.rows import Rows, free_rows

ENDS = (0.0, 0.25, 0.5, 0.75, 1.0)  # how much the end of a step counts in a term: Euler, trapezoid, after the fact
SUBSTEPS = (1, 2, 4, 5, 3, 10)  # that are tried, the usual ones first
PER_BEAM = 6  # supports of each size whose terms go on to the next look
ROWS_TO_CHOOSE = 400  # that schemes are compared in
WEIGHT_BITS = 14.0  # of a term's own weight: the digits that data can tell
SCHEME_BITS = 1.0  # more for every scheme further down the list
BEST_SCHEMES = 5
ROUNDS = 12  # of rates from stages and stages from rates; a long step needs many, and then a wrong scheme would win
FIRST_ROUNDS = 4  # of every scheme; only the best go on
WORTH_MORE = 8  # schemes that get all rounds
WORTH_A_TURN = (8, 4)  # supports of a field that go on to the next turn under a scheme
STRAYED = 4.0  # times its first value: how far an inner number may go while it is polished
POLISH = 6  # Gauss-Newton steps of inner numbers in a first look
PER_SIZE = 5  # sums of each size whose inner numbers are polished, and one
SUPPORTS = 16  # that a first look hands on, beside the best of each size
SHORT = 6  # terms of a support whose inner numbers are polished before it is compared with others
CUTS = 12  # values on either side of a threshold that it is moved to
SURE = 3000.0  # standard errors: data without noise tell the weight of a true term to far more digits
EXACT = 2.0  # floors: a median residual below this is exact

Support = tuple[Expr, ...]


@dataclass(frozen=True)
class Look:
    """What a first look says of one field: supports worth a second look, the fewest bits first."""

    supports: tuple[Support, ...]
    weights: tuple[float, ...]  # of the first support
    end: float  # how much the end of a step counts
    bits: float

    @property
    def rate(self) -> Rate:
        return Rate(self.supports[0], self.weights)

    def terms(self) -> list[Expr]:
        return list(dict.fromkeys(term for support in self.supports for term in support))


def costs_of(terms: Sequence[Expr]) -> Float[np.ndarray, " m"]:
    return np.array([term.bits + WEIGHT_BITS for term in terms])


def floor_of(rows: Rows, k: int) -> float:
    """The residual of a change that rounding alone explains: both ends are rounded, and so is what rates are made of."""
    return 4.0 * float(rows.floors[k])


@dataclass(frozen=True)
class Library:
    """Terms with their columns at both ends of a step, scaled to unit length at the start, and their Gram matrices."""

    terms: tuple[Expr, ...]
    left: Float[np.ndarray, "N m"]
    right: Float[np.ndarray, "N m"]
    length: Float[np.ndarray, " m"]
    grams: tuple[np.ndarray, np.ndarray, np.ndarray]  # of the starts, of both ends mixed, of the ends
    used: Bool[np.ndarray, " N"]

    def at(self, end: float) -> Float[np.ndarray, "m m"]:
        starts, mixed, ends = self.grams
        return (1 - end) ** 2 * starts + end * (1 - end) * mixed + end**2 * ends

    def with_terms(self, rows: Rows, terms: Sequence[Expr]) -> Library:
        """The same with some terms more."""
        new = _scaled(rows, [term for term in dict.fromkeys(terms) if term not in set(self.terms)], self.used)
        old, more = (self.left[self.used], self.right[self.used]), (new[1][self.used], new[2][self.used])
        grams = []
        for own, across, other in (
            (self.grams[0], old[0].T @ more[0], more[0].T @ more[0]),
            (self.grams[1], old[0].T @ more[1] + old[1].T @ more[0], _mixed(*more)),
            (self.grams[2], old[1].T @ more[1], more[1].T @ more[1]),
        ):
            grams.append(np.block([[own, across], [across.T, other]]))
        return Library(
            (*self.terms, *new[0]),
            np.concatenate([self.left, new[1]], axis=1),
            np.concatenate([self.right, new[2]], axis=1),
            np.concatenate([self.length, new[3]]),
            (grams[0], grams[1], grams[2]),
            self.used,
        )


def library_of(rows: Rows, terms: Sequence[Expr], used: Bool[np.ndarray, " N"]) -> Library:
    """A library of the terms that are finite and not zero in these rows."""
    kept, left, right, length = _scaled(rows, terms, used)
    a, b = left[used], right[used]
    return Library(kept, left, right, length, (a.T @ a, _mixed(a, b), b.T @ b), used)


def _mixed(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    both = a.T @ b
    return both + both.T


def _scaled(
    rows: Rows, terms: Sequence[Expr], used: Bool[np.ndarray, " N"]
) -> tuple[tuple[Expr, ...], np.ndarray, np.ndarray, np.ndarray]:
    left = columns(terms, rows.values(), len(rows))
    right = columns(terms, rows.values(rows.after), len(rows))
    _, length = normalised(left[used])
    live = np.isfinite(left).all(axis=0) & np.isfinite(right).all(axis=0) & (length > 0)
    kept = tuple(term for term, fine in zip(terms, live, strict=True) if fine)
    return kept, left[:, live] / length[live], right[:, live] / length[live], length[live]


def first_looks(
    rows: Rows, library: Library, targets: Sequence[str], used: Bool[np.ndarray, " N"], ends: Sequence[float] = ENDS
) -> dict[str, Look]:
    """The best sums for the change of each field, terms taken between both ends of a step."""
    terms, length = library.terms, library.length
    a, b = library.left[used], library.right[used]
    groups = groups_of(terms)
    looks = {}
    for name in targets:
        k = rows.at(name)
        y = rows.change[:, k]
        ya, yb = a.T @ y[used], b.T @ y[used]
        kept: dict[int, None] = {}
        for end in ends[::2]:
            gram = library.at(end)
            size = np.sqrt(np.maximum(np.diag(gram), 1e-12))
            cross = ((1 - end) * ya + end * yb) / size
            for supports in beam(gram / np.outer(size, size), cross, groups):
                for support in supports[:PER_BEAM]:
                    kept.update(dict.fromkeys(support))
        places = sorted(kept)
        if rows.fields[k].kind == "whole":  # counters and cells move by whole numbers
            places = [p for p, term in enumerate(terms) if term.op in ("var", "number")]
        looks[name] = look_at(
            rows,
            [terms[p] for p in places],
            name,
            used,
            (library.left[:, places] * length[places], library.right[:, places] * length[places]),
            ends,
        )
    return looks


def look_at(
    rows: Rows,
    terms: Sequence[Expr],
    name: str,
    used: Bool[np.ndarray, " N"],
    both: tuple[np.ndarray, np.ndarray] | None = None,
    ends: Sequence[float] = ENDS,
    under: tuple[Stages, bool] | None = None,
    polish: bool = True,
) -> Look:
    """The best sums of these terms, inner numbers polished if wanted, at whichever point of a step suits best.

    With `under`, terms are taken where a scheme takes them: its stages, and whether the field is a fast one.
    """
    k = rows.at(name)
    y, floor, used = rows.change[:, k], floor_of(rows, k), free_rows(rows, k, used)
    if under is not None:
        means = averages(terms, rows, *under)
        both, ends = (means, means), (0.5,)
    if both is None:
        both = columns(terms, rows.values(), len(rows)), columns(terms, rows.values(rows.after), len(rows))
    groups, costs = groups_of(terms), costs_of(terms)
    polish &= any(term.free_values for term in terms)
    per_size = PER_SIZE if polish else 2
    best: tuple[float, list[Sum], float] | None = None
    for end in ends:
        mixed = (1 - end) * both[0] + end * both[1]
        sums = best_sums(mixed, y, costs, used, floor, groups, per_size=per_size)
        if best is None or sums[0].bits < best[0]:
            best = sums[0].bits, sums, end
    assert best is not None
    _, sums, end = best
    scored = []
    sizes: dict[int, list[Sum]] = {}
    for found in sums:
        sizes.setdefault(len(found.support), []).append(found)
    # Inner numbers are still rough: a short sum may be exact once they are polished.
    short = [found for group in sizes.values() for found in group[: per_size - 1]]
    chosen = {id(found): found for found in (*sums[:SUPPORTS], *short)}
    for found in chosen.values():
        rate = Rate(tuple(terms[p] for p in found.support), tuple(found.weights))
        bits = found.bits
        if polish and any(term.free_values for term in rate.terms):
            start = [v for term in rate.terms for v in term.free_values]
            rate, bits = _polished(rows, rate, name, used, under or (between_stages(rows, end), True))
            if _strayed(start, [v for term in rate.terms for v in term.free_values]):
                continue
        scored.append((bits, rate))
    scored.sort(key=lambda item: item[0])
    unique = {rate.terms: rate for _, rate in reversed(scored)}
    first = scored[0][1]
    supports = tuple(dict.fromkeys((first.terms, *(rate.terms for _, rate in scored if rate.terms in unique))))
    return Look(supports, first.weights, end, scored[0][0])


def _strayed(start: Sequence[float], end: Sequence[float]) -> bool:
    """Whether an inner number went so far that its shape turned into something else, such as a straight line."""
    return any(abs(b) > STRAYED * abs(a) + 1e-9 or a * b < 0 for a, b in zip(start, end, strict=True) if abs(a) > 1e-6)


def _polished(rows: Rows, rate: Rate, name: str, used: np.ndarray, under: tuple[Stages, bool]) -> tuple[Rate, float]:
    """The rate with inner numbers that fit best, and its bits."""
    k = rows.at(name)
    y, floor = rows.change[:, k], floor_of(rows, k)
    best: tuple[float, Rate] | None = None
    for _ in range(POLISH):
        rate = fitted(rows, rate, *under, y, used, floor)
        left = y - averages(rate.terms, rows, *under) @ np.array(rate.weights)
        bits = data_bits(left[used], floor) + float(costs_of(rate.terms).sum())
        if best is not None and bits > best[0] - 1.0:
            break
        best = bits, rate
    assert best is not None
    return best[1], best[0]


def between_stages(rows: Rows, end: float) -> Stages:
    """Both ends of a step as stages, as if a scheme had taken rates there."""
    both = [(share, states) for share, states in ((1 - end, rows.before), (end, rows.after)) if share]
    return Stages(both, both, np.sign(rows.after), np.zeros(len(rows), bool))


def schemes_for(rates: Mapping[str, Rate]) -> list[Scheme]:
    """Integrators to try; the fields that go first are those that move others."""
    speeds = frozenset(
        other
        for name, rate in rates.items()
        for other in rate.variables - {name}
        if other in rates and _is_speed(name, other, rates)
    )
    # A field that moves others but is itself moved by none of them in that way.
    second = frozenset(s for s in speeds if any(_only(name, s, rates) for name in rates if name != s))
    # With a linear spring each of both moves the other; a place moves by its speed and nothing else.
    alone = frozenset(s for s in second if any(rates[name].terms == (var(s),) for name in rates))
    found = []
    for n in SUBSTEPS:
        found.append(Scheme("explicit", n))
        found += [Scheme("semi-implicit", n, fast) for fast in dict.fromkeys((alone, second, speeds)) if fast]
        found += [Scheme("midpoint", n), Scheme("rk4", n)] if n <= 5 else []
    return found


def _is_speed(place: str, speed: str, rates: Mapping[str, Rate]) -> bool:
    """Whether a field moves by another one and nowhere by itself."""
    terms = [term for term in rates[place].terms if speed in term.variables]
    return bool(terms) and all(place not in term.variables for term in terms)


def _only(place: str, speed: str, rates: Mapping[str, Rate]) -> bool:
    """Whether a field moves by another one as it is."""
    return any(term.op == "var" and term.name == speed for term in rates[place].terms)


@dataclass(frozen=True)
class Settled:
    """Rates with their scheme, what they leave in each field, and the bits of all of it."""

    motion: Motion
    residual: Float[np.ndarray, "N F"]
    bits: float
    schemes: tuple[Scheme, ...] = ()  # the best ones, for fields that are looked at again

    def left(self, rows: Rows, name: str, used: np.ndarray | None = None) -> float:
        """The median residual of a field in units of its floor."""
        k = rows.at(name)
        off = np.abs(self.residual[:, k] if used is None else self.residual[used, k])
        return float(np.median(off) / floor_of(rows, k))


def settle(
    rows: Rows,
    looks: Mapping[str, Look],
    used: Bool[np.ndarray, " N"],
    schemes: Sequence[Scheme] | None = None,
    events: Both | None = None,
) -> Settled:
    """The scheme and the rates under it that leave the fewest bits; supports are chosen again under each scheme."""
    few = rows.taken(_thinned(used, ROWS_TO_CHOOSE))
    rates = {name: look.rate for name, look in looks.items()}
    supports = {name: look.supports for name, look in looks.items()}
    ranked = [(0.0, place, Motion(rates, scheme)) for place, scheme in enumerate(schemes or schemes_for(rates))]
    for count, rounds in ((len(ranked), FIRST_ROUNDS), (WORTH_MORE, ROUNDS)):
        tried = []
        for _, place, motion in ranked[:count]:
            motion, bits = _under(few, supports, motion, events, rounds)
            tried.append((bits + SCHEME_BITS * place, place, motion))
        ranked = sorted(tried, key=lambda item: item[:2])
    motions = [motion for _, _, motion in ranked]
    best = _polished_supports(few, supports, motions[0], events)
    return replace(refit(rows, best, used, events), schemes=tuple(m.scheme for m in motions[:BEST_SCHEMES]))


def _polished_supports(
    rows: Rows, supports: Mapping[str, Sequence[Support]], motion: Motion, events: Both | None
) -> Motion:
    """The motion with short supports in place of others where they save bits once their inner numbers are polished.

    Before that, an inner number that is slightly off looks worse than a long sum of other terms.
    """
    everything = np.ones(len(rows), bool)
    fast = motion.fast(rows.names)
    for name, options in supports.items():
        short = [s for s in options if len(s) <= SHORT and any(term.free_values for term in s)]
        if not short:
            continue
        k = rows.at(name)
        y, floor, free = rows.change[:, k], floor_of(rows, k), free_rows(rows, k, everything)
        _, stages = motion.step(rows, events)

        def bits_of(rate: Rate, stages=stages, k=k, y=y, floor=floor, free=free) -> float:
            left = y - averages(rate.terms, rows, stages, bool(fast[k])) @ np.array(rate.weights)
            return data_bits(np.nan_to_num(left[free], nan=1e30), floor) + float(costs_of(rate.terms).sum())

        best = bits_of(motion.rates[name]), motion.rates[name]
        for support in short:
            means = averages(support, rows, stages, bool(fast[k]))
            if not np.isfinite(means).all():
                continue
            rate = Rate(support, tuple(steady_weights(means, y, free, floor, 1)[0]))
            for _ in range(POLISH):
                rate = fitted(rows, rate, stages, bool(fast[k]), y, free, floor)
            best = min(best, (bits_of(rate), rate), key=lambda item: item[0])
        motion = replace(motion, rates={**motion.rates, name: best[1]})
    return motion


def _thinned(used: Bool[np.ndarray, " N"], most: int) -> np.ndarray:
    places = np.flatnonzero(used)
    return places[np.unique(np.linspace(0, len(places) - 1, min(most, len(places))).astype(int))]


def _under(
    rows: Rows, supports: Mapping[str, Sequence[Support]], motion: Motion, events: Both | None, rounds: int
) -> tuple[Motion, float]:
    """The best supports under one scheme, by turns of stages from rates and rates from stages."""
    fast = motion.fast(rows.names)
    everything = np.ones(len(rows), bool)
    bits = np.inf
    for turn in range(rounds):
        _, stages = motion.step(rows, events)
        chosen, kept, bits, last = {}, {}, 0.0, bits
        for name, options in supports.items():
            k = rows.at(name)
            terms = list(dict.fromkeys(term for support in options for term in support))
            means = averages(terms, rows, stages, bool(fast[k]))
            place = {term: p for p, term in enumerate(terms)}
            y, floor = rows.change[:, k], floor_of(rows, k)
            free = free_rows(rows, k, everything)
            scored: list[tuple[float, int, Rate]] = []
            for support in options:
                part = means[:, [place[term] for term in support]]
                if not np.isfinite(part).all():
                    continue
                weights, _ = steady_weights(part, y, free, floor, 1)
                left = data_bits((y - part @ weights)[free], floor) + float(costs_of(support).sum())
                scored.append((left, len(scored), Rate(support, tuple(weights))))
            if not scored:
                return motion, np.inf
            scored.sort(key=lambda item: item[:2])
            kept[name] = [rate.terms for _, _, rate in scored[: WORTH_A_TURN[min(turn, len(WORTH_A_TURN) - 1)]]]
            bits += scored[0][0]
            rate = scored[0][2]
            if turn < rounds - 1 and any(term.free_values for term in rate.terms):
                rate = fitted(rows, rate, stages, bool(fast[k]), y, everything, floor)
            chosen[name] = rate
        # Inner numbers that were moved go on in the supports that have them.
        supports = {name: tuple(dict.fromkeys((chosen[name].terms, *options))) for name, options in kept.items()}
        if chosen == motion.rates:
            break
        motion = replace(motion, rates=chosen)
        if abs(last - bits) < 1.0:
            break
    return motion, bits


def refit(
    rows: Rows, motion: Motion, used: Bool[np.ndarray, " N"], events: Both | None = None, rounds: int = 12
) -> Settled:
    """The same terms with weights and inner numbers that fit best, by turns with the stages."""
    fast = motion.fast(rows.names)
    best: tuple[float, Motion, np.ndarray] | None = None
    for _ in range(rounds):
        after, stages = motion.step(rows, events)
        residual = np.where(np.isfinite(after), rows.after - after, np.inf)
        bits = total_bits(rows, motion, residual, used)
        if best is None or bits < best[0]:
            gained = np.inf if best is None else best[0] - bits
            best = bits, motion, residual
            if gained < 1.0:
                break
        else:
            break
        rates = {}
        for name, rate in motion.rates.items():
            k = rows.at(name)
            free = free_rows(rows, k, used & ~stages.ruled)
            rates[name] = fitted(rows, rate, stages, bool(fast[k]), rows.change[:, k], free, floor_of(rows, k))
        motion = replace(motion, rates=rates)
    assert best is not None
    return Settled(best[1], best[2], best[0])


def pruned(rows: Rows, settled: Settled, used: Bool[np.ndarray, " N"], events: Both | None = None) -> Settled:
    """The same without the terms that are not worth their bits under the scheme that was found."""
    for name in settled.motion.rates:
        while rows.fields[rows.at(name)].kind != "whole":
            shorter = _without_one(rows, settled, name, used, events)
            if shorter is None:
                break
            settled = shorter
    return settled


def _without_one(
    rows: Rows, settled: Settled, name: str, used: Bool[np.ndarray, " N"], events: Both | None
) -> Settled | None:
    """The motion without the least needed term of a rate, or factor of a bent term, if that saves bits."""
    motion, rate = settled.motion, settled.motion.rates[name]
    fast = bool(motion.fast(rows.names)[rows.at(name)])
    _, stages = motion.step(rows, events)
    k = rows.at(name)
    y, floor, mask = rows.change[:, k], floor_of(rows, k), free_rows(rows, k, used & ~stages.ruled)
    options = []
    supports = [tuple(term for p, term in enumerate(rate.terms) if p != drop) for drop in range(len(rate.terms))]
    for place, term in enumerate(rate.terms):
        shorter = parts_of(term) if term.free_values else ()
        supports += [(*rate.terms[:place], part, *rate.terms[place + 1 :]) for part in shorter]
    weights = dict(zip(rate.terms, rate.weights, strict=True))
    for terms in supports:
        if len(set(terms)) < len(terms):
            continue
        fewer = Rate(terms, tuple(weights.get(term, 0.0) for term in terms))
        for _ in range(POLISH if any(term.free_values for term in terms) else 1):
            fewer = fitted(rows, fewer, stages, fast, y, mask, floor)
        left = y - averages(fewer.terms, rows, stages, fast) @ np.array(fewer.weights)
        options.append((data_bits(left[mask], floor) + float(costs_of(terms).sum()), len(options), fewer))
    if not options:
        return None
    _, _, fewer = min(options, key=lambda item: item[:2])
    found = refit(rows, replace(motion, rates={**motion.rates, name: fewer}), used, events)
    return replace(found, schemes=settled.schemes) if found.bits < settled.bits else None


def with_cuts(rows: Rows, settled: Settled, used: Bool[np.ndarray, " N"], events: Both | None = None) -> Settled:
    """The same with thresholds where they leave the fewest bits; those on one expression are tied if that costs nothing.

    A threshold has no derivative: between two values of its expression that were seen, nothing changes.
    """
    places: dict[Expr, list[tuple[str, int, Expr]]] = {}
    for name, rate in settled.motion.rates.items():
        for place, term in enumerate(rate.terms):
            for node in term.nodes():
                if node.op in ("lt", "gt") and node.args[1].free:
                    places.setdefault(node.args[0], []).append((name, place, node))
    for expr, found in places.items():
        seen = np.unique(np.asarray(expr.evaluate(rows.values()), float))
        cuts = sorted({node.args[1].value for _, _, node in found})
        options = list(cuts)
        if len(seen) > 1:
            at = np.searchsorted(seen, cuts)
            near = np.arange(max(at.min() - CUTS, 1), min(at.max() + CUTS, len(seen)))
            near = near[np.unique(np.linspace(0, len(near) - 1, 4 * CUTS).astype(int))] if len(near) else near
            options += [0.5 * (seen[p - 1] + seen[p]) for p in near.tolist()]
        best = settled
        for cut in options:
            rates = {name: list(rate.terms) for name, rate in settled.motion.rates.items()}
            for name, place, node in found:
                moved = replace(node, args=(expr, replace(node.args[1], value=float(cut))))
                rates[name][place] = _with_node(rates[name][place], node, moved)
            motion = replace(
                settled.motion,
                rates={n: replace(r, terms=tuple(rates[n])) for n, r in settled.motion.rates.items()},
            )
            after, _ = motion.step(rows, events)
            residual = np.where(np.isfinite(after), rows.after - after, np.inf)
            bits = total_bits(rows, motion, residual, used)
            if bits < best.bits:
                best = replace(settled, motion=motion, residual=residual, bits=bits)
        if best is not settled:
            again = refit(rows, best.motion, used, events)
            settled = replace(again, schemes=settled.schemes) if again.bits < best.bits else best
    return settled


def _with_node(term: Expr, node: Expr, other: Expr) -> Expr:
    """The term with a threshold moved, and with it the same number elsewhere in the term, such as that of a dead zone."""
    old, new = node.args[1], other.args[1]
    return term.substituted({node: other}).substituted({old: new})


def fitted(
    rows: Rows, rate: Rate, stages: Stages, fast: bool, target: np.ndarray, used: np.ndarray, floor: float
) -> Rate:
    """Weights and, by one Gauss-Newton step, inner numbers of one rate."""
    if not rate.terms or used.sum() < 2 * len(rate.terms):
        return rate
    terms, slots = list(rate.terms), []
    for place, (term, weight) in enumerate(zip(rate.terms, rate.weights, strict=True)):
        for slot, value in enumerate(term.free_values):
            step = 1e-6 * max(abs(value), 1e-3)
            moved = list(term.free_values)
            moved[slot] += step
            slots.append((place, slot, step, weight))
            terms.append(term.with_free(moved))
    means = averages(terms, rows, stages, fast)
    count = len(rate.terms)
    for j, (place, _, step, weight) in enumerate(slots):
        means[:, count + j] = weight * (means[:, count + j] - means[:, place]) / step
    moving = np.abs(means[used]).max(axis=0) > 0
    moving[:count] = True
    keep = np.flatnonzero(moving & np.isfinite(means[used]).all(axis=0))
    if not set(range(count)) <= set(keep.tolist()):
        return rate
    weights, inside = steady_weights(means[:, keep], target, used, floor)
    moves = {int(k): float(w) for k, w in zip(keep, weights, strict=True)}
    found, clipped = list(rate.terms), False
    for j, (place, slot, _, _) in enumerate(slots):
        if count + j in moves:
            values = list(found[place].free_values)
            limit = 0.3 * max(abs(values[slot]), 1e-6)  # a Gauss-Newton step is only trusted nearby
            clipped |= abs(moves[count + j]) > limit
            values[slot] += float(np.clip(moves[count + j], -limit, limit))
            found[place] = found[place].with_free(values)
    if slots:
        means = averages(found, rows, stages, fast)
        return (
            Rate(tuple(found), tuple(weights_of(means, target, inside))) if np.isfinite(means[inside]).all() else rate
        )
    return Rate(tuple(found), tuple(moves[k] for k in range(count)))


def standard_errors(
    rows: Rows, motion: Motion, used: Bool[np.ndarray, " N"], events: Both | None = None
) -> dict[str, tuple[tuple[float, ...], ...]]:
    """By field and term, the standard errors of the weight and of the numbers inside."""
    after, stages = motion.step(rows, events)
    found = {}
    for name, rate in motion.rates.items():
        k = rows.at(name)
        mask = free_rows(rows, k, used & ~stages.ruled)
        terms, slots = list(rate.terms), []
        for place, (term, weight) in enumerate(zip(rate.terms, rate.weights, strict=True)):
            for slot, value in enumerate(term.free_values):
                size = 1e-6 * max(abs(value), 1e-3)
                moved = list(term.free_values)
                moved[slot] += size
                slots.append((place, size, weight))
                terms.append(term.with_free(moved))
        means = averages(terms, rows, stages, bool(motion.fast(rows.names)[k]))
        for j, (place, size, weight) in enumerate(slots):
            column = len(rate.terms) + j
            means[:, column] = weight * (means[:, column] - means[:, place]) / size
        left = (rows.after[:, k] - after[:, k])[mask]
        near = (
            left[np.abs(left) <= OUTLYING * max(float(np.median(np.abs(left))), floor_of(rows, k))]
            if len(left)
            else left
        )
        noise = max(float(np.sqrt(np.mean(near**2))) if len(near) else 0.0, float(rows.floors[k]))
        part = means[mask]
        scale = np.maximum(np.sqrt(np.mean(part**2, axis=0)) if len(part) else np.ones(part.shape[1]), 1e-300)
        cover = np.linalg.pinv((part / scale).T @ (part / scale), rcond=1e-12) * noise**2
        error = np.sqrt(np.maximum(np.diag(cover), 0.0)) / scale
        inner = [[] for _ in rate.terms]
        for j, (place, _, _) in enumerate(slots):
            inner[place].append(float(error[len(rate.terms) + j]))
        found[name] = tuple((float(error[p]), *inner[p]) for p in range(len(rate.terms)))
    return found


def sureness(rows: Rows, motion: Motion, used: Bool[np.ndarray, " N"], events: Both | None = None) -> dict[str, float]:
    """By field, the least weight of a term in units of its standard error: how well data tell its terms apart."""
    errors = standard_errors(rows, motion, used, events)
    return {
        name: min((abs(w) / max(e[0], 1e-300) for w, e in zip(rate.weights, errors[name], strict=True)), default=np.inf)
        for name, rate in motion.rates.items()
        if rows.fields[rows.at(name)].kind != "whole"
    }


def total_bits(rows: Rows, motion: Motion, residual: np.ndarray, used: np.ndarray) -> float:
    bits = 0.0
    for name, rate in motion.rates.items():
        k = rows.at(name)
        bits += data_bits(residual[used, k], floor_of(rows, k)) + float(costs_of(rate.terms).sum())
    return bits
