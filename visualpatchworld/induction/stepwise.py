"""Stepwise choice of the few terms whose sum gives a response:
forward with a beam, swaps, and scans of constants inside terms.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.optimize import minimize_scalar

from visualpatchworld.induction.clock import NO_LIMIT, Clock
from visualpatchworld.induction.regress import solve, within
from visualpatchworld.induction.terms import Samples, Term

MOST_TERMS = 9
MOST_FILLED = 12  # terms of a sum that can still be read
HURRIED_TERMS = 3  # that are looked for even when time is up: with fewer a sum says nothing
BEAM = 6
MOST_SCANNED = 4
PENALTY = 3.0  # times log N, per unit of a term's cost
EXACT = 4.0  # so many times the noise floor still counts as nothing left
MOST_ROWS = 2500
MOST_OF = 0.8  # of the usual rows
LIVELY = 0.2  # of the spread of all usual rows: less is there in rows that tell nothing
ALIKE = 0.9999  # cosine of the angle between two columns that may stand for each other
SAME = 1.0001  # times what is left: no more
MOST_PLAIN = 150  # terms that a choice may begin with all at once
LOOSE = 1e-6  # of a response's spread: from this floor on many sums of several terms are as good as exact
ROUNDED = 1.3  # times the floor: more than rounding leaves
MUCH = 0.7  # of the squares may be left with one more term that is not only rounding
PLAIN = 1.05  # the cost of terms that stand in laws by themselves
SLIGHTLY = 1.1  # times the squares that are left, for cheaper terms
HURRIED_COLUMNS = 60  # that are looked at even when time is up


@dataclass(frozen=True)
class Choice:
    """A sum of terms with factors, what it leaves over the rows it is to explain, and which rows these are."""

    terms: tuple[Term, ...]
    factors: tuple[float, ...]
    left: float  # root mean square over kept rows
    part: float  # the same over the response's own spread
    score: float  # lower is better
    exact: bool
    kept: Bool[np.ndarray, " N"]

    @property
    def cost(self) -> float:
        return sum(term.cost for term in self.terms)

    @property
    def new_fields(self) -> frozenset[str]:
        """The fields that count with the values of the same step."""
        return frozenset(name for term in self.terms for name in re.findall(r"\bnew\.(\w+)", term.code))


@dataclass(frozen=True)
class _Item:
    terms: tuple[Term, ...]
    columns: tuple[Float[np.ndarray, " N"], ...]
    squares: float  # sum of squares left


def choose(
    target: Float[np.ndarray, " N"],
    samples: Samples,
    terms: Sequence[Term],
    kept: Bool[np.ndarray, " N"],
    floor: float,
    *,
    scale: float,
    most_terms: int = MOST_TERMS,
    rounded: bool = False,
    clock: Clock = NO_LIMIT,
) -> list[Choice]:
    """The best choices by number of terms, the best of all first; the floor is that of `rounded` numbers, or noise."""
    picked = _picked(kept)
    few = samples.only(picked)
    expanded, matrix = _matrix(few, terms, clock)
    if not len(expanded):
        return []
    goal = target[picked]
    count = len(goal)
    enough = count * (EXACT * floor) ** 2
    known = rounded and floor > LOOSE * scale
    beam = [_Item((), (), float(goal @ goal))]
    best_by_size = [beam[0]]
    for _ in range(most_terms):
        if clock.over and len(best_by_size) > HURRIED_TERMS:
            break
        beam = _grown(beam, expanded, matrix, goal, few)
        if not beam:
            break
        # Of those that leave nothing the cheapest is the best, not the one that follows noise most closely.
        exact = [item for item in beam if item.squares <= enough]
        best_by_size.append(
            min(exact, key=lambda item: (sum(t.cost for t in item.terms), item.squares)) if exact else beam[0]
        )
        if beam[0].squares > 0.98 * best_by_size[-2].squares:
            break
        if beam[0].squares <= enough:
            # Digits that are few leave an error that is known well: while more is left, and a term takes much of it,
            # something is missing.
            if not known or beam[0].squares <= count * (ROUNDED * floor) ** 2:
                break
            if best_by_size[-2].squares <= enough and beam[0].squares > MUCH * best_by_size[-2].squares:
                break
    choices = []
    for item in best_by_size:
        choices.append(_finished(item, goal, target, samples, picked, kept, floor, scale))
    if choices[-1].exact:
        enough = max(ROUNDED * floor, SLIGHTLY * choices[-1].left) if known else EXACT * floor
        choices[-1] = _pruned(choices[-1], target, samples, floor, scale, enough)
        if floor > LOOSE * scale:
            choices[-1] = _cheaper(choices[-1], terms, target, samples, floor, scale)
    choices = [_plainer(choice, terms, target, samples, floor, scale) for choice in choices]
    return sorted(choices, key=lambda choice: (not choice.exact, choice.score))


def fill(
    target: Float[np.ndarray, " N"],
    samples: Samples,
    plain: Sequence[Term],
    scanned: Sequence[Term],
    kept: Bool[np.ndarray, " N"],
    floor: float,
    *,
    scale: float,
    simpler: Sequence[Term],
    clock: Clock = NO_LIMIT,
) -> list[Choice]:
    """A choice that begins with all plain terms, adds terms with a
    constant inside until nothing is left, and then drops all it can.

    Where several plain terms stand beside a threshold or a wave, a forward search meets wrong terms first; this does
    not. It answers with nothing unless it ends exact, with few terms and in time. In the end `simpler` terms take the
    place of those with a constant inside that say the same.
    """
    if len(plain) > MOST_PLAIN:
        return []
    picked = _picked(kept)
    few, goal = samples.only(picked), target[picked]
    enough = len(goal) * (EXACT * floor) ** 2
    base, matrix = _matrix(few, plain, clock)
    expanded, waves = _matrix(few, scanned, clock)
    if clock.over:
        return []
    item = _Item((), (), float(goal @ goal))
    for term, column in zip(base, matrix.T, strict=True):
        basis = np.linalg.qr(np.stack(item.columns, axis=-1))[0] if item.columns else np.zeros((len(goal), 0))
        if np.linalg.norm(column - basis @ (basis.T @ column)) > 1e-6 and len(item.terms) < len(goal) // 8:
            item = _Item((*item.terms, term), (*item.columns, column), 0.0)
    if not item.terms or not expanded:
        return []
    item = _item(item.terms, item.columns, goal)
    for _ in range(MOST_SCANNED):
        if item.squares <= enough or clock.over:
            break
        basis = np.linalg.qr(np.stack(item.columns, axis=-1))[0]
        left = goal - basis @ (basis.T @ goal)
        shadow = 1 - np.sum((basis.T @ waves) ** 2, axis=0)
        gains = np.where(shadow > 1e-9, (left @ waves) ** 2 / np.maximum(shadow, 1e-9), 0.0)
        trials = []
        for k in np.argsort(-gains)[: 60 * BEAM]:
            if _is_valley(k, -gains, expanded) and expanded[k].code not in [t.code for t in item.terms]:
                term, column = expanded[k], waves[:, k]
                if term.inner is not None:
                    term, column = _tuned(term, expanded, item.columns, goal, few)
                trials.append(_together(_item((*item.terms, term), (*item.columns, column), goal), goal, few))
                if len(trials) == BEAM:
                    break
        best = min(trials, key=lambda trial: trial.squares, default=item)
        if best.squares > 0.8 * item.squares:
            break
        item = best
    if item.squares > enough:
        return []
    while len(item.terms) > 1:
        if clock.over:
            return []
        fewer = [
            _item(
                tuple(t for n, t in enumerate(item.terms) if n != k),
                tuple(c for n, c in enumerate(item.columns) if n != k),
                goal,
            )
            for k in range(len(item.terms))
        ]
        # Of all that can go, the dearest goes first.
        can_go = [(item.terms[k].cost, -f.squares, k) for k, f in enumerate(fewer) if f.squares <= enough]
        if not can_go:
            break
        item = fewer[max(can_go)[2]]
    if len(item.terms) > MOST_FILLED:
        return []
    return [
        _plainer(
            _finished(item, goal, target, samples, picked, kept, floor, scale), simpler, target, samples, floor, scale
        )
    ]


def _picked(kept: Bool[np.ndarray, " N"]) -> Int[np.ndarray, " P"]:
    """The rows that are kept, or some of them that lie evenly where they are more than a choice needs."""
    picked = np.flatnonzero(kept)
    return picked[np.unique(np.linspace(0, len(picked) - 1, min(MOST_ROWS, len(picked))).astype(int))]


def _matrix(samples: Samples, terms: Sequence[Term], clock: Clock) -> tuple[list[Term], Float[np.ndarray, "N P"]]:
    """Every term, at every value of its own constant that is tried, as
    a column of length one; the first ones alone when time is up.
    """
    expanded, columns = [], []
    for term in terms:
        if clock.over and len(expanded) >= HURRIED_COLUMNS:
            break
        for version in [term.at(value) for value in term.grid] or [term]:
            column = samples.column(version)
            norm = float(np.linalg.norm(column))
            if np.isfinite(norm) and norm > 1e-12:
                expanded.append(version)
                columns.append(column / norm)
    return expanded, np.stack(columns, axis=-1) if columns else np.zeros((0, 0))


def _grown(beam: Sequence[_Item], expanded, matrix, goal, few: Samples) -> list[_Item]:
    found: dict[tuple[str, ...], tuple[float, _Item, int]] = {}
    for item in beam:
        basis = np.linalg.qr(np.stack(item.columns, axis=-1))[0] if item.columns else np.zeros((len(goal), 0))
        left = goal - basis @ (basis.T @ goal)
        shadow = 1 - np.sum((basis.T @ matrix) ** 2, axis=0)
        gains = np.where(shadow > 1e-9, (left @ matrix) ** 2 / np.maximum(shadow, 1e-9), 0.0)
        costs = np.array([term.cost for term in expanded])
        # A dearer term must leave clearly less: costs count as the same part of what is left.
        ranked = np.log(np.maximum(item.squares - gains, 1e-9 * item.squares + 1e-300)) + 0.02 * costs
        taken = 0
        for k in np.argsort(ranked)[: 60 * BEAM]:
            if (
                gains[k] <= 1e-7 * item.squares
                or not _is_valley(k, ranked, expanded)
                or not _fits(expanded[k], item.terms)
            ):
                continue
            taken += 1
            inner = "" if expanded[k].inner is None else f" at {expanded[k].inner:.3g}"
            key = tuple(sorted([*(t.code for t in item.terms), expanded[k].code + inner]))
            if key not in found or ranked[k] < found[key][0]:
                found[key] = (float(ranked[k]), item, int(k))
            if taken == 2 * BEAM:
                break
    grown = []
    for _, item, k in sorted(found.values(), key=lambda entry: entry[0])[: 3 * BEAM]:
        term, column = expanded[k], matrix[:, k]
        if term.inner is not None:
            term, column = _tuned(term, expanded, item.columns, goal, few)
        grown.append(_item((*item.terms, term), (*item.columns, column), goal))
    grown.sort(key=lambda item: np.log(max(item.squares, 1e-300)) + 0.02 * sum(term.cost for term in item.terms))
    if grown and len(grown[0].terms) > 1:
        grown[0] = _swapped(grown[0], expanded, matrix, goal, few)
    grown = [_together(item, goal, few) if n < 3 else item for n, item in enumerate(grown)]
    grown.sort(key=lambda item: np.log(max(item.squares, 1e-300)) + 0.02 * sum(term.cost for term in item.terms))
    return grown[:BEAM]


def _fits(term: Term, others: Sequence[Term]) -> bool:
    """Whether a term may join the others: terms with a constant inside
    are few, and one kind of them stands once, or it fits anything.
    """
    if term.inner is None:
        return True
    scanned = [other for other in others if other.inner is not None]
    return len(scanned) < MOST_SCANNED and all(
        other.code != term.code and other.label != term.label for other in scanned
    )


def _is_valley(k: int, ranked, expanded: Sequence[Term]) -> bool:
    """Whether a scanned constant is better there than at its
    neighbours in the grid; there may be several such places.
    """
    if expanded[k].inner is None:
        return True
    near = [n for n in (k - 1, k + 1) if 0 <= n < len(expanded) and expanded[n].code == expanded[k].code]
    return all(ranked[n] >= ranked[k] for n in near)


def _swapped(item: _Item, expanded, matrix, goal, few) -> _Item:
    """Each term gives way to a better one where there is one."""
    for place in range(len(item.terms)):
        others = [c for k, c in enumerate(item.columns) if k != place]
        basis = np.linalg.qr(np.stack(others, axis=-1))[0]
        left = goal - basis @ (basis.T @ goal)
        shadow = 1 - np.sum((basis.T @ matrix) ** 2, axis=0)
        gains = np.where(shadow > 1e-9, (left @ matrix) ** 2 / np.maximum(shadow, 1e-9), 0.0)
        k = int(np.argmax(gains))
        if float(left @ left) - gains[k] < 0.9 * item.squares and expanded[k].code not in [t.code for t in item.terms]:
            term, column = expanded[k], matrix[:, k]
            if term.inner is not None:
                term, column = _tuned(term, expanded, others, goal, few)
            terms = tuple(term if n == place else t for n, t in enumerate(item.terms))
            columns = tuple(column if n == place else c for n, c in enumerate(item.columns))
            item = _item(terms, columns, goal)
    return item


def _together(item: _Item, goal, few) -> _Item:
    """All constants inside terms moved at once with the factors,
    by Gauss and Newton's steps that are halved until they help.
    """
    inside = [k for k, term in enumerate(item.terms) if term.inner is not None and term.smooth]
    if not inside or len(item.terms) == 1:
        return item
    for _ in range(8):
        columns = np.stack(item.columns, axis=-1)
        factors = solve(columns, goal)
        slopes = []
        for k in inside:
            inner = item.terms[k].inner or 0.0
            nudge = 1e-6 * max(abs(inner), 1e-6)
            norm = float(np.linalg.norm(few.column(item.terms[k])))
            sides = [few.column(item.terms[k].at(inner + way * nudge)) for way in (1, -1)]
            slopes.append(factors[k] * (sides[0] - sides[1]) / (2 * nudge * norm))
        move = solve(np.concatenate([columns, np.stack(slopes, axis=-1)], axis=1), goal)[len(item.terms) :]
        best = item
        for part in (1.0, 0.5, 0.2):
            terms = list(item.terms)
            for k, step in zip(inside, move, strict=True):
                terms[k] = terms[k].at((terms[k].inner or 0.0) + part * step)
            fresh = [few.column(term) for term in terms]
            norms = [float(np.linalg.norm(column)) for column in fresh]
            if min(norms) > 0 and np.isfinite(norms).all() and all(term.within_reach for term in terms):
                trial = _item(tuple(terms), tuple(c / n for c, n in zip(fresh, norms, strict=True)), goal)
                if trial.squares < best.squares:
                    best = trial
                    break
        if best.squares > 0.999 * item.squares:
            return best
        item = best
    return item


def _item(terms, columns, goal) -> _Item:
    basis = np.linalg.qr(np.stack(columns, axis=-1))[0]
    left = goal - basis @ (basis.T @ goal)
    return _Item(terms, columns, float(left @ left))


def _tuned(term: Term, expanded, others, goal, few) -> tuple[Term, Float[np.ndarray, " N"]]:
    """The term with its own constant moved to where least is left, between the neighbours in its grid."""
    assert term.inner is not None
    grid = sorted(t.inner for t in expanded if t.code == term.code and t.inner is not None)
    place = grid.index(term.inner)
    low, high = grid[max(place - 1, 0)], grid[min(place + 1, len(grid) - 1)]
    basis = np.linalg.qr(np.stack(others, axis=-1))[0] if len(others) else np.zeros((len(goal), 0))
    rest = goal - basis @ (basis.T @ goal)

    def left(inner: float) -> float:
        column = few.column(term.at(inner))
        column = column - basis @ (basis.T @ column)
        size = float(column @ column)
        return float(rest @ rest) - (float(rest @ column) ** 2 / size if size > 1e-20 else 0.0)

    if term.smooth:
        precisely = {"xatol": 1e-10 * (high - low)}
        found: Any = minimize_scalar(left, bounds=(low, high), method="bounded", options=precisely)
        best = float(found.x)
    else:
        best = term.inner
        for _ in range(2):
            tried = np.linspace(low, high, 81)
            values = np.array([left(x) for x in tried])
            good = tried[values <= values.min() + 1e-9 * abs(values.min())]
            best = float((good[0] + good[-1]) / 2)
            step = tried[1] - tried[0]
            low, high = float(good[0]) - step, float(good[-1]) + step
        # Of thresholds that part the rows the same way, nothing is the likeliest.
        best = 0.0 if low <= 0 <= high and left(0.0) <= left(best) + 1e-9 * abs(left(best)) else best
    best = best if left(best) <= left(term.inner) else term.inner
    found = term.at(best)
    column = few.column(found)
    return found, column / np.linalg.norm(column)


def _finished(item: _Item, goal, target, samples, picked, usual, floor, scale) -> Choice:
    """The item as a choice over all rows: those it explains are found anew."""
    if not item.terms:
        left = float(np.sqrt(np.mean(goal**2)))
        kept = np.ones(len(target), bool)
        score = len(goal) * np.log(max(left, floor, 1e-300) ** 2)
        return Choice((), (), left, left / scale, score, left <= EXACT * floor, kept)
    full = np.stack([samples.column(term) for term in item.terms], axis=-1)
    true = solve(full[picked], goal)
    left_all = target - full @ true
    kept = within(left_all, floor, usual=usual)
    if kept.sum() > 3 * len(item.terms):
        true = solve(full[kept], target[kept])
        left_all = target - full @ true
        kept = within(left_all, floor, usual=usual)
    if kept.sum() < MOST_OF * usual.sum() and np.std(target[kept]) < LIVELY * np.std(target[usual]):
        kept = usual  # rows in which nothing happens explain nothing
    left = float(np.sqrt(np.mean(left_all[kept] ** 2)))
    cost = sum(term.cost for term in item.terms)
    score = len(goal) * np.log(max(item.squares / len(goal), floor**2, 1e-300)) + PENALTY * np.log(len(goal)) * cost
    return Choice(
        item.terms, tuple(float(f) for f in true), left, left / scale, float(score), left <= EXACT * floor, kept
    )


def _pruned(choice: Choice, target, samples, floor, scale, enough: float) -> Choice:
    """The choice without the terms that it does not need to leave no more than enough."""
    terms = list(choice.terms)
    for term in sorted(choice.terms, key=lambda t: -t.cost):
        fewer = [t for t in terms if t is not term]
        if not fewer:
            break
        full = np.stack([samples.column(t) for t in fewer], axis=-1)[choice.kept]
        left = target[choice.kept] - full @ solve(full, target[choice.kept])
        if np.sqrt(np.mean(left**2)) <= enough:
            terms = fewer
    return choice if len(terms) == len(choice.terms) else _with_terms(choice, terms, target, samples, floor, scale)


def _cheaper(choice: Choice, terms: Sequence[Term], target, samples, floor, scale) -> Choice:
    """The choice with two cheaper terms in place of two dear ones where that leaves no more: up to noise many pairs of
    functions of one field are alike, and which of them a forward search meets first is chance.
    """
    plain = [term for term in terms if term.cost <= PLAIN and not term.grid and term not in choice.terms]
    columns = {id(term): samples.column(term)[choice.kept] for term in (*plain, *choice.terms)}
    goal, best = target[choice.kept], choice
    enough = SLIGHTLY * choice.left**2 * len(goal)
    for gone in itertools.combinations(choice.terms, 2):
        stay = [term for term in choice.terms if term not in gone]
        for come in itertools.combinations(plain, 2):
            trial = [*stay, *come]
            if sum(term.cost for term in trial) >= best.cost:
                continue
            item = _item(tuple(trial), tuple(columns[id(term)] for term in trial), goal)
            if item.squares <= enough:
                best = _with_terms(choice, trial, target, samples, floor, scale)
    return best


def _plainer(choice: Choice, terms: Sequence[Term], target, samples, floor, scale) -> Choice:
    """The choice with plain terms in place of terms whose own constant has gone where they are about the same as a
    plain one, and then without terms that only stood beside those.
    """
    first = choice
    for place, term in enumerate(choice.terms):
        cheaper = [t for t in terms if term.inner is not None and t.inner is None and not t.grid and t.cost < term.cost]
        if not cheaper:
            continue
        rest = [samples.column(t)[choice.kept] for t in choice.terms if t is not term]
        basis = np.linalg.qr(np.stack(rest, axis=-1))[0] if rest else np.zeros((int(choice.kept.sum()), 0))
        own = _beside(samples.column(term)[choice.kept], basis)
        for other in cheaper:
            # A term speaks for another one only of the same fields, or of none.
            if other in choice.terms or not set(other.of) <= set(term.of):
                continue
            trial = _with_terms(
                choice, [*choice.terms[:place], other, *choice.terms[place + 1 :]], target, samples, floor, scale
            )
            enough = EXACT * floor if choice.exact else SAME * choice.left
            alike = trial.left <= enough and _alike(own, _beside(samples.column(other)[choice.kept], basis))
            if alike or (trial.exact and trial.score < choice.score):
                choice = trial
                break
    for term in sorted(choice.terms, key=lambda t: -t.cost) if choice is not first and choice.exact else ():
        fewer = [t for t in choice.terms if t is not term]
        trial = _with_terms(choice, fewer, target, samples, floor, scale) if fewer else choice
        choice = trial if trial.exact and trial.score < choice.score else choice
    return choice


def _beside(column: Float[np.ndarray, " N"], basis: Float[np.ndarray, "N P"]) -> Float[np.ndarray, " N"]:
    """What a column has that the basis has not."""
    return column - basis @ (basis.T @ column)


def _alike(one: Float[np.ndarray, " N"], other: Float[np.ndarray, " N"]) -> bool:
    """Whether two columns are about the same but for a factor."""
    return abs(float(one @ other)) > ALIKE * float(np.linalg.norm(one) * np.linalg.norm(other))


def _with_terms(choice: Choice, terms: Sequence[Term], target, samples, floor, scale) -> Choice:
    """The choice with these cheaper terms over the rows that it explains."""
    rows = choice.kept
    full = np.stack([samples.column(t) for t in terms], axis=-1)
    factors = solve(full[rows], target[rows])
    left_all = target - full @ factors
    left = float(np.sqrt(np.mean(left_all[rows] ** 2)))
    worse = rows.sum() * np.log(max(left, floor, 1e-300) / max(choice.left, floor, 1e-300)) * 2
    saved = PENALTY * np.log(rows.sum()) * (choice.cost - sum(t.cost for t in terms))
    kept, exact = within(left_all, floor, usual=rows), left <= EXACT * floor
    return Choice(
        tuple(terms), tuple(map(float, factors)), left, left / scale, choice.score + worse - saved, exact, kept
    )
