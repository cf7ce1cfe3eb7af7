"""Ranking topologies of chains by regression, and the least set of terms that the best one needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from visualpatchworld.induction.chain import Input
from visualpatchworld.induction.clock import NO_LIMIT, Clock
from visualpatchworld.induction.lagrange import RULES, Regression, Steps, Table, Term, all_terms, regress, tabulate
from visualpatchworld.induction.topology import Topology, other_topologies, usual_topologies

CLEAR = 1.5  # a topology this many times worse than the best is not proposed
# Errors of the regression that ask for no other topology at all, for no mirrored angles, and for no unusual topology.
EXACT, GOOD, FINE = 1e-6, 1e-3, 0.01
NOISY_FINE = 0.06  # the same where no other topology comes close: noise
UNUSUAL = 1.3  # how much better an unusual topology has to be
MOST_WORK = 6000  # regressions in each stage of a ranking, times the links squared
LATER = ("friction", "drag")  # what is asked only of the best chain


class Ranked(NamedTuple):
    """A regression and its score: the error, a little more for many terms and for unusual topologies."""

    score: float
    regression: Regression


def rank(steps: Steps, angles: Sequence[bool], inputs: Sequence[Input], *, unusual: bool = False, clock: Clock = NO_LIMIT) -> list[Ranked]:
    """Regressions of usual or of unusual topologies, the best first; mirrored angles are tried only where others leave much.

    When the clock runs out, what was found counts.
    """
    found: list[Ranked] = []
    fits, mirrored, budget = 0, 0, MOST_WORK // len(angles) ** 2
    for topology in other_topologies(angles) if unusual else usual_topologies(angles):
        best = min((each.score for each in found), default=np.inf)
        if fits > budget or best < EXACT or (found and clock.over) or (topology.signs.count(-1) > mirrored and best < GOOD):
            break
        mirrored = topology.signs.count(-1)
        for table in _tables(steps, topology):
            for tried, score, regression in _assigned(table, inputs):
                fits += tried
                found.append(Ranked(score * (UNUSUAL if unusual else 1.0), regression))
                if score < EXACT:
                    break
    return sorted(found, key=lambda each: each.score)


def fine(found: Sequence[Ranked]) -> bool:
    """Whether the best topology explains so much, or so much more than the others, that no other needs to be tried."""
    if not found or found[0].score > NOISY_FINE:
        return False
    others = [each.score for each in found if each.regression.topology != found[0].regression.topology]
    return found[0].score < FINE or all(score > CLEAR * found[0].score for score in others)


def best_topologies(found: Sequence[Ranked]) -> list[Regression]:
    """The best regression of each topology that comes close to the best."""
    best: dict[Topology, Regression] = {}
    for score, regression in sorted(found, key=lambda each: each.score):
        if np.isfinite(score) and score <= CLEAR * max(found[0].score, 1e-9) and regression.topology not in best:
            best[regression.topology] = regression
    return list(best.values())


def _tables(steps: Steps, topology: Topology) -> Iterator[Table]:
    terms = [term for term in all_terms(topology, steps.actions.shape[1]) if term.kind not in LATER]
    for rule in RULES:
        yield tabulate(topology, steps, rule, terms)


def _assigned(table: Table, inputs: Sequence[Input]) -> Iterator[tuple[int, float, Regression]]:
    """The best regression of few and of many terms where each actuator drives one joint; how many were tried, and a score.

    A score counts many terms as a little worse.
    """
    plain = ("inertia", "coupling", "pull", "damping")
    core = (*plain, "cross coupling", "cross pull")
    size, action_dim = len(table.topology), max((given.column + 1 for given in inputs), default=0)
    before: dict[tuple[int, ...], Regression] = {}
    for kinds, handicap in ((plain, 1.0), (core, 1.2), ((*core, "rotor", "stiffness", "bias"), 1.5)):
        seen: dict[tuple[int, ...], Regression] = {}
        driven = tuple(max(size - action_dim + m, 0) for m in range(action_dim))
        for m in [*range(action_dim), *range(action_dim if action_dim > 1 else 0)] or [0]:
            for tried in ((*driven[:m], joint, *driven[m + 1 :]) if driven else () for joint in range(size)):
                if tried not in seen:
                    warm = before.get(tried)
                    start = warm.values if warm is not None and np.isfinite(warm.error) else None
                    seen[tried] = regress(table, [t for t in table.terms if _taken(t, kinds, tried, inputs)], start)
            driven = min(seen, key=lambda choice: seen[choice].error)
        best = min(seen.values(), key=lambda regression: regression.error)
        yield len(seen), handicap * best.error, best
        before = seen


def _taken(term: Term, kinds: Sequence[str], driven: Sequence[int], inputs: Sequence[Input]) -> bool:
    if term.kind == "gain":
        return driven[inputs[term.other].column] == term.link
    # What counts as no action is not known of a whole number: where it acts, so does a constant.
    offset = any(given.whole and given.value is None and driven[given.column] == term.link for given in inputs)
    return term.kind in kinds or (term.kind == "bias" and offset)


def thin(steps: Steps, regression: Regression) -> Regression:
    """The regression without the terms that it does not need, the least effective tried first."""
    table = tabulate(regression.topology, steps, regression.rule, list(regression.values))
    ceiling = 1.1 * regression.error + 1e-9
    needed: set[Term] = {term for term in regression.values if term.kind == "inertia"}
    while True:
        values = np.array(list(regression.values.values()))
        chosen = [table.terms.index(term) for term in regression.values]
        eased = table.observed @ np.linalg.solve(table.inertia[..., chosen] @ values, table.columns[..., chosen] * values)
        effects = dict(zip(regression.values, np.sqrt(np.mean(eased**2, axis=(0, 1))).tolist(), strict=True))
        left = sorted((term for term in regression.values if term not in needed), key=lambda term: effects[term])
        if not left or len(regression.values) < 3 or effects[left[0]] > 100 * regression.error + 1e-4:
            return regression
        fewer = regress(table, [term for term in regression.values if term != left[0]], regression.values)
        if fewer.error <= ceiling:
            regression = fewer
        else:
            needed.add(left[0])
