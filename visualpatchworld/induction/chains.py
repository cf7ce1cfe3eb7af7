"""Chains from trajectories: topologies ranked by regression, constants
settled under an integrator, terms dropped, added and tied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.induction.chain import (
    Chain,
    Input,
    chain_of,
    constant_names,
    moving_coordinates,
    plain_inputs,
    table_inputs,
)
from visualpatchworld.induction.chain_terms import FINE, Trial, add, best_topologies, drop, fine, rank, thin, tie
from visualpatchworld.induction.chain_text import chain_rates, describe
from visualpatchworld.induction.clock import NO_LIMIT, Clock
from visualpatchworld.induction.draft import Stretches, cut
from visualpatchworld.induction.lagrange import Regression, Steps, Term, regress, tabulate
from visualpatchworld.induction.march import ENOUGH, roll_columns
from visualpatchworld.induction.motion import Rates, assemble
from visualpatchworld.induction.reading import Integrator, Reading

MOST_LINKS = 5
RANKED_WINDOWS = 300
SETTLED_STRETCHES = 200
HOPELESS = 0.3  # an error of the regression that no chain is behind
NOISY = 3e-3  # a one-step error above which stretches of several steps tell more
# Slower than this share of the typical speed is rest, and in more than this share of steps it is odd.
RESTING, OFTEN = 0.03, 0.1
NEAR = 0.06  # how far off a time step may have been read
WIDE = 5  # steps of a window of the regression where there is noise
CLEAN, BETTER = 1e-6, 0.3  # an error that events have no part in, and how much less is left where they had
# A step is an event that is missed by so many times what the quietest part of steps is missed by.
QUIET, EVENT = 0.25, 30.0
LONG, MANY = 8, 600  # steps of such a stretch, and how many stretches settle the constants in the end

Progress = Callable[[str], None]


@dataclass(frozen=True)
class ChainFit:
    """A chain that explains the steps, how it is integrated, and what it leaves."""

    chain: Chain
    rates: Rates
    integrator: Integrator
    substeps: int
    dt: float  # s, of one step: as it was read, or a short number near it
    error: float  # root mean square over one step, in units of each field's typical motion
    regression: Regression


@dataclass(frozen=True)
class _Data:
    """What a chain is looked for in."""

    reading: Reading
    states: Sequence[Float[np.ndarray, "T+1 S"]]
    actions: Sequence[Float[np.ndarray, "T A"]]
    usable: Sequence[Bool[np.ndarray, " T"]] | None
    mixing: Float[np.ndarray, "Q Q"]

    def stretches(self, horizon: int, most: int) -> Stretches:
        return cut(self.states, self.actions, horizon, usable=self.usable, most=most)

    def longer(self, constants: int, most: int) -> Stretches | None:
        """Stretches of the most steps, up to `LONG`, of which there are enough for so many constants."""
        for horizon in range(LONG, 1, -1):
            stretches = self.stretches(horizon, most)
            if len(stretches.starts) >= min(5 * constants, most):
                return stretches
        return None

    def steps(self, inputs: Sequence[Input], width: int = 1) -> Steps:
        """Steps in windows, with the rates of change of the coordinates and what the inputs make of the action."""
        cuts = self.stretches(width, RANKED_WINDOWS)
        cuts = cuts if len(cuts.starts) else self.stretches(1, RANKED_WINDOWS)
        places, speeds = _columns(self.reading)
        after = cuts.truths.reshape(-1, cuts.truths.shape[-1])
        before = np.concatenate([cuts.starts[:, None], cuts.truths[:, :-1]], axis=1).reshape(after.shape)
        acted = cuts.actions.reshape(len(after), -1)
        given = np.stack([each.of(acted) for each in inputs], axis=-1) if inputs else np.zeros((len(acted), 0))
        rates = (before[:, speeds] @ self.mixing.T, after[:, speeds] @ self.mixing.T)
        return Steps(
            before[:, places], rates[0], after[:, places], rates[1], given, self.reading.dt, self.mixing, width
        )


def propose_chains(
    reading: Reading,
    states: Sequence[Float[np.ndarray, "T+1 S"]],
    actions: Sequence[Float[np.ndarray, "T A"]],
    *,
    usable: Sequence[Bool[np.ndarray, " T"]] | None = None,
    progress: Progress = lambda _: None,
    clock: Clock = NO_LIMIT,
) -> list[Rates]:
    """Planar chains of slides and hinges that explain the steps,
    best first; empty where there is none to try by that time.
    """
    return [fit.rates for fit in fit_chains(reading, states, actions, usable=usable, progress=progress, clock=clock)]


def fit_chains(
    reading: Reading,
    states: Sequence[Float[np.ndarray, "T+1 S"]],
    actions: Sequence[Float[np.ndarray, "T A"]],
    *,
    usable: Sequence[Bool[np.ndarray, " T"]] | None = None,
    progress: Progress = lambda _: None,
    most: int = 2,
    clock: Clock = NO_LIMIT,
) -> list[ChainFit]:
    """As `propose_chains`, each with the integrator and the sub-steps that fit best.

    Where the best one leaves a minority of steps by far more than the others, those are events, and a search without
    them is tried.
    """
    fits = _fit_chains(reading, states, actions, usable, progress, most, clock)
    if not fits or fits[0].error < CLEAN or clock.over:
        return fits
    usual = _usual_steps(fits[0], reading, states, actions)
    usual = usual if usable is None else [a & b for a, b in zip(usual, usable, strict=True)]
    before = 1.0 if usable is None else float(np.mean(np.concatenate(usable)))
    if not 0.5 < float(np.mean(np.concatenate(usual))) / before < 0.98:
        return fits
    progress("chains without the steps that the best one misses")
    again = _fit_chains(reading, states, actions, usual, progress, most, clock)
    return again if again and again[0].error < BETTER * fits[0].error else fits


def _usual_steps(
    fit: ChainFit,
    reading: Reading,
    states: Sequence[Float[np.ndarray, "T+1 S"]],
    actions: Sequence[Float[np.ndarray, "T A"]],
) -> list[Bool[np.ndarray, " T"]]:
    """By trajectory, the steps that a chain misses no more than it misses most."""
    draft = assemble(replace(reading, dt=fit.dt), fit.rates, integrator=fit.integrator, substeps=fit.substeps)
    before, after = np.concatenate([s[:-1] for s in states]), np.concatenate([s[1:] for s in states])
    given = roll_columns(draft.program, Stretches(before, np.concatenate(actions)[:, None], after[:, None]), {})[:, 0]
    missed = np.where(np.isfinite(given), np.abs(given - after), np.inf)
    moved = np.std(after - before, axis=0)
    worst = np.max(missed[:, moved > 0] / moved[moved > 0], axis=1)
    usual = worst <= EVENT * np.quantile(worst, QUIET)
    return np.split(usual, np.cumsum([len(a) for a in actions])[:-1])


def _fit_chains(
    reading: Reading,
    states: Sequence[Float[np.ndarray, "T+1 S"]],
    actions: Sequence[Float[np.ndarray, "T A"]],
    usable: Sequence[Bool[np.ndarray, " T"]] | None,
    progress: Progress,
    most: int,
    clock: Clock,
) -> list[ChainFit]:
    coordinates = moving_coordinates(reading)
    if not 1 <= len(coordinates) <= MOST_LINKS:
        return []
    usable = _unstuck(reading, states, usable)
    data = _Data(reading, states, actions, usable, velocity_mixing(reading, states))
    if len(data.stretches(1, RANKED_WINDOWS).starts) < 10 * len(coordinates):
        return []
    progress(f"chains of {len(coordinates)} links")
    angles = [coordinate.angle for coordinate in coordinates]
    inputs, width = plain_inputs(actions), 1
    found = rank(data.steps(inputs), angles, inputs, clock=clock)
    # Where that is not it: an action may be a table, noise counts less over several steps, and a topology may be
    # unusual.
    for others, steps in ((table_inputs(actions), 1), (None, WIDE)):
        if found and found[0].score > FINE and (others is not None or steps == WIDE) and not clock.over:
            tried = rank(data.steps(others or inputs, steps), angles, others or inputs, clock=clock)
            if tried and tried[0].score < (0.5 if others else 1.0) * found[0].score:
                inputs, width, found = others or inputs, steps, tried
    if not fine(found) and not clock.over:
        progress("unusual chains")
        found = sorted(
            [*found, *rank(data.steps(inputs, width), angles, inputs, unusual=True, clock=clock)],
            key=lambda each: each.score,
        )
    ranking = best_topologies(found)
    if ranking and (step := _short_step(data.steps(inputs, width), ranking[0])) != reading.dt:
        reading = replace(reading, dt=step)
        data = replace(data, reading=reading)
        ranking = [_again(data.steps(inputs, width), regression) for regression in ranking]
    fits = []
    for regression in ranking[:most]:
        if regression.error < HOPELESS and (not fits or not clock.over):
            progress(f"chain: {regression.topology.text}")
            fits.append(_fit(data, inputs, regression, width, clock))
    return sorted(fits, key=lambda fit: fit.error)


def _unstuck(
    reading: Reading, states: Sequence[np.ndarray], usable: Sequence[np.ndarray] | None
) -> Sequence[Bool[np.ndarray, " T"]] | None:
    """The usable steps without those in which a coordinate rests,
    where it often does: something else holds it, a stop or a wall.
    """
    speeds = _columns(reading)[1]
    typical = np.std(np.concatenate([state[:, speeds] for state in states]), axis=0)
    resting = [np.abs(state[:, speeds]) < RESTING * typical for state in states]
    stuck = [rest[1:] & rest[:-1] for rest in resting]
    often = np.mean(np.concatenate(stuck), axis=0) > OFTEN
    if not often.any():
        return usable
    free = [~np.any(rest[:, often], axis=1) for rest in stuck]
    if np.mean(np.concatenate(free)) < OFTEN:
        return usable
    return free if usable is None else [a & b for a, b in zip(free, usable, strict=True)]


def velocity_mixing(reading: Reading, states: Sequence[Float[np.ndarray, "T+1 S"]]) -> Float[np.ndarray, "Q Q"]:
    """Which sum of velocities moves each coordinate: several where
    angles are absolute and velocities relative, or vice versa.
    """
    places, speeds = _columns(reading)
    scales = np.array([coordinate.velocity_scale for coordinate in moving_coordinates(reading)])
    moved = np.concatenate([np.diff(state[:, places], axis=0) for state in states]) / reading.dt
    mean = np.concatenate([(state[1:, speeds] + state[:-1, speeds]) / 2 for state in states])
    # A scale near one is one where that fits as well.
    plain, scaled = (np.median(np.abs(moved - mean * scale), axis=0) for scale in (np.ones(len(scales)), scales))
    scales = np.where(plain <= scaled, 1.0, scales)
    mean = mean * scales
    own = np.minimum(plain, scaled)
    found = np.linalg.lstsq(mean, moved, rcond=None)[0].T
    whole = np.round(found)
    summed = np.median(np.abs(moved - mean @ whole.T), axis=0)
    regular = np.abs(found - whole).max() < 0.25 and abs(abs(np.linalg.det(whole)) - 1) < 1e-6
    return (whole if regular and np.any(summed < 0.3 * own) else np.eye(len(places))) * scales


def _fit(data: _Data, inputs: Sequence[Input], regression: Regression, width: int, clock: Clock) -> ChainFit:
    steps, reading = data.steps(inputs), data.reading
    first = chain_of(thin(data.steps(inputs, width), regression), data.mixing, inputs)
    stretches, few = data.stretches(1, SETTLED_STRETCHES), data.stretches(1, SETTLED_STRETCHES // 2)
    ways = _integrators(reading, steps)
    trial, chain = _integrated(Trial(reading, few, *ways[0], clock), first, ways)
    trial = replace(trial, stretches=stretches)
    error = trial.settle(chain).error
    if error > NOISY:
        trial = replace(trial, stretches=data.longer(len(chain.values), SETTLED_STRETCHES // 2) or stretches)
    chain, settled = tie(*add(*drop(chain, trial)))
    again, _ = _integrated(trial, chain, ways)
    # What was missing or too much hid the better one.
    if (again.integrator, again.substeps) != (trial.integrator, trial.substeps):
        trial = again
        chain, settled = tie(*add(*drop(chain, trial)))
    if error > NOISY:
        trial = replace(trial, stretches=data.longer(len(chain.values), MANY) or stretches)
        settled = trial.settle(chain)
        chain = trial.moved(chain, settled)
    stderr = {
        term: settled.stderr[name] for term, name in constant_names(chain, reading).items() if name in settled.stderr
    }
    final = replace(trial, stretches=stretches).settle(chain, rounds=0)
    rates = chain_rates(chain, reading, describe(chain, reading), stderr)
    rates = replace(rates, timing=(trial.integrator, trial.substeps, reading.dt))
    return ChainFit(chain, rates, trial.integrator, trial.substeps, reading.dt, final.error, regression)


def _integrated(trial: Trial, chain: Chain, ways: Sequence[tuple[Integrator, int]]) -> tuple[Trial, Chain]:
    """The integrator and the sub-steps under which the chain explains most, and the chain settled under them."""
    first = trial.settle(chain, rounds=4)
    best = max(first.error, ENOUGH), len(chain.values), trial, trial.moved(chain, first)
    for integrator, substeps in ways if not trial.clock.over else ():
        for each in _dampings(chain, integrator, trial.reading.dt / substeps):
            tried = replace(trial, integrator=integrator, substeps=substeps)
            if each is chain and (integrator, substeps) == (trial.integrator, trial.substeps):
                continue
            settled = tried.settle(each, rounds=4)
            error, count = max(settled.error, ENOUGH), len(each.values)
            # Another way has to earn its place; of two that explain as much, the one with fewer constants is taken.
            if error < 0.9 * best[0] or (error < 1.05 * best[0] and count < best[1]):
                best = error, count, tried, tried.moved(each, settled)
    return best[2], best[3]


def _short_step(steps: Steps, regression: Regression) -> float:
    """The time step, as it was read or as a short number near it, under which the regression leaves least."""
    short = [float(f"{steps.dt:.{digits}g}") for digits in (1, 2, 3)]
    near = [step for step in short if 0 < abs(step / steps.dt - 1) < NEAR]
    errors = {step: _again(steps._replace(dt=step), regression).error for step in near}
    best = min(errors, key=lambda step: errors[step], default=steps.dt)
    return best if errors.get(best, np.inf) < 0.8 * _again(steps, regression).error else steps.dt


def _again(steps: Steps, regression: Regression) -> Regression:
    terms = list(regression.values)
    return regress(tabulate(regression.topology, steps, regression.rule, terms), terms, regression.values)


def _dampings(chain: Chain, integrator: Integrator, dt: float) -> Iterator[Chain]:
    """The chain as it is and, where an Euler step may treat damping
    implicitly, with that in place of inertia at the joints.
    """
    yield chain
    damped = {term.link: value for term, value in chain.values.items() if term.kind == "damping"}
    if integrator != "semi-implicit" or not damped or chain.implicit:
        return
    values = {term: value for term, value in chain.values.items() if term.kind != "rotor"}
    for link, value in damped.items():
        if chain.topology.parents[link] is None:
            values[Term("inertia", link)] -= dt * value
    if all(value > 0 for term, value in values.items() if term.kind == "inertia"):
        yield replace(chain, implicit=True).with_values(values)


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
        found.extend((euler, k) for k in sorted({max(round(count), 1), max(int(count), 1), int(count) + 1}))
    if abs(weight - 0.5) < 0.1:
        found.extend(("rk4", k) for k in (1, 2, 4, 5))
    return list(dict.fromkeys(found))


def _columns(reading: Reading) -> tuple[list[int], list[int]]:
    """Where the moving coordinates and their velocities stand in a state."""
    names = list(reading.state_names)
    moving = moving_coordinates(reading)
    return [names.index(c.name) for c in moving], [names.index(str(c.velocity)) for c in moving]
