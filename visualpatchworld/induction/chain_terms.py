"""Which topology and which terms a chain has: ranked by
regression, then dropped, added and tied under an integrator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from visualpatchworld.induction.chain import Chain, Input, constant_names
from visualpatchworld.induction.chain_text import chain_rates
from visualpatchworld.induction.clock import NO_LIMIT, Clock
from visualpatchworld.induction.draft import Stretches
from visualpatchworld.induction.lagrange import RULES, Regression, Steps, Table, Term, all_terms, regress, tabulate
from visualpatchworld.induction.march import Settled, settle
from visualpatchworld.induction.motion import assemble
from visualpatchworld.induction.reading import Integrator, Reading
from visualpatchworld.induction.topology import Topology, other_topologies, usual_topologies

CLEAR = 1.5  # a topology this many times worse than the best is not proposed
# Errors of the regression that ask for no other topology at all, for no mirrored angles, and for no unusual topology.
EXACT, GOOD, FINE = 1e-6, 1e-3, 0.01
NOISY_FINE = 0.06  # the same where no other topology comes close: noise
UNUSUAL = 1.3  # how much better an unusual topology has to be
MOST_WORK = 6000  # regressions in each stage of a ranking, times the links squared
LATER = ("friction", "drag")  # what is asked only of the best chain
LEAST_EFFECT = 1e-7  # of a term on one step, in units of the typical motion: below, nothing can tell it from rounding
LOSSES = ("damping", "friction", "drag", "stiffness", "rotor")  # what is not negative
WALD, SCORE = 4.0, 5.0  # standard errors that a term must be from zero to stay, and to come in
TRIES = 4  # terms that may come in and not help before the search for more ends


class Ranked(NamedTuple):
    """A regression and its score: the error, a little more for many terms and for unusual topologies."""

    score: float
    regression: Regression


def rank(
    steps: Steps, angles: Sequence[bool], inputs: Sequence[Input], *, unusual: bool = False, clock: Clock = NO_LIMIT
) -> list[Ranked]:
    """Regressions of usual or of unusual topologies, the best
    first; mirrored angles are tried only where others leave much.

    When the clock runs out, what was found counts.
    """
    found: list[Ranked] = []
    fits, mirrored, budget = 0, 0, MOST_WORK // len(angles) ** 2
    for topology in other_topologies(angles) if unusual else usual_topologies(angles):
        best = min((each.score for each in found), default=np.inf)
        if (
            fits > budget
            or best < EXACT
            or (found and clock.over)
            or (topology.signs.count(-1) > mirrored and best < GOOD)
        ):
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
    """The best regression of few and of many terms where each
    actuator drives one joint; how many were tried, and a score.

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
        eased = table.observed @ np.linalg.solve(
            table.inertia[..., chosen] @ values, table.columns[..., chosen] * values
        )
        effects = dict(zip(regression.values, np.sqrt(np.mean(eased**2, axis=(0, 1))).tolist(), strict=True))
        left = sorted((term for term in regression.values if term not in needed), key=lambda term: effects[term])
        if not left or len(regression.values) < 3 or effects[left[0]] > 100 * regression.error + 1e-4:
            return regression
        fewer = regress(table, [term for term in regression.values if term != left[0]], regression.values)
        if fewer.error <= ceiling:
            regression = fewer
        else:
            needed.add(left[0])


@dataclass(frozen=True, eq=False)
class Trial:
    """What a chain is held against: stretches under one integrator."""

    reading: Reading
    stretches: Stretches
    integrator: Integrator
    substeps: int
    clock: Clock = NO_LIMIT

    def settle(self, chain: Chain, rounds: int = 12) -> Settled:
        draft = assemble(
            self.reading, chain_rates(chain, self.reading), integrator=self.integrator, substeps=self.substeps
        )
        return settle(draft.program, draft.free, self.stretches, rounds=rounds, clock=self.clock)

    def moved(self, chain: Chain, settled: Settled) -> Chain:
        names = constant_names(chain, self.reading)
        return chain.with_values({term: settled.values.get(names[term], value) for term, value in chain.values.items()})


def drop(chain: Chain, trial: Trial) -> tuple[Chain, Settled, Trial]:
    """The chain without terms that cannot be distinguished from zero."""
    settled = trial.settle(chain)
    chain = trial.moved(chain, settled)
    needed: set[Term] = set()
    while True:
        names = constant_names(chain, trial.reading)
        doubtful = [
            (settled.effects[name], term)
            for term, name in names.items()
            if name in settled.values
            and term.kind not in ("inertia", "moment", "length", "gravity")
            and term not in needed
            and (_effect(chain, term, name, settled) < LEAST_EFFECT or _certainty(chain, term, name, settled) < WALD)
        ]
        if not doubtful or trial.clock.over:
            return chain, settled, trial
        _, worst = min(doubtful)
        fewer = chain.with_values({term: value for term, value in chain.values.items() if term != worst})
        tried = trial.settle(fewer)
        if tried.error <= 1.02 * settled.error + LEAST_EFFECT:
            chain, settled = trial.moved(fewer, tried), tried
        else:
            needed.add(worst)


def _certainty(chain: Chain, term: Term, name: str, settled: Settled) -> float:
    """How many standard errors a constant is from where it is left out, on the side where nature has it."""
    away = (settled.values[name] - _absent(chain, term)) / max(settled.stderr[name], 1e-300)
    return away if term.kind in LOSSES else abs(away)


def _effect(chain: Chain, term: Term, name: str, settled: Settled) -> float:
    """What leaving the term out does to a stretch."""
    value = settled.values[name]
    return settled.effects[name] * (abs(value - _absent(chain, term)) / abs(value) if value else 0.0)


