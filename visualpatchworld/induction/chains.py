"""Chains from trajectories: topologies ranked by a linear regression, constants settled under an integrator, terms dropped, added and tied."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.induction.chain import Chain, chain_rates, constant_names, describe, moving_coordinates
from visualpatchworld.induction.draft import Stretches, cut
from visualpatchworld.induction.lagrange import INERTIAL, Regression, Steps, Table, Term, all_terms, regress, tabulate
from visualpatchworld.induction.motion import Rates, assemble
from visualpatchworld.induction.reading import Integrator, Reading
from visualpatchworld.induction.settle import ENOUGH, Settled, settle
from visualpatchworld.induction.topology import Topology, other_topologies, usual_topologies

MOST_LINKS = 5
RANKED_STEPS = 300
SETTLED_STRETCHES = 200
CLEAR = 1.5  # a topology this many times worse than the best is not proposed
GOOD, FINE = 1e-3, 0.01  # errors of the regression that ask for no mirrored angles, and for no unusual topology
NOISY_FINE = 0.06  # the same where no other topology comes close: noise
HOPELESS = 0.3  # an error that no chain is behind
UNUSUAL = 1.3  # how much better an unusual topology has to be
MOST_WORK = 6000  # regressions in each stage of a ranking, times the links squared
NOISY = 3e-3  # a one-step error above which stretches of several steps tell more
LONG, MANY = 8, 600  # steps of such a stretch, and how many stretches settle the constants in the end
LEAST_EFFECT = 1e-7  # of a term on one step, in units of the typical motion: below, nothing can tell it from rounding
LOSSES = ("damping", "friction", "stiffness", "rotor")  # what is not negative
WALD, SCORE = 4.0, 5.0  # standard errors that a term must be from zero to stay, and to come in

Progress = Callable[[str], None]


@dataclass(frozen=True)
class ChainFit:
    """A chain that explains the steps, how it is integrated, and what it leaves."""

    chain: Chain
    rates: Rates
    integrator: Integrator
    substeps: int
    error: float  # root mean square over one step, in units of each field's typical motion
    regression: Regression


def propose_chains(
    reading: Reading,
    states: Sequence[Float[np.ndarray, "T+1 S"]],
    actions: Sequence[Float[np.ndarray, "T A"]],
    *,
    usable: Sequence[Bool[np.ndarray, " T"]] | None = None,
    progress: Progress = lambda _: None,
) -> list[Rates]:
    """Planar chains of slides and hinges that explain the steps, best first; empty where there is none to try."""
    return [fit.rates for fit in fit_chains(reading, states, actions, usable=usable, progress=progress)]


def fit_chains(
    reading: Reading,
    states: Sequence[Float[np.ndarray, "T+1 S"]],
    actions: Sequence[Float[np.ndarray, "T A"]],
    *,
    usable: Sequence[Bool[np.ndarray, " T"]] | None = None,
    progress: Progress = lambda _: None,
    most: int = 2,
) -> list[ChainFit]:
    """As `propose_chains`, each with the integrator and the sub-steps that fit best."""
    coordinates = moving_coordinates(reading)
    if not 1 <= len(coordinates) <= MOST_LINKS:
        return []
    mixing = velocity_mixing(reading, states)
    steps = _steps(reading, states, actions, usable, mixing)
    if len(steps.actions) < 10 * len(coordinates):
        return []
    progress(f"chains of {len(coordinates)} links")
    ranking = rank(steps, [coordinate.angle for coordinate in coordinates], _wholes(actions))
    fits = []
    for regression in ranking[:most]:
        if regression.error < HOPELESS:
            progress(f"chain: {regression.topology.text}")
            fits.append(_fit(reading, states, actions, usable, steps, regression, mixing))
    return sorted(fits, key=lambda fit: fit.error)


def velocity_mixing(reading: Reading, states: Sequence[Float[np.ndarray, "T+1 S"]]) -> Float[np.ndarray, "Q Q"]:
    """Which sum of velocities moves each coordinate: the identity, but where angles are absolute and velocities relative, or vice versa."""
    places, speeds = _columns(reading)
    moved = np.concatenate([np.diff(state[:, places], axis=0) for state in states]) / reading.dt
    mean = np.concatenate([(state[1:, speeds] + state[:-1, speeds]) / 2 for state in states])
    plain = np.median(np.abs(moved - mean), axis=0)
    found = np.linalg.lstsq(mean, moved, rcond=None)[0].T
    whole = np.round(found)
    better = np.median(np.abs(moved - mean @ whole.T), axis=0)
    apart = (np.abs(found - whole).max() < 0.25) and abs(abs(np.linalg.det(whole)) - 1) < 1e-6
    return whole if apart and np.any(better < 0.3 * plain) else np.eye(len(places))


def rank(steps: Steps, angles: Sequence[bool], wholes: Sequence[bool]) -> list[Regression]:
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
                for tried, score, regression in _assigned(table, steps.actions.shape[1], wholes):
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
    terms = [term for term in all_terms(topology, steps.actions.shape[1]) if term.kind != "friction"]
    for rule in ("start", "simpson"):
        yield tabulate(topology, steps, rule, terms)


def _assigned(table: Table, action_dim: int, wholes: Sequence[bool]) -> Iterator[tuple[int, float, Regression]]:
    """The best regression of few and of many terms where each actuator drives one joint; how many were tried, and a score.

    A score counts many terms as a little worse.
    """
    core = ("inertia", "coupling", "cross coupling", "pull", "cross pull", "damping")
    size = len(table.topology)
    for kinds, handicap in ((core, 1.0), ((*core, "rotor", "stiffness", "bias"), 1.5)):
        seen: dict[tuple[int, ...], Regression] = {}
        driven = tuple(max(size - action_dim + m, 0) for m in range(action_dim))
        for m in [*range(action_dim), *range(action_dim if action_dim > 1 else 0)]:
            for tried in ((*driven[:m], joint, *driven[m + 1 :]) for joint in range(size)):
                if tried not in seen:
                    seen[tried] = regress(table, [t for t in table.terms if _taken(t, kinds, tried, wholes)])
            driven = min(seen, key=lambda choice: seen[choice].error)
        if not action_dim:
            seen[()] = regress(table, [t for t in table.terms if t.kind in kinds])
        best = min(seen.values(), key=lambda regression: regression.error)
        yield len(seen), handicap * best.error, best


def _taken(term: Term, kinds: Sequence[str], driven: Sequence[int], wholes: Sequence[bool]) -> bool:
    if term.kind == "gain":
        return driven[term.other] == term.link
    # What counts as no action is not known of a whole number: where it acts, so does a constant.
    return term.kind in kinds or (term.kind == "bias" and any(whole and j == term.link for whole, j in zip(wholes, driven, strict=True)))


def _fit(
    reading: Reading,
    states: Sequence[np.ndarray],
    actions: Sequence[np.ndarray],
    usable: Sequence[np.ndarray] | None,
    steps: Steps,
    regression: Regression,
    mixing: np.ndarray,
) -> ChainFit:
    thinned = _thin(steps, regression)
    first = chain_of(thinned, mixing, _wholes(actions))
    stretches = cut(states, actions, 1, usable=usable, most=SETTLED_STRETCHES)
    trial = _Trial(reading, stretches, "rk4", 1)
    few = cut(states, actions, 1, usable=usable, most=SETTLED_STRETCHES // 2)
    best: tuple[float, int, _Trial, Chain] | None = None
    for integrator, substeps in _integrators(reading, steps):
        for chain in _dampings(first, integrator, reading.dt / substeps):
            trial = _Trial(reading, few, integrator, substeps)
            settled = trial.settle(chain, rounds=4)
            error, count = max(settled.error, ENOUGH), len(chain.values)
            # More sub-steps have to earn their place; of two ways that explain as much, the one with fewer constants is taken.
            if best is None or error < 0.9 * best[0] or (error < 1.05 * best[0] and count < best[1]):
                best = error, count, trial, trial.moved(chain, settled)
    assert best is not None
    _, _, trial, chain = best
    trial = replace(trial, stretches=stretches)
    error = trial.settle(chain).error
    if error > NOISY:
        trial = replace(trial, stretches=_longer(states, actions, usable, len(chain.values)) or stretches)
    chain, settled = _tie(*_add(*_drop(chain, trial)))
    if error > NOISY:
        trial = replace(trial, stretches=_longer(states, actions, usable, len(chain.values), MANY) or stretches)
        settled = trial.settle(chain)
        chain = trial.moved(chain, settled)
    stderr = {term: settled.stderr[name] for term, name in constant_names(chain, reading).items() if name in settled.stderr}
    final = replace(trial, stretches=stretches).settle(chain, rounds=0)
    rates = chain_rates(chain, reading, describe(chain, reading), stderr)
    return ChainFit(chain, rates, trial.integrator, trial.substeps, final.error, regression)


def _longer(
    states: Sequence[np.ndarray], actions: Sequence[np.ndarray], usable: Sequence[np.ndarray] | None, constants: int, most: int = 100
) -> Stretches | None:
    """Stretches of the most steps, up to `LONG`, of which there are enough for so many constants."""
    for horizon in range(LONG, 1, -1):
        stretches = cut(states, actions, horizon, usable=usable, most=most)
        if len(stretches.starts) >= min(5 * constants, most):
            return stretches
    return None


@dataclass(frozen=True)
class _Trial:
    """What a chain is held against: stretches under one integrator."""

    reading: Reading
    stretches: Stretches
    integrator: Integrator
    substeps: int

    def settle(self, chain: Chain, rounds: int = 12) -> Settled:
        draft = assemble(self.reading, chain_rates(chain, self.reading), integrator=self.integrator, substeps=self.substeps)
        return settle(draft.program, draft.free, self.stretches, rounds=rounds)

    def moved(self, chain: Chain, settled: Settled) -> Chain:
        names = constant_names(chain, self.reading)
        return chain.with_values({term: settled.values.get(names[term], value) for term, value in chain.values.items()})


def _thin(steps: Steps, regression: Regression) -> Regression:
    """The regression without the terms that it does not need, the least effective tried first."""
    table = tabulate(regression.topology, steps, regression.rule, list(regression.values))
    ceiling = 1.1 * regression.error + 1e-9
    needed: set[Term] = {term for term in regression.values if term.kind == "inertia"}
    while True:
        values = np.array(list(regression.values.values()))
        chosen = [table.terms.index(term) for term in regression.values]
        mass = np.linalg.inv(table.inertia[..., chosen] @ values)
        eased = np.einsum("nij,njp->nip", mass, table.columns[..., chosen] * values) / table.spread[:, None]
        effects = dict(zip(regression.values, np.sqrt(np.mean(eased**2, axis=(0, 1))).tolist(), strict=True))
        left = sorted((term for term in regression.values if term not in needed), key=lambda term: effects[term])
        if not left or effects[left[0]] > 100 * regression.error + 1e-4:
            return regression
        fewer = regress(table, [term for term in regression.values if term != left[0]])
        if fewer.error <= ceiling:
            regression = fewer
        else:
            needed.add(left[0])


def chain_of(regression: Regression, mixing: Float[np.ndarray, "Q Q"], wholes: Sequence[bool]) -> Chain:
    """The chain that a regression stands for: crossed terms become angles, and a bias of a whole-numbered action its centre."""
    values, topology = regression.values, regression.topology
    zeros, free = _zeros(topology, values)
    near = [round(zero / (np.pi / 2)) * np.pi / 2 if i in free else zero for i, zero in enumerate(zeros)]
    found: dict[Term, float] = {}
    for term, value in values.items():
        if term.kind in ("coupling", "cross coupling"):
            i, j = term.link, term.other
            amount = complex(values.get(Term("coupling", i, j), 0.0), values.get(Term("cross coupling", i, j), 0.0))
            found[Term("coupling", i, j)] = (amount * np.exp(1j * (zeros[i] - zeros[j]))).real
        elif term.kind in ("pull", "cross pull"):
            amount = complex(values.get(Term("pull", term.link), 0.0), values.get(Term("cross pull", term.link), 0.0))
            found[Term("pull", term.link)] = (amount * np.exp(1j * zeros[term.link])).real
        else:
            found[term] = value
    found |= {Term("zero", link): zeros[link] for link in free}
    centres = [0.0] * len(wholes)
    for term, gain in values.items():
        bias = Term("bias", term.link)
        if term.kind == "gain" and wholes[term.other] and bias in found:
            centre = -found[bias] / gain
            if abs(2 * centre - round(2 * centre)) < 0.1:
                centres[term.other] = round(2 * centre) / 2
                del found[bias]
    chain = Chain(topology, found, tuple(near), mixing, tuple(centres))
    return chain.with_values(chain.values)


def _zeros(topology: Topology, values: Mapping[Term, float]) -> tuple[list[float], list[int]]:
    """What to add to each link's angle so that crossed terms vanish: right angles where they do, and the links where they do not."""
    size, ground = len(topology), len(topology)
    edges: dict[tuple[int, int], complex] = {}
    for term, value in values.items():
        far = {"coupling": term.other, "cross coupling": term.other, "pull": ground, "cross pull": ground}.get(term.kind)
        if far is not None:
            edge = edges.get((term.link, far), 0j)
            edges[term.link, far] = edge + (value * 1j if term.kind.startswith("cross") else value)
    root = ground if any(far == ground for _, far in edges) else 0
    turned: dict[int, float] = {root: 0.0}
    free: list[int] = []
    rising = [ground, *range(size)]
    while True:
        reach = [
            (abs(amount), near, far)
            for (near, far), amount in edges.items()
            if (near in turned) != (far in turned) and abs(amount) > 0
        ]
        if not reach:
            missing = [i for i in rising if i not in turned]
            if not missing:
                break
            turned[missing[0]] = 0.0
            continue
        _, near, far = max(reach)
        phase = float(np.angle(edges[near, far]))  # of near minus far: adding angles of which the difference is its negative makes it real
        link, angle = (near, turned[far] - phase) if far in turned else (far, turned[near] + phase)
        angle = (angle + np.pi / 2) % np.pi - np.pi / 2
        right = round(angle / (np.pi / 2)) * np.pi / 2
        if abs(angle - right) > 1e-9 and (Term("cross coupling", near, far) in values and Term("coupling", near, far) in values) or (
            far == ground and Term("cross pull", near) in values and Term("pull", near) in values
        ):
            free.append(link)
            turned[link] = angle
        else:
            turned[link] = right if right > -np.pi / 4 else -right
    return [turned[i] for i in range(size)], free


