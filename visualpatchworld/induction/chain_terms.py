"""Which terms a chain needs: those told from zero stay, those that explain what is left come in, and products tie what physics ties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from visualpatchworld.induction.chain import Chain, constant_names
from visualpatchworld.induction.chain_text import chain_rates
from visualpatchworld.induction.clock import NO_LIMIT, Clock
from visualpatchworld.induction.draft import Stretches
from visualpatchworld.induction.lagrange import Term, all_terms
from visualpatchworld.induction.motion import assemble
from visualpatchworld.induction.reading import Integrator, Reading
from visualpatchworld.induction.settle import Settled, settle

LEAST_EFFECT = 1e-7  # of a term on one step, in units of the typical motion: below, nothing can tell it from rounding
LOSSES = ("damping", "friction", "drag", "stiffness", "rotor")  # what is not negative
WALD, SCORE = 4.0, 5.0  # standard errors that a term must be from zero to stay, and to come in
TRIES = 4  # terms that may come in and not help before the search for more ends


@dataclass(frozen=True, eq=False)
class Trial:
    """What a chain is held against: stretches under one integrator."""

    reading: Reading
    stretches: Stretches
    integrator: Integrator
    substeps: int
    clock: Clock = NO_LIMIT

    def settle(self, chain: Chain, rounds: int = 12) -> Settled:
        draft = assemble(self.reading, chain_rates(chain, self.reading), integrator=self.integrator, substeps=self.substeps)
        return settle(draft.program, draft.free, self.stretches, rounds=rounds, clock=self.clock)

    def moved(self, chain: Chain, settled: Settled) -> Chain:
        names = constant_names(chain, self.reading)
        return chain.with_values({term: settled.values.get(names[term], value) for term, value in chain.values.items()})


def drop(chain: Chain, trial: Trial) -> tuple[Chain, Settled, Trial]:
    """The chain without terms that are not told from zero."""
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
    """Every coupling of two hinges as a length times what hangs there, every pull as gravity times it; None where signs forbid it."""
    topology, values = chain.topology, dict(chain.values)
    slides = [i for i, hinge in enumerate(topology.hinges) if not hinge]
    hinges = [i for i, hinge in enumerate(topology.hinges) if hinge]
    zeros = list(chain.zeros)
    if slides:
        for slide in slides:
            pairs = {k: Term("coupling", min(slide, k), max(slide, k)) for k in hinges}
            if any(term not in values for term in pairs.values()):
                return None
            signs = {np.sign(values[term]) * np.sign(values[pairs_0]) for term, pairs_0 in _beside(pairs, slides[0], values)}
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
            values[Term("length", near)] = float(np.median([amount / carried[k] for k, amount in couplings.items() if amount is not None]))
    if any(t.kind == "coupling" and topology.hinges[t.link] and topology.hinges[t.other] for t in values):
        return None
    order = ["inertia", "moment", "length", "gravity"]
    values = dict(sorted(values.items(), key=lambda item: order.index(item[0].kind) if item[0].kind in order else len(order)))
    return replace(chain, values=values, zeros=tuple(zeros))


def _beside(pairs: Mapping[int, Term], first: int, values: Mapping[Term, float]) -> list[tuple[Term, Term]]:
    return [(term, Term("coupling", min(first, k), max(first, k))) for k, term in pairs.items() if term in values]
