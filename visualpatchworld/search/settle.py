"""From looks at each field to rates, and to the integrator under which they are exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.grammar.expr import Expr, var
from visualpatchworld.search.fit import POLISH, Support, costs_of, fitted, floor_of, total_bits
from visualpatchworld.search.library import parts_of
from visualpatchworld.search.look import Look
from visualpatchworld.search.motion import Both, Motion, Rate, Scheme, averages
from visualpatchworld.search.regress import (
    data_bits,
    steady_weights,
)
from visualpatchworld.search.rows import Rows, free_rows

SUBSTEPS = (1, 2, 4, 5, 3, 10)  # that are tried, the usual ones first
ROWS_TO_CHOOSE = 400  # that schemes are compared in
SCHEME_BITS = 1.0  # more for every scheme further down the list
BEST_SCHEMES = 5
ROUNDS = 12  # of rates from stages and stages from rates; a long step needs many, and then a wrong scheme would win
FIRST_ROUNDS = 4  # of every scheme; only the best go on
WORTH_MORE = 8  # schemes that get all rounds
WORTH_A_TURN = (8, 4)  # supports of a field that go on to the next turn under a scheme
SHORT = 6  # terms of a support whose inner numbers are polished before it is compared with others
CUTS = 12  # values on either side of a threshold that it is moved to
EXACT = 2.0  # floors: a median residual below this is exact


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