def _absent(chain: Chain, term: Term) -> float:
    """The value at which a constant is as good as left out."""
    return chain.zeros[term.link] if term.kind == "zero" else 0.0


def add(chain: Chain, settled: Settled, trial: Trial) -> tuple[Chain, Settled, Trial]:
    """The chain with terms that explain part of what it leaves, one at a time, each tested at zero."""
    rejected: set[Term] = set()
    while settled.error > LEAST_EFFECT and len(rejected) < TRIES and not trial.clock.over:
        absent = [t for t in _possible(chain) if t not in chain.values and t not in rejected]
        wider = chain.with_values({**chain.values, **{t: _absent(chain, t) for t in absent}})
        names = constant_names(wider, trial.reading)
        full = trial.settle(wider, rounds=0)
        columns = {name: c for c, name in enumerate(full.values)}
        slopes = full.slopes.reshape(-1, len(columns))
        present = slopes[:, [columns[name] for t, name in names.items() if name in columns and t not in absent]]
        basis = np.linalg.qr(present / np.maximum(np.linalg.norm(present, axis=0), 1e-300))[0]
        scores = {}
        for term in absent:
            column = slopes[:, columns[names[term]]]
            apart = column - basis @ (basis.T @ column)
            if np.linalg.norm(apart) > 1e-6 * max(float(np.linalg.norm(column)), 1e-300):
                votes = np.sum(apart.reshape(full.residuals.shape) * full.residuals, axis=-1)  # of each stretch
                scores[term] = abs(float(votes.sum())) / max(float(np.linalg.norm(votes)), 1e-300)
        if not scores or max(scores.values()) < SCORE:
            break
        best = max(scores, key=lambda term: scores[term])
        more = chain.with_values({**chain.values, best: _absent(chain, best)})
        tried = trial.settle(more)
        name = constant_names(more, trial.reading)[best]
        if tried.error < 0.99 * settled.error and _certainty(more, best, name, tried) > WALD:
            chain, settled = trial.moved(more, tried), tried
        else:
            rejected.add(best)
    return drop(chain, trial)


def _possible(chain: Chain) -> list[Term]:
    """Terms that may come in, and angles that may turn; of angles that only differences show, one stays."""
    terms = [t for t in all_terms(chain.topology, len(chain.inputs)) if not t.kind.startswith("cross")]
    pulled = any(t.kind in ("pull", "gravity") for t in chain.values)
    links = range(len(chain.topology)) if pulled else range(1, len(chain.topology))
    return terms + [Term("zero", link) for link in links]


def tie(chain: Chain, settled: Settled, trial: Trial) -> tuple[Chain, Settled]:
    """The chain with couplings and pulls as products of moments, lengths and gravity, where that explains as much."""
    tied = _tied(chain)
    if tied is not None:
        tried = trial.settle(tied)
        if tried.error <= 1.05 * settled.error + LEAST_EFFECT:
            return trial.moved(tied, tried), tried
    return chain, settled


def _tied(chain: Chain) -> Chain | None:
    """Every coupling of two hinges as a length times what hangs there,
    every pull as gravity times it; None where signs forbid it.
    """
    topology, values = chain.topology, dict(chain.values)
    slides = [i for i, hinge in enumerate(topology.hinges) if not hinge]
    hinges = [i for i, hinge in enumerate(topology.hinges) if hinge]
    zeros = list(chain.zeros)
    if slides:
        for slide in slides:
            pairs = {k: Term("coupling", min(slide, k), max(slide, k)) for k in hinges}
            if any(term not in values for term in pairs.values()):
                return None
            signs = {
                np.sign(values[term]) * np.sign(values[pairs_0]) for term, pairs_0 in _beside(pairs, slides[0], values)
            }
            if len(signs) != 1:
                return None
            if signs == {-1.0}:
                zeros[slide] += np.pi if zeros[slide] <= 0 else -np.pi
                if Term("zero", slide) in values:
                    values[Term("zero", slide)] += np.pi
        carried = {k: values[Term("coupling", min(slides[0], k), max(slides[0], k))] for k in hinges}
        for slide in slides:
            for k in hinges:
                del values[Term("coupling", min(slide, k), max(slide, k))]
        pulls = {k: values.pop(Term("pull", k)) for k in hinges if Term("pull", k) in values}
        if pulls and len(pulls) != len(hinges):
            return None
        values |= {Term("moment", k): amount for k, amount in carried.items()}
        if pulls:
            values[Term("gravity", 0)] = float(np.median([pulls[k] / carried[k] for k in hinges]))
    else:
        carried = {k: values[Term("pull", k)] for k in hinges if Term("pull", k) in values}
        if len(hinges) < 3 or len(carried) != len(hinges):
            return None
    for near in hinges:
        under = [k for k in hinges if near in topology.above(k)]
        couplings = {k: values.pop(Term("coupling", min(near, k), max(near, k)), None) for k in under}
        if any(amount is None for amount in couplings.values()):
            return None
        if couplings:
            values[Term("length", near)] = float(
                np.median([amount / carried[k] for k, amount in couplings.items() if amount is not None])
            )
    if any(t.kind == "coupling" and topology.hinges[t.link] and topology.hinges[t.other] for t in values):
        return None
    order = ["inertia", "moment", "length", "gravity"]
    values = dict(
        sorted(values.items(), key=lambda item: order.index(item[0].kind) if item[0].kind in order else len(order))
    )
    return replace(chain, values=values, zeros=tuple(zeros))


def _beside(pairs: Mapping[int, Term], first: int, values: Mapping[Term, float]) -> list[tuple[Term, Term]]:
    return [(term, Term("coupling", min(first, k), max(first, k))) for k, term in pairs.items() if term in values]