def _dampings(chain: Chain, integrator: Integrator, dt: float) -> Iterator[Chain]:
    """The chain as it is and, where an Euler step may treat damping implicitly, with that in place of inertia at the joints."""
    yield chain
    damped = {term.link: value for term, value in chain.values.items() if term.kind == "damping"}
    if integrator != "semi-implicit" or not damped:
        return
    values = {term: value for term, value in chain.values.items() if term.kind != "rotor"}
    for link, value in damped.items():
        if chain.topology.parents[link] is None:
            values[Term("inertia", link)] -= dt * value
    if all(value > 0 for term, value in values.items() if term.kind == "inertia"):
        yield replace(chain, implicit=True).with_values(values)


def _drop(chain: Chain, trial: _Trial) -> tuple[Chain, Settled, _Trial]:
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
        if not doubtful:
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


def _add(chain: Chain, settled: Settled, trial: _Trial) -> tuple[Chain, Settled, _Trial]:
    """The chain with terms that explain part of what it leaves, one at a time, each tested at zero."""
    rejected: set[Term] = set()
    while settled.error > LEAST_EFFECT and len(rejected) < 4:
        absent = [t for t in _possible(chain, trial.stretches.actions.shape[-1]) if t not in chain.values and t not in rejected]
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
    return _drop(chain, trial)


