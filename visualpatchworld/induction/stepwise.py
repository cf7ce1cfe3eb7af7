"""Stepwise choice of the few terms whose sum gives a response: forward with a beam, swaps, and scans of constants inside terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import minimize_scalar

from visualpatchworld.induction.regress import solve, within
from visualpatchworld.induction.terms import Samples, Term

MOST_TERMS = 9
BEAM = 6
PENALTY = 3.0  # times log N, per unit of a term's cost
EXACT = 4.0  # so many times the noise floor still counts as nothing left
MOST_ROWS = 2500


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
) -> list[Choice]:
    """The best choices by number of terms, the best of all first."""
    picked = np.flatnonzero(kept)
    picked = picked[np.unique(np.linspace(0, len(picked) - 1, min(MOST_ROWS, len(picked))).astype(int))]
    expanded, matrix = _matrix(samples, terms, picked)
    if not len(expanded):
        return []
    goal = target[picked]
    count = len(goal)
    enough = count * (EXACT * floor) ** 2
    beam = [_Item((), (), float(goal @ goal))]
    best_by_size = [beam[0]]
    for _ in range(most_terms):
        beam = _grown(beam, expanded, matrix, goal, samples, picked)
        if not beam:
            break
        best_by_size.append(beam[0])
        if beam[0].squares <= enough:
            break
    choices = []
    for item in best_by_size:
        choices.append(_finished(item, goal, target, samples, picked, floor, scale))
    if choices[-1].exact:
        choices[-1] = _pruned(choices[-1], target, samples, floor, scale)
    return sorted(choices, key=lambda choice: (not choice.exact, choice.score))


def _matrix(samples: Samples, terms: Sequence[Term], picked) -> tuple[list[Term], Float[np.ndarray, "N P"]]:
    expanded, columns = [], []
    for term in terms:
        for version in [term.at(value) for value in term.grid] or [term]:
            column = samples.column(version)[picked]
            norm = float(np.linalg.norm(column))
            if np.isfinite(norm) and norm > 1e-12:
                expanded.append(version)
                columns.append(column / norm)
    return expanded, np.stack(columns, axis=-1) if columns else np.zeros((len(picked), 0))


def _grown(beam: Sequence[_Item], expanded, matrix, goal, samples, picked) -> list[_Item]:
    found: dict[tuple[str, ...], tuple[float, _Item, int]] = {}
    for item in beam:
        basis = np.linalg.qr(np.stack(item.columns, axis=-1))[0] if item.columns else np.zeros((len(goal), 0))
        left = goal - basis @ (basis.T @ goal)
        shadow = 1 - np.sum((basis.T @ matrix) ** 2, axis=0)
        gains = np.where(shadow > 1e-9, (left @ matrix) ** 2 / np.maximum(shadow, 1e-9), 0.0)
        costs = np.array([term.cost for term in expanded])
        # A dearer term must leave clearly less: costs count as the same part of what is left.
        ranked = np.log(np.maximum(item.squares - gains, 1e-9 * item.squares)) + 0.02 * costs
        taken: set[str] = set()
        for k in np.argsort(ranked)[: 40 * BEAM]:
            if expanded[k].code in taken or gains[k] <= 1e-7 * item.squares:
                continue
            taken.add(expanded[k].code)
            key = tuple(sorted([*(t.code for t in item.terms), expanded[k].code]))
            if key not in found or ranked[k] < found[key][0]:
                found[key] = (float(ranked[k]), item, int(k))
            if len(taken) == BEAM:
                break
    grown = []
    for _, item, k in sorted(found.values(), key=lambda entry: entry[0])[: 2 * BEAM]:
        term, column = expanded[k], matrix[:, k]
        if term.inner is not None:
            term, column = _tuned(term, expanded, item.columns, goal, samples, picked)
        grown.append(_item((*item.terms, term), (*item.columns, column), goal))
    grown.sort(key=lambda item: np.log(max(item.squares, 1e-300)) + 0.02 * sum(term.cost for term in item.terms))
    if grown and len(grown[0].terms) > 1:
        grown[0] = _swapped(grown[0], expanded, matrix, goal, samples, picked)
    return grown[:BEAM]


def _swapped(item: _Item, expanded, matrix, goal, samples, picked) -> _Item:
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
                term, column = _tuned(term, expanded, others, goal, samples, picked)
            terms = tuple(term if n == place else t for n, t in enumerate(item.terms))
            columns = tuple(column if n == place else c for n, c in enumerate(item.columns))
            item = _item(terms, columns, goal)
    return item


def _item(terms, columns, goal) -> _Item:
    basis = np.linalg.qr(np.stack(columns, axis=-1))[0]
    left = goal - basis @ (basis.T @ goal)
    return _Item(terms, columns, float(left @ left))


def _tuned(term: Term, expanded, others, goal, samples, picked) -> tuple[Term, Float[np.ndarray, " N"]]:
    """The term with its own constant moved to where least is left, between the neighbours in its grid."""
    assert term.inner is not None
    grid = sorted(t.inner for t in expanded if t.code == term.code and t.inner is not None)
    place = grid.index(term.inner)
    low, high = grid[max(place - 1, 0)], grid[min(place + 1, len(grid) - 1)]
    basis = np.linalg.qr(np.stack(others, axis=-1))[0] if len(others) else np.zeros((len(goal), 0))
    rest = goal - basis @ (basis.T @ goal)

    def left(inner: float) -> float:
        column = samples.column(term.at(inner))[picked]
        column = column - basis @ (basis.T @ column)
        size = float(column @ column)
        return float(rest @ rest) - (float(rest @ column) ** 2 / size if size > 1e-20 else 0.0)

    if term.smooth:
        best = float(minimize_scalar(left, bounds=(low, high), method="bounded", options={"xatol": 1e-10 * (high - low)}).x)  # pyright: ignore
    else:
        tried = np.linspace(low, high, 81)
        values = np.array([left(x) for x in tried])
        best = float(np.mean(tried[values <= values.min() * (1 + 1e-9)]))
    best = best if left(best) <= left(term.inner) else term.inner
    found = term.at(best)
    column = samples.column(found)[picked]
    return found, column / np.linalg.norm(column)


def _finished(item: _Item, goal, target, samples, picked, floor, scale) -> Choice:
    """The item as a choice over all rows: those it explains are found anew."""
    if not item.terms:
        left = float(np.sqrt(np.mean(goal**2)))
        kept = np.ones(len(target), bool)
        score = len(goal) * np.log(max(left, floor, 1e-300) ** 2)
        return Choice((), (), left, left / scale, score, left <= EXACT * floor, kept)
    full = np.stack([samples.column(term) for term in item.terms], axis=-1)
    true = solve(full[picked], goal)
    left_all = target - full @ true
    kept = within(left_all, floor)
    if kept.sum() > 3 * len(item.terms):
        true = solve(full[kept], target[kept])
        left_all = target - full @ true
        kept = within(left_all, floor)
    left = float(np.sqrt(np.mean(left_all[kept] ** 2)))
    cost = sum(term.cost for term in item.terms)
    score = len(goal) * np.log(max(item.squares / len(goal), floor**2, 1e-300)) + PENALTY * np.log(len(goal)) * cost
    return Choice(item.terms, tuple(float(f) for f in true), left, left / scale, float(score), left <= EXACT * floor, kept)


def _pruned(choice: Choice, target, samples, floor, scale) -> Choice:
    """The choice without the terms that it does not need to be exact."""
    terms = list(choice.terms)
    for term in sorted(choice.terms, key=lambda t: -t.cost):
        fewer = [t for t in terms if t is not term]
        if not fewer:
            break
        full = np.stack([samples.column(t) for t in fewer], axis=-1)[choice.kept]
        left = target[choice.kept] - full @ solve(full, target[choice.kept])
        if np.sqrt(np.mean(left**2)) <= EXACT * floor:
            terms = fewer
    if len(terms) == len(choice.terms):
        return choice
    full = np.stack([samples.column(t) for t in terms], axis=-1)
    factors = solve(full[choice.kept], target[choice.kept])
    left_all = target - full @ factors
    kept = within(left_all, floor)
    left = float(np.sqrt(np.mean(left_all[kept] ** 2)))
    saved = PENALTY * np.log(kept.sum()) * (choice.cost - sum(t.cost for t in terms))
    return Choice(tuple(terms), tuple(map(float, factors)), left, left / scale, choice.score - saved, True, kept)
