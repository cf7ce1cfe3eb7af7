"""A choice: the few terms whose sum gives a response, over which rows, and the same with fewer or plainer terms."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.induction.regress import solve, within
from visualpatchworld.induction.terms import Term

PENALTY = 3.0  # times log N, per unit of a term's cost
EXACT = 4.0  # so many times the noise floor still counts as nothing left
MOST_OF = 0.8  # of the usual rows
LIVELY = 0.2  # of the spread of all usual rows: less is there in rows that tell nothing
ALIKE = 0.9999  # cosine of the angle between two columns that may stand for each other
SAME = 1.0001  # times what is left: no more
LOOSE = 1e-6  # of a response's spread: from this floor on many sums of several terms are as good as exact
PLAIN = 1.05  # the cost of terms that stand in laws by themselves
SLIGHTLY = 1.1  # times the squares that are left, for cheaper terms


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


def pruned(choice: Choice, target, samples, floor, scale, enough: float) -> Choice:
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


def cheaper(choice: Choice, terms: Sequence[Term], target, samples, floor, scale) -> Choice:
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
            full = np.stack([columns[id(term)] for term in trial], axis=-1)
            if np.sum((goal - full @ solve(full, goal)) ** 2) <= enough:
                best = _with_terms(choice, trial, target, samples, floor, scale)
    return best


def plainer(choice: Choice, terms: Sequence[Term], target, samples, floor, scale) -> Choice:
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