def _possible(chain: Chain, action_dim: int) -> list[Term]:
    """Terms that may come in, and angles that may turn; of angles that only differences show, one stays."""
    terms = [t for t in all_terms(chain.topology, action_dim) if not t.kind.startswith("cross")]
    pulled = any(t.kind in ("pull", "gravity") for t in chain.values)
    links = range(len(chain.topology)) if pulled else range(1, len(chain.topology))
    return terms + [Term("zero", link) for link in links]


def _tie(chain: Chain, settled: Settled, trial: _Trial) -> tuple[Chain, Settled]:
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


def _integrators(reading: Reading, steps: Steps) -> list[tuple[Integrator, int]]:
    """Integrators and sub-steps worth a trial, by which mean of old and new speed moves the places."""
    moved = steps.next_places - steps.places - steps.dt * steps.next_speeds
    gained = steps.dt * (steps.speeds - steps.next_speeds)
    slopes = np.sum(moved * gained, axis=0) / np.maximum(np.sum(gained**2, axis=0), 1e-300)
    weight = float(np.median(slopes))
    found: list[tuple[Integrator, int]] = []
    if reading.integrator in ("explicit", "semi-implicit", "rk4"):
        found.append((reading.integrator, 1))
    if abs(weight - 0.5) > 0.02:
        euler: Integrator = "explicit" if weight > 0.5 else "semi-implicit"
        count = 1 / abs(2 * weight - 1)
        found += [(euler, k) for k in sorted({max(round(count), 1), max(int(count), 1), int(count) + 1})]
    if abs(weight - 0.5) < 0.1:
        found += [("rk4", k) for k in (1, 2, 4, 5)]
    return list(dict.fromkeys(found))


def _steps(
    reading: Reading,
    states: Sequence[np.ndarray],
    actions: Sequence[np.ndarray],
    usable: Sequence[np.ndarray] | None,
    mixing: Float[np.ndarray, "Q Q"],
) -> Steps:
    single = cut(states, actions, 1, usable=usable, most=RANKED_STEPS)
    places, speeds = _columns(reading)
    after = single.truths[:, 0]
    rates = (single.starts[:, speeds] @ mixing.T, after[:, speeds] @ mixing.T)
    return Steps(single.starts[:, places], rates[0], after[:, places], rates[1], single.actions[:, 0], reading.dt)


def _columns(reading: Reading) -> tuple[list[int], list[int]]:
    """Where the moving coordinates and their velocities stand in a state."""
    names = list(reading.state_names)
    moving = moving_coordinates(reading)
    return [names.index(c.name) for c in moving], [names.index(str(c.velocity)) for c in moving]


def _wholes(actions: Sequence[np.ndarray]) -> list[bool]:
    """Of each column of the action, whether it holds whole numbers only, as discrete actions do."""
    acted = np.concatenate(actions)
    return [bool(np.all(column == np.round(column))) for column in acted.T]
