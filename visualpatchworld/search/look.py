"""A look at one field: the sparse sums of library terms that explain its change, at some point of a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.grammar.expr import Expr, columns
from visualpatchworld.search.fit import POLISH, Support, costs_of, fitted, floor_of
from visualpatchworld.search.library import groups_of
from visualpatchworld.search.motion import Rate, Stages, averages
from visualpatchworld.search.regress import (
    Sum,
    beam,
    best_sums,
    data_bits,
    normalised,
)
from visualpatchworld.search.rows import Rows, free_rows

ENDS = (0.0, 0.25, 0.5, 0.75, 1.0)  # how much the end of a step counts in a term: Euler, trapezoid, after the fact
PER_BEAM = 6  # supports of each size whose terms go on to the next look
STRAYED = 4.0  # times its first value: how far an inner number may go while it is polished
PER_SIZE = 5  # sums of each size whose inner numbers are polished, and one
SUPPORTS = 16  # that a first look hands on, beside the best of each size


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
