"""The long look: terms too weak to show in a step add up over
many, so long rollouts from starts that are unknowns choose them.

For logs of real machines: a loss of a thousandth per step, a zero that is slightly off, an input between two samples.
All candidate terms stand in one program whose factors are zero until a term is taken, so that it is compiled once; a
term is taken while windows that were not fitted to are explained better with it, and left out again where they are
explained as well without.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.induction.choice import Choice
from visualpatchworld.induction.clock import NO_LIMIT, Clock
from visualpatchworld.induction.draft import Draft
from visualpatchworld.induction.inputs import Delay, drives
from visualpatchworld.induction.library import library
from visualpatchworld.induction.motion import Rates, assemble
from visualpatchworld.induction.reading import Coordinate, Integrator, Reading
from visualpatchworld.induction.sums import Response, angle_columns, rates_of, samples_for
from visualpatchworld.induction.terms import Term, rows_of, samples_in_windows
from visualpatchworld.program.rollout import rollout
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace

# Steps of the windows, one after another: a law that holds over short ones is a start for longer ones.
LENGTHS = (50, 250, 1000)
MOST_ROWS = 24_000  # in all windows together
MOST_CANDIDATES = 40
FINE = 0.05  # of a field's spread: rows closer together than this say the same twice
HELD_OUT_EVERY = 3
FIRST_TERMS = 4
ENOUGH = 0.05  # of the response that a first regression may leave
WORTH = 0.97  # of what windows leave that were not fitted to: no term is taken or kept for less
TURNS = 0.8  # rad: a range in which a sine can be distinguished from a straight line
POOL = 8
SECONDS_TO_COMPILE = 2.0  # which a further length of windows takes at least
SINGLES = 3  # candidates that are tried alone
PAIRED = 4  # candidates that are tried two by two


@dataclass(frozen=True)
class LongLook:
    """The law that long rollouts ask for, and what they leave."""

    draft: Draft
    rates: Rates
    reading: Reading  # with the time between rows of the log, and the integrator that was taken
    steps: int  # of a window
    stride: int  # rows of the log in a step
    # By field: root mean square over windows that were not fitted to, their starts taken as unknowns.
    left: dict[str, float]
    history: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class _Windows:
    first: Float[np.ndarray, "N S"]
    actions: Float[np.ndarray, "N H A"]
    seen: Float[np.ndarray, "N H+1 S"]
    held: Bool[np.ndarray, " N"]


@dataclass(frozen=True)
class _Fit:
    factors: Float[np.ndarray, " P"]  # in units of each candidate
    taken: tuple[int, ...]
    starts: Float[np.ndarray, "N S"]
    left: Float[np.ndarray, " S"]  # of held-out windows
    by_window: Float[np.ndarray, " N"]  # the logarithm of the same, over all fields
    gains: Float[np.ndarray, " P"]  # what taking a candidate promises
    spread: Float[np.ndarray, " P"]

    @property
    def score(self) -> float:
        return float(np.exp(np.mean(np.log(self.left + 1e-300))))

    def serves(self, other: _Fit) -> bool:
        """Whether held-out windows are explained better than by the other fit, and most of them, not a few."""
        gained = other.by_window - self.by_window
        return self.score < WORTH * other.score and float(np.mean(gained)) > float(np.std(gained)) / np.sqrt(
            len(gained)
        )


def long_look(
    reading: Reading,
    trajectories: Sequence[Trajectory],
    space: ActionSpace,
    *,
    integrator: Integrator | None = None,
    clock: Clock = NO_LIMIT,
    progress: Callable[[str], None] = lambda text: None,
) -> LongLook | None:
    """The sum of terms that explains long windows of these trajectories; None where there is none to begin with."""
    states = [reading.states(t) for t in trajectories]
    actions = [t.actions for t in trajectories]
    if reading.hidden:
        states, actions = [s[1:-1] for s in states], [a[1:-1] for a in actions]
    if integrator is None:
        integrator = reading.integrator if reading.integrator in ("explicit", "semi-implicit", "none") else "rk4"
    # Only rates of a continuous time stay what they are when the step grows, and only if nothing is done within it.
    stride = _stride(states) if integrator == "rk4" and not len(space) else 1
    as_logged = replace(reading, integrator=integrator)
    reading = replace(as_logged, dt=reading.dt * stride)
    states = [s[::stride] for s in states]
    actions = [a[::stride][: len(s) - 1] for a, s in zip(actions, states, strict=True)]
    candidates = _candidates(reading, states, actions, space)
    if not candidates or len(candidates) > MOST_CANDIDATES:
        return None
    units, first = _first_terms(reading, states, actions, candidates)
    # Over a range that was seen once, sines and powers mend each other's misfit: only the kind that a first look asks
    # for stays.
    waves = {own.name for own, term in (candidates[k] for k in first[1]) if _is_wave(term)}
    candidates = [
        (own, term) for own, term in candidates if not (_is_power(own, term) if own.name in waves else _is_wave(term))
    ]
    units, first = _first_terms(reading, states, actions, candidates)
    seen = np.array([name not in reading.hidden for name in reading.state_names])
    longest = max(len(a) for a in actions)
    fit, history, length = None, [], 0
    factors, taken = first
    for length in sorted({min(length, longest) for length in LENGTHS}):
        windows = _cut(states, actions, length)
        if windows.held.all() or not windows.held.any():
            break
        look = _Look(reading, candidates, units, windows, seen, clock)
        trial = look.fit(factors, taken, windows.first)
        if trial is None:
            break
        fit = trial
        while not clock.over:
            fuller = look.fuller(fit)
            if fuller is None:
                break
            fit = fuller
            progress(f"{length} steps, {fit.score:.3g} left: {', '.join(candidates[k][1].code for k in fit.taken)}")
        while not clock.over:
            leaner = look.leaner(fit)
            if leaner is None:
                break
            fit = leaner
        factors, taken = fit.factors, fit.taken
        history.append(f"{length} steps: {', '.join(candidates[k][1].code for k in taken)} leave {fit.score:.3g}")
        progress(history[-1])
        if clock.left < SECONDS_TO_COMPILE:
            break
    if fit is None:
        return None
    rates = _rates_with_errors(as_logged, candidates, fit.factors * units, fit.spread * units, fit.taken, len(space))
    left = {
        name: float(value)
        for name, value, shown in zip(reading.state_names, _full(fit.left, seen), seen, strict=True)
        if shown
    }
    return LongLook(assemble(as_logged, rates), rates, as_logged, length, stride, left, tuple(history))


def _stride(states: Sequence[Float[np.ndarray, "T+1 S"]]) -> int:
    """So many rows make one step that fields move a fair part of their spread in it."""
    spread = np.std(np.concatenate(states), axis=0)
    stride = 1
    while min(len(s) for s in states) // (2 * stride) >= 50:
        moved = np.std(np.concatenate([s[2 * stride :] - s[: -2 * stride] for s in states]), axis=0)
        if (moved > FINE * spread).any():
            break
        stride *= 2
    return stride


def _candidates(reading: Reading, states, actions, space: ActionSpace) -> list[tuple[Coordinate, Term]]:
    rows = rows_of(reading.state_names, states, actions, angle_columns(reading))
    found = []
    for own in reading.coordinates:
        place = rows.before[:, rows.names.index(own.name)]
        turns = own.angle or np.ptp(place) > TURNS
        terms = list(library(reading, own, rows, drives(space, Delay(0, len(space))), []).levels[0])
        if own.velocity and not turns:
            terms.append(
                Term(
                    f"state.{own.name} ** 2 * state.{own.velocity}",
                    "viscous",
                    "DRAG_BEND",
                    1.4,
                    (own.velocity, own.name),
                )
            )
        found += [(own, term) for term in terms if turns or not _is_wave(term)]
    return found


def _is_wave(term: Term) -> bool:
    return "np.sin" in term.code or "np.cos" in term.code


def _is_power(own: Coordinate, term: Term) -> bool:
    return bool(re.match(rf"state\.{own.name}\b", term.code))


def _first_terms(reading: Reading, states, actions, candidates):
    """What a factor of each candidate is measured in, and the few
    terms that a regression over short windows takes first.
    """
    rows = rows_of(reading.state_names, states, actions, angle_columns(reading))
    samples = samples_in_windows(
        samples_for(reading, rows, reading.integrator == "rk4"), rows, np.ones(len(rows.before), bool), POOL
    )
    factors, taken = np.zeros(len(candidates)), []
    units = np.ones(len(candidates))
    for own in reading.coordinates:
        name = own.velocity or own.name
        k = rows.names.index(name)
        target = samples.pooled((rows.after[:, k] - rows.before[:, k]) / reading.dt)
        mine = [i for i, (c, _) in enumerate(candidates) if c is own]
        if not mine:
            continue
        columns = np.stack([samples.column(candidates[i][1]) for i in mine], axis=-1)
        size = np.sqrt(np.mean(columns**2, axis=0)) + 1e-300
        units[mine] = np.std(target) / size
        picked: list[int] = []
        solved = np.zeros(0)
        while len(picked) < min(FIRST_TERMS, len(mine)):
            options = {
                j: np.linalg.lstsq(columns[:, [*picked, j]], target, rcond=None)
                for j in range(len(mine))
                if j not in picked
            }
            errors = {
                j: float(np.mean((columns[:, [*picked, j]] @ option[0] - target) ** 2)) for j, option in options.items()
            }
            best = min(errors, key=lambda j: errors[j])
            picked.append(best)
            solved = options[best][0]
            if errors[best] < ENOUGH**2 * np.var(target):
                break
        for j, value in zip(picked, solved, strict=True):
            factors[mine[j]] = value / units[mine[j]]
            taken.append(mine[j])
    return units, (factors, tuple(taken))


def _cut(states, actions, length: int) -> _Windows:
    places = [(i, t) for i, a in enumerate(actions) for t in range(0, len(a) - length + 1, length)]
    most = max(HELD_OUT_EVERY, MOST_ROWS // length)
    places = [places[k] for k in np.unique(np.linspace(0, len(places) - 1, min(most, len(places))).astype(int))]
    held = np.arange(len(places)) % HELD_OUT_EVERY == HELD_OUT_EVERY - 1
    seen = np.array([states[i][t : t + length + 1] for i, t in places])
    return _Windows(seen[:, 0], np.array([actions[i][t : t + length] for i, t in places]), seen, held)


class _Look:
    """One length of windows: the program with all candidates, compiled once, and fits with some of them taken."""

    def __init__(self, reading: Reading, candidates, units, windows: _Windows, seen, clock: Clock):
        self.windows, self.seen, self.units, self.clock = windows, seen, units, clock
        everything = _rates(reading, candidates, np.ones(len(candidates)), range(len(candidates)))
        draft = assemble(reading, everything)
        names = draft.free
        self.size = np.maximum(np.std(windows.seen, axis=(0, 1)), 1e-12)
        acted = jnp.asarray(windows.actions)

        def run(factors, starts):
            dynamics = draft.program.bind("jax", dict(zip(names, factors * units, strict=True)))
            after = jax.vmap(lambda start, action: rollout(dynamics, start, action))(starts, acted)
            return jnp.concatenate([starts[:, None], after], axis=1)

        def slopes(factors, starts):
            def along(side):
                return jax.jvp(lambda begin: run(factors, begin), (starts,), (jnp.broadcast_to(side, starts.shape),))[1]

            sides = jnp.eye(starts.shape[1]) * jnp.asarray(self.size)
            return jax.jacfwd(run)(factors, starts), jax.vmap(along, out_axes=-1)(sides)

        self._run, self._slopes = jax.jit(run), jax.jit(slopes)

    def fit(self, factors, taken: Sequence[int], starts, rounds: int = 25) -> _Fit | None:
        """Factors of the taken candidates and all starts, by damped least
        squares; held-out windows move nothing but their own starts.
        """
        taken, windows = tuple(taken), self.windows
        mask = np.isin(np.arange(len(self.units)), taken)
        factors, starts, damping = np.where(mask, factors, 0.0), np.array(starts), 1e-4
        learn = ~windows.held
        with jax.enable_x64(True):
            left = self._left(factors, starts)
            if not np.isfinite(left).all():
                return None
            level = self._level(left, learn)
            spread = np.zeros(len(factors))
            gains = np.zeros(len(factors))
            for turn in range(rounds):
                if turn and self.clock.over:
                    break
                by_factor, by_start = (np.nan_to_num(np.asarray(part)) for part in self._slopes(factors, starts))
                jf, js = by_factor[:, :, self.seen] / level[:, None], by_start[:, :, self.seen] / level[:, None]
                r = left / level
                ss, sf = np.einsum("nhsi,nhsj->nij", js, js), np.einsum("nhsi,nhsp->nip", js, jf)
                gs = np.einsum("nhsi,nhs->ni", js, r)
                if not all(np.isfinite(part).all() for part in (ss, sf, gs)):
                    return None  # it ran away
                # A window in which the start has no effect moves no start.
                ridge = np.maximum(1e-9 * np.einsum("nii->n", ss), 1e-300)
                ss = ss + ridge[:, None, None] * np.eye(ss.shape[1])
                solved = np.linalg.solve(ss, np.concatenate([sf, gs[..., None]], axis=-1))
                normal = np.einsum("nhsp,nhsq->pq", jf[learn], jf[learn]) - np.einsum(
                    "nip,niq->pq", sf[learn], solved[learn][..., :-1]
                )
                slope = np.einsum("nhsp,nhs->p", jf[learn], r[learn]) - np.einsum(
                    "nip,ni->p", sf[learn], solved[learn][..., -1]
                )
                cost, improved, gain = np.sum(r**2), False, 0.0
                for _ in range(8):
                    inner = normal[np.ix_(mask, mask)]
                    step = np.zeros(len(factors))
                    step[mask] = -np.linalg.lstsq(inner + damping * np.diag(np.diag(inner)), slope[mask], rcond=1e-12)[
                        0
                    ]
                    moved = (solved[..., -1] + solved[..., :-1] @ step) * self.size
                    then = self._left(factors + step, starts - moved)
                    if np.isfinite(then).all() and np.sum((then / level) ** 2) < cost:
                        gain = 1 - np.sum((then / level) ** 2) / cost
                        factors, starts, left, improved, damping = (
                            factors + step,
                            starts - moved,
                            then,
                            True,
                            max(damping / 5, 1e-9),
                        )
                        break
                    damping *= 8
                if not improved or gain < 1e-4:
                    break
            # What a further candidate would explain, were everything linear.
            inner = np.linalg.pinv(normal[np.ix_(mask, mask)])
            cross = normal[:, mask]
            rest = np.diag(normal) - np.einsum("pi,ij,pj->p", cross, inner, cross)
            pull = slope - cross @ (inner @ slope[mask])
            gains = np.where(mask | (rest <= 1e-9 * np.diag(normal)), 0.0, pull**2 / np.maximum(rest, 1e-300))
            spread[mask] = np.sqrt(np.maximum(np.diag(inner), 0))
        by_window = np.mean(np.log(np.sqrt(np.mean(left[windows.held] ** 2, axis=1)) + 1e-300), axis=-1)
        return _Fit(factors, taken, starts, self._level(left, windows.held), by_window, gains, spread)

    def fuller(self, fit: _Fit) -> _Fit | None:
        """The fit with one further candidate of those that promise most,
        or with two where only both together serve held-out windows.
        """
        promising = [int(k) for k in np.argsort(fit.gains)[::-1] if fit.gains[k] > 0]
        for options in ([(k,) for k in promising[:SINGLES]], list(itertools.combinations(promising[:PAIRED], 2))):
            trials = [
                self.fit(fit.factors, (*fit.taken, *option), fit.starts) for option in options if not self.clock.over
            ]
            serving = [trial for trial in trials if trial is not None and trial.serves(fit)]
            if serving:
                return min(serving, key=lambda trial: trial.score)
        return None

    def leaner(self, fit: _Fit) -> _Fit | None:
        """The fit without a term that held-out windows do not miss."""
        weakest = sorted(fit.taken, key=lambda k: abs(fit.factors[k]) / max(fit.spread[k], 1e-300))
        for k in weakest[:-1]:
            if self.clock.over:
                break
            trial = self.fit(fit.factors, [j for j in fit.taken if j != k], fit.starts)
            if trial is not None and not fit.serves(trial):
                return trial
        return None

    def _left(self, factors, starts) -> np.ndarray:
        return (np.asarray(self._run(factors, starts)) - self.windows.seen)[:, :, self.seen]

    def _level(self, left: np.ndarray, which) -> np.ndarray:
        return np.maximum(np.sqrt(np.mean(left[which] ** 2, axis=(0, 1))), 1e-9 * self.size[self.seen])


def _full(left: np.ndarray, seen: np.ndarray) -> np.ndarray:
    values = np.full(len(seen), np.nan)
    values[seen] = left
    return values


def _rates(reading: Reading, candidates, factors, taken: Sequence[int], columns: int = 1) -> Rates:
    wanted, choices = [], []
    for own in reading.coordinates:
        mine = [k for k in taken if candidates[k][0] is own]
        terms = tuple(candidates[k][1] for k in mine)
        wanted.append(Response(own.velocity or own.name, own, np.zeros(0), 0.0, 1.0))
        choices.append(Choice(terms, tuple(float(factors[k]) for k in mine), 0.0, 0.0, 0.0, False, np.zeros(0, bool)))
    return rates_of(reading, wanted, choices, Delay(0, columns))


def _rates_with_errors(reading: Reading, candidates, factors, spread, taken, columns: int) -> Rates:
    rates = _rates(reading, candidates, factors, taken, columns)
    order = [k for own in reading.coordinates for k in taken if candidates[k][0] is own]
    numbers = tuple(replace(n, stderr=float(spread[k])) for n, k in zip(rates.numbers, order, strict=True))
    return replace(rates, numbers=numbers)
