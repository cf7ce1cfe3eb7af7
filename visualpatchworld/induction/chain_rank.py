"""Ranking topologies of chains by regression, and the least set of terms that the best one needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from visualpatchworld.induction.chain_inputs import Input
from visualpatchworld.induction.lagrange import RULES, Regression, Steps, Table, Term, all_terms, regress, tabulate
from visualpatchworld.induction.topology import Topology, other_topologies, usual_topologies

CLEAR = 1.5  # a topology this many times worse than the best is not proposed
GOOD, FINE = 1e-3, 0.01  # errors of the regression that ask for no mirrored angles, and for no unusual topology
NOISY_FINE = 0.06  # the same where no other topology comes close: noise
UNUSUAL = 1.3  # how much better an unusual topology has to be
MOST_WORK = 6000  # regressions in each stage of a ranking, times the links squared
LATER = ("friction", "drag")  # what is asked only of the best chain


def rank(steps: Steps, angles: Sequence[bool], inputs: Sequence[Input]) -> list[Regression]:
    """Regressions of the best topologies, the best first; unusual ones are tried only where the usual ones leave much.

    A usual topology stands before an unusual one that explains little more.
    """
    found: list[tuple[float, Regression]] = []
    budget = MOST_WORK // len(angles) ** 2
    for stage, handicap in ((usual_topologies, 1.0), (other_topologies, UNUSUAL)):
        fits, mirrored = 0, 0
        for topology in stage(angles):
            known = min((score for score, _ in found), default=np.inf)
            if fits > budget or (topology.signs.count(-1) > mirrored and known < GOOD):
                break
            mirrored = topology.signs.count(-1)
            for table in _tables(steps, topology):
                for tried, score, regression in _assigned(table, inputs):
                    fits += tried
                    found.append((score * handicap, regression))
        found.sort(key=lambda pair: pair[0])
        if found[0][0] < FINE or (found[0][0] < NOISY_FINE and _clear(found)):
            break
    best: dict[Topology, Regression] = {}
    for score, regression in found:
        if score <= CLEAR * max(found[0][0], 1e-9) and np.isfinite(score) and regression.topology not in best:
            best[regression.topology] = regression
    return list(best.values())


def _clear(found: Sequence[tuple[float, Regression]]) -> bool:
    """Whether the best topology stands alone."""
    return all(score > CLEAR * found[0][0] for score, other in found if other.topology != found[0][1].topology)


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
        if not left or effects[left[0]] > 100 * regression.error + 1e-4:
            return regression
        fewer = regress(table, [term for term in regression.values if term != left[0]], regression.values)
        if fewer.error <= ceiling:
            regression = fewer
        else:
            needed.add(left[0])
