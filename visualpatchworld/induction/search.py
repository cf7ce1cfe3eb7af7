"""The search for a law of motion: fields, sums, chains, integrator, limits; and what held-out episodes say of each."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.errors import VpwError
from visualpatchworld.induction.draft import Draft, Stretches, cut, normalised_errors
from visualpatchworld.induction.events import noise_left, usual_rows
from visualpatchworld.induction.fields import read_fields
from visualpatchworld.induction.inputs import MOST_DELAY, Delay, drives, find_delay
from visualpatchworld.induction.library import library
from visualpatchworld.induction.limits import Unexplained, find_limits, unexplained
from visualpatchworld.induction.march import marches, polish, predicted
from visualpatchworld.induction.motion import Limit, Rates, assemble
from visualpatchworld.induction.noise import robust_spread, roundings
from visualpatchworld.induction.reading import Coordinate, Integrator, Reading
from visualpatchworld.induction.shooting import refine_noisy
from visualpatchworld.induction.stepwise import Choice
from visualpatchworld.induction.sums import Response, angle_columns, pooled, rates_of, responses, samples_for, snapped, sums_of
from visualpatchworld.induction.terms import Rows, Samples, rows_of, samples_in_windows
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace

Verdict = Literal["explained", "valid-inside", "ambiguous", "unexplained"]
Chains = Callable[..., list[Rates]]
HORIZON = 25
GOOD = 1e-3  # of the spread of motion, over the horizon
FAIR = 0.05
LEAST_ROWS_PER_TERM = 5
FEW = 300  # steps that integrators are told apart by
POOLS = (8, 24, 48)  # steps that are looked at together where observations are noisy; more while a law does not reach the noise
CONSISTENT = 1.5  # times the error that noise alone makes
WINDOW = 20  # steps of a window of multiple shooting
MOST_SHOTS = 60
SHORT = 5  # steps of the stretches that constants are refined on


class NoData(VpwError):
    """Too little was recorded to search for a law."""


@dataclass(frozen=True)
class Evidence:
    """A rival and what held-out stretches say of it."""

    draft: Draft
    integrator: Integrator
    substeps: int
    limits: tuple[Limit, ...]
    error: float  # median normalised error over the horizon
    error_p90: float
    one_step: float  # median normalised error of one step
    constants: int
    source: str  # sums, chain, ...
    reading: Reading  # with the time step and integrator that were taken


@dataclass(frozen=True)
class Found:
    """The law that was found, its rivals, and how far it can be trusted."""

    reading: Reading
    draft: Draft
    evidence: tuple[Evidence, ...]  # the best first
    verdict: Verdict
    why: str
    memory: Delay
    noise: Float[np.ndarray, " S"]
    horizon: int
    seconds: float


@dataclass(frozen=True)
class _Data:
    """Trajectories as states: those to learn from and those held out."""

    names: tuple[str, ...]
    states: list[Float[np.ndarray, "T+1 S"]]
    actions: list[Float[np.ndarray, "T A"]]
    held_states: list[Float[np.ndarray, "T+1 S"]]
    held_actions: list[Float[np.ndarray, "T A"]]
    rows: Rows
    noise: Float[np.ndarray, " S"]
    rounding: Float[np.ndarray, " S"]  # the part of noise that comes from how numbers are stored
    seen: Bool[np.ndarray, " S"]  # which fields are observed at all
    noisy: bool  # whether observations are off by more than rounding


def search_dynamics(
    trajectories: Sequence[Trajectory],
    action_space: ActionSpace,
    *,
    reading: Reading | None = None,
    names: Sequence[str] | None = None,
    dt: float | None = None,
    chains: Chains | None = None,
    progress: Callable[[str], None] | None = None,
    seconds: float = 40.0,
) -> Found:
    """The law of motion of these trajectories, with the evidence; always one, and the verdict says what it is worth."""
    began = time.monotonic()
    say = progress or (lambda text: None)
    usable = [t for t in trajectories if len(t) >= 2]
    if not usable or sum(len(t) for t in usable) < 12:
        raise NoData(f"There are {sum(len(t) for t in usable)} steps in all; a search for a law needs at least 12.")
    reading = reading or read_fields(usable, action_space, names, dt)
    if not reading.coordinates:
        raise NoData(
            "No field evolves in a way that could be predicted: " + "; ".join(f"{f.name}: {f.evidence}" for f in reading.fields) + "."
        )
    evidence: list[Evidence] = []
    memory = Delay(0, len(action_space))
    data = _data(reading, usable, memory)
    horizon = _horizon(data)

    def left() -> float:
        return seconds - (time.monotonic() - began)

    best_reading, best_data = reading, data
    for version in _versions(reading):
        data = _data(version, usable, memory)
        say("sums of terms")
        tried, memory_now, data = _sums(version, usable, data, action_space, horizon, say, left)
        if not evidence or (tried and tried[0].error < evidence[0].error):
            best_reading, best_data, memory = version, data, memory_now
        evidence = _ranked([*evidence, *tried])
        if (evidence and evidence[0].error < GOOD) or left() < seconds / 4:
            break
    reading, data = best_reading, best_data
    exact = bool(evidence) and evidence[0].error < GOOD / 10 and not evidence[0].draft.empirical
    if chains is not None and not exact and left() > 0:
        say("chains of slides and hinges")
        evidence = _ranked([*evidence, *_chains(chains, reading, data, horizon, left)])
    if not evidence:
        raise NoData("No law could be tried in the time given.")
    best = evidence[0]
    verdict, why = _verdict(evidence, reading, data, horizon)
    return Found(best.reading, best.draft, tuple(evidence), verdict, why, memory, data.noise, horizon, time.monotonic() - began)


def _versions(reading: Reading) -> list[Reading]:
    """Readings to try: hidden velocities may belong to either integrator."""
    if reading.hidden and reading.integrator in ("none", "unknown"):
        return [replace(reading, integrator="semi-implicit"), replace(reading, integrator="explicit")]
    return [reading]


def _data(reading: Reading, trajectories: Sequence[Trajectory], memory: Delay) -> _Data:
    states = [np.concatenate([reading.states(t), memory.remembered(t.actions)], axis=1) for t in trajectories]
    actions = [t.actions for t in trajectories]
    skip = int(bool(reading.hidden)) + memory.steps
    states, actions = [s[skip:] for s in states], [a[skip:] for a in actions]
    if reading.hidden and reading.integrator == "explicit":
        states, actions = [s[:-1] for s in states], [a[:-1] for a in actions]
    long = [i for i, a in enumerate(actions) if len(a) >= 1]
    states, actions = [states[i] for i in long], [actions[i] for i in long]
    names = (*reading.state_names, *memory.names)
    if len(states) >= 4:
        held = [i for i in range(len(states)) if i % 4 == 3]
        kept = [i for i in range(len(states)) if i % 4 != 3]
        train = [states[i] for i in kept], [actions[i] for i in kept]
        test = [states[i] for i in held], [actions[i] for i in held]
    else:
        marks = [len(a) * 3 // 4 for a in actions]
        train = [s[: m + 1] for s, m in zip(states, marks, strict=True)], [a[:m] for a, m in zip(actions, marks, strict=True)]
        test = [s[m:] for s, m in zip(states, marks, strict=True)], [a[m:] for a, m in zip(actions, marks, strict=True)]
    column = roundings(trajectories)
    noise = [float(np.linalg.norm(column[list(c.columns)])) for c in reading.coordinates]
    for c in reading.coordinates:
        if c.velocity is not None:
            noise.append(
                float(column[c.velocity_column])
                if c.velocity_column is not None
                else float(np.linalg.norm(column[list(c.columns)])) * np.sqrt(2) / reading.dt
            )
    noise += [float(column[c]) for _, c in reading.parameters] + [0.0] * len(memory.names)
    rows = rows_of(names, *train, angle_columns(reading))
    level, stored = np.array(noise), np.array(noise)
    seen = np.array([name not in reading.hidden for name in names])
    noisy = False
    for response in responses(reading, rows, level) if len(rows.before) > 60 else []:
        if response.noisy:
            noisy = True
            k = names.index(response.field)
            level[k] = max(level[k], response.noisy * reading.dt / np.sqrt(2))
    if noisy:
        for c in reading.coordinates:
            if c.velocity is not None:
                level[names.index(c.name)] = max(level[names.index(c.name)], _place_noise(reading, c, rows, level))
    return _Data(names, *train, *test, rows, level, stored, seen, noisy)


def _place_noise(reading: Reading, c: Coordinate, rows: Rows, level) -> float:
    """Noise of a coordinate from how far it is from moving by its velocity."""
    i, j = rows.names.index(c.name), rows.names.index(c.velocity or "")
    weight = 0.5 if reading.weight is None else reading.weight
    moved = rows.after[:, i] - rows.before[:, i]
    speed = weight * rows.before[:, j] + (1 - weight) * rows.after[:, j]
    left = robust_spread(moved - reading.dt * c.velocity_scale * speed)
    if c.velocity_column is None:
        return level[j] * reading.dt / np.sqrt(2)
    own = left**2 - (reading.dt * level[j]) ** 2 * (weight**2 + (1 - weight) ** 2)
    return float(np.sqrt(max(own, 0.0) / 2))


def _horizon(data: _Data) -> int:
    longest = sorted((len(a) for a in data.held_actions), reverse=True)
    return max(1, min(HORIZON, longest[len(longest) // 2]))


def _sums(reading: Reading, trajectories, data: _Data, space: ActionSpace, horizon: int, say, left) -> tuple[list[Evidence], Delay, _Data]:
    memory = Delay(0, len(space))
    along = reading.integrator not in ("explicit", "semi-implicit", "none")
    wanted, choices = _choices(reading, data, space, memory, along)
    if not all(options[0].exact for options in choices) and not along:
        late = _late(reading, trajectories, data, wanted, choices, space)
        if late:
            say(f"actions act {late} steps late")
            trial_memory = Delay(late, len(space))
            trial_data = _data(reading, trajectories, trial_memory)
            trial_wanted, trial_choices = _choices(reading, trial_data, space, trial_memory, along)
            if sum(np.log(o[0].part + 1e-9) for o in trial_choices) < sum(np.log(o[0].part + 1e-9) for o in choices):
                memory, data, wanted, choices = trial_memory, trial_data, trial_wanted, trial_choices
    if not data.noisy and any(response.noisy for response in wanted):
        data = _with_noise(reading, data, wanted, POOLS[0])
    evidence = []
    samples = samples_for(reading, data.rows, along)
    best = [options[0] for options in choices]
    if not data.noisy:
        best = [snapped(choice, response.target, samples, response.floor) for choice, response in zip(best, wanted, strict=True)]
    empirical = not all(choice.exact for choice in best)
    rates = rates_of(reading, wanted, best, memory, empirical=empirical and not along)
    evidence += _tried(reading, data, rates, horizon, "sums", left, exact=not empirical)
    for pool in POOLS[1:] if data.noisy else ():
        best_now = _ranked(evidence)[0]
        if left() < 0 or best_now.error <= CONSISTENT * _expected_error(best_now, data, horizon):
            break
        wanted, choices = _choices(reading, data, space, memory, along, pool)
        rates = rates_of(reading, wanted, [options[0] for options in choices], memory)
        evidence += _tried(reading, data, rates, horizon, "sums", left, exact=True)
    if empirical and not along and reading.integrator == "none" and left() > 0:
        # Without a velocity nothing has told how the world integrates: look along the step, too.
        wanted, choices = _choices(reading, data, space, memory, True)
        unsure = replace(reading, integrator="unknown")
        rates = rates_of(reading, wanted, [options[0] for options in choices], memory)
        evidence += _tried(unsure, data, rates, horizon, "sums", left, exact=False)
    if (along or empirical) and not data.noisy:
        for shorter in _shorter(choices):
            if left() < 0 or (evidence and min(e.error for e in evidence) < 1e-6):
                break
            rates = rates_of(reading, wanted, shorter, memory)
            evidence += _tried(reading, data, rates, horizon, "sums", left, exact=False)
    return _ranked(evidence), memory, data


def _choices(reading, data, space, memory, along, pool: int = POOLS[0]) -> tuple[list[Response], list[list[Choice]]]:
    samples = samples_for(reading, data.rows, along)
    wanted = responses(reading, data.rows, data.rounding)
    if along:
        # Looking along the step is itself off by a small part; below it nothing can be told apart.
        wanted = [r._replace(floor=max(r.floor, 2e-4 * r.scale)) for r in wanted]
    choices = []
    for k, response in enumerate(wanted):
        options = []
        if not response.noisy:
            options = sums_of(reading, data.rows, response, space, memory, samples)
            response = response._replace(noisy=_noise_of(response, options[0], samples, data))
        usable = usual_rows(response.target, data.rows, response.floor)
        windows = samples_in_windows(samples, data.rows, usable, pool)
        if response.noisy and windows.windows is not None and len(windows.windows) >= 40:
            response = pooled(response, windows)
            options = sums_of(reading, data.rows, response, space, memory, windows, np.ones(len(windows.windows), bool))
        wanted[k] = response
        choices.append(options or sums_of(reading, data.rows, response, space, memory, samples))
    return wanted, choices


def _noise_of(response: Response, choice: Choice, samples: Samples, data: _Data) -> float:
    """What noise of observations leaves of a response, told from what the choice leaves of it."""
    if choice.exact or not choice.terms:
        return 0.0
    full = np.stack([samples.column(term) for term in choice.terms], axis=-1)
    return noise_left(response.target - full @ np.array(choice.factors), data.rows, choice.kept, response.floor)


def _with_noise(reading: Reading, data: _Data, wanted: Sequence[Response], pool: int) -> _Data:
    """The data with noise that only showed once a sum was found."""
    level = data.noise.copy()
    for response in wanted:
        k = data.names.index(response.field)
        rows = pool if len(response.target) != len(data.rows.before) else 1
        level[k] = max(level[k], response.noisy * rows * reading.dt / np.sqrt(2))
    for c in reading.coordinates:
        if c.velocity is not None:
            level[data.names.index(c.name)] = max(level[data.names.index(c.name)], _place_noise(reading, c, data.rows, level))
    return replace(data, noise=level, noisy=True)


def _shorter(choices: Sequence[Sequence[Choice]]) -> list[list[Choice]]:
    """The same sums with fewer terms each: what looks needed along the step may only mend its approximation."""
    out = []
    for part in (0.1, 0.02, 0.005):
        out.append([min((o for o in options if o.part <= max(part, options[0].part)), key=lambda o: o.cost) for options in choices])
    unique, seen = [], set()
    for option in out:
        key = tuple(tuple(t.code for t in choice.terms) for choice in option)
        if key not in seen and any(choice is not options[0] for choice, options in zip(option, choices, strict=True)):
            seen.add(key)
            unique.append(option)
    return unique


def _late(reading, trajectories, data: _Data, wanted, choices, space: ActionSpace) -> int:
    """How many steps late actions act, by a regression that knows the states and the actions of some steps ago."""
    longest = Delay(MOST_DELAY, len(space))
    full = _data(reading, trajectories, longest)
    if len(full.rows.before) < 60:
        return 0
    again = responses(reading, full.rows, full.rounding)
    open_ones = [k for k, options in enumerate(choices) if not options[0].exact]
    samples = samples_for(reading, full.rows, False)
    best = 0
    for k in open_ones:
        response = again[k]
        columns = []
        own = library(reading, response.coordinate, full.rows, [], [])
        state_terms = [t for t in own.levels[0]]
        design = np.stack([samples.column(t) for t in state_terms], axis=-1)
        design = design / np.maximum(np.linalg.norm(design, axis=0), 1e-12)
        usual = usual_rows(response.target, full.rows, response.floor)
        for steps in range(MOST_DELAY + 1):
            inputs = drives(space, Delay(steps, len(space)))
            waves = [
                t for t in library(reading, response.coordinate, full.rows, inputs, []).levels[1] if any(i.code in t.code for i in inputs)
            ]
            columns.append(np.stack([samples.column(t) for t in [*inputs, *waves]], axis=-1)[usual])
        best = max(best, find_delay([response.target[usual]], design[usual], columns))
    return best


def _tried(reading: Reading, data: _Data, rates: Rates, horizon: int, source: str, left, *, exact: bool) -> list[Evidence]:
    """The rates under every integrator in question, refined, with limits, on held-out stretches."""
    options = [(i, n, step) for i, n in _integrators(reading, exact) for step in _steps(reading, i, n)]
    if len(options) > 1:
        # A simpler integrator or a shorter time step stands in front and wins unless another is clearly better.
        few = cut(data.states, data.actions, 1, most=FEW)
        errors = []
        for integrator, substeps, step in options:
            trial = assemble(replace(reading, dt=step), rates, integrator=integrator, substeps=substeps)
            errors.append(
                _usual_error(polish(trial, few, evaluations=10) if marches(trial.program, few.starts, few.actions) else trial, data)
            )
        options = [next(option for option, error in zip(options, errors, strict=True) if error <= 1.3 * min(errors) + 1e-12)]
    integrator, substeps, step = options[0]
    if not exact and source == "sums":
        rates = _thinned(replace(reading, dt=step), rates, integrator, substeps, data, left)
    fitted = _refined(assemble(replace(reading, dt=step), rates, integrator=integrator, substeps=substeps), data, exact)
    timed = replace(reading, dt=step)
    tuned = _with_constants(rates, fitted)

    def build(limits: Sequence[Limit]) -> Draft:
        return assemble(timed, tuned, integrator=integrator, substeps=substeps, limits=limits)

    limits, _ = find_limits(timed, data.rows, data.noise, build)
    draft = replace(build(limits), stderr=fitted.stderr)
    evidence = [_evidence(timed, draft, integrator, substeps, tuple(limits), data, horizon, source)]
    if limits:
        # Held-out stretches may never meet a limit; where they do, it must not make them worse.
        plain = _evidence(timed, build([]), integrator, substeps, (), data, horizon, source)
        if plain.error * plain.error_p90 < 0.5 * evidence[0].error * evidence[0].error_p90:
            evidence = [plain]
    return evidence


def _thinned(reading: Reading, rates: Rates, integrator: Integrator, substeps: int, data: _Data, left) -> Rates:
    """The rates without terms that the true integrator does not need: those that only mended the look along a step."""
    few = cut(data.states, data.actions, 1, most=FEW)

    def error(option: Rates) -> float:
        trial = assemble(reading, option, integrator=integrator, substeps=substeps)
        return _usual_error(polish(trial, few, evaluations=10), data)

    try:
        now = error(rates)
    except Exception:
        return rates
    for field, change in rates.changes:
        for part in _summands(change):
            parts = _summands(dict(rates.changes)[field])
            if len(parts) < 2 or part not in parts or left() < 0:
                continue
            fewer = " + ".join(p for p in parts if p != part)
            changes = tuple((f, fewer if f == field else c) for f, c in rates.changes)
            text = " ".join(c for _, c in changes)
            numbers = tuple(n for n in rates.numbers if re.search(rf"\b{n.name}\b", text))
            trial = replace(rates, changes=changes, numbers=numbers)
            then = error(trial)
            if then <= 1.03 * now + 1e-12:
                rates, now = trial, min(then, now)
    return rates


def _summands(text: str) -> list[str]:
    """The parts of a sum; a plus within brackets does not part them."""
    parts, depth, first = [], 0, 0
    for k, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and text[k : k + 3] == " + ":
            parts.append(text[first:k])
            first = k + 3
    return [*parts, text[first:]]


def _with_constants(rates: Rates, fitted: Draft) -> Rates:
    values = fitted.program.constants
    numbers = tuple(replace(n, value=values[n.name], stderr=fitted.stderr.get(n.name)) if n.free else n for n in rates.numbers)
    return replace(rates, numbers=numbers)


def _integrators(reading: Reading, exact: bool) -> list[tuple[Integrator, int]]:
    if reading.integrator in ("explicit", "semi-implicit"):
        return [(reading.integrator, 1)]
    if reading.integrator == "none":
        return [("none", 1)]
    weight = reading.weight
    if weight is None:
        return [("rk4", 1), ("explicit", 2), ("explicit", 4), ("explicit", 5)]
    options: list[tuple[Integrator, int]] = [("rk4", 1)]
    for n in (2, 4, 5, 10):
        options += [("semi-implicit", n)] if abs((n - 1) / (2 * n) - weight) < 0.06 else []
        options += [("explicit", n)] if abs((n + 1) / (2 * n) - weight) < 0.06 else []
    return [*options, ("rk4", 2)] if abs(weight - 0.5) < 0.06 else options


def _steps(reading: Reading, integrator: Integrator, substeps: int) -> list[float]:
    if (integrator in ("explicit", "semi-implicit") and substeps == 1) or reading.weight is None:
        return [reading.dt]
    shorts = [float(f"{reading.dt:.{digits}g}") for digits in (1, 2)]
    return list(dict.fromkeys([*(s for s in shorts if abs(s / reading.dt - 1) < 0.04), reading.dt]))


def _refined(draft: Draft, data: _Data, exact: bool) -> Draft:
    """Constants refined on single steps first, where event rows are told apart, and then on short stretches without events."""
    stretches = cut(data.states, data.actions, 1, most=1500)
    if not marches(draft.program, stretches.starts, stretches.actions):
        return draft
    if data.noisy:
        return _shot(draft, data)
    if not exact:
        draft = polish(draft, stretches)
    usable = _usable(draft, data)
    short = cut(data.states, data.actions, SHORT, usable=usable, most=300)
    if len(short.starts) < 20:
        return draft
    refined = polish(draft, short, evaluations=12)
    before, after = _median_error(draft, short), _median_error(refined, short)
    return refined if after <= before else draft


def _shot(draft: Draft, data: _Data) -> Draft:
    """Constants refined with the starts of windows as unknowns; windows share no observation, so that standard errors hold."""
    longest = max(len(a) for a in data.actions)
    length = max(2, min(WINDOW, longest))
    usable = _usable(draft, data)
    places = [
        (i, t) for i, a in enumerate(data.actions) for t in range(0, len(a) - length + 1, length + 1) if usable[i][t : t + length].all()
    ]
    if len(places) < 3:
        places = [(i, t) for i, a in enumerate(data.actions) for t in range(0, len(a) - length + 1, length + 1)]
    places = [places[k] for k in np.unique(np.linspace(0, len(places) - 1, min(MOST_SHOTS, len(places))).astype(int))]
    windows = Stretches(
        np.array([data.states[i][t] for i, t in places]),
        np.array([data.actions[i][t : t + length] for i, t in places]),
        np.array([data.states[i][t + 1 : t + length + 1] for i, t in places]),
    )
    return refine_noisy(draft, windows, seen=data.seen, noise=data.noise).draft


def _usable(draft: Draft, data: _Data) -> list[np.ndarray]:
    open_rows = unexplained(draft, data.rows, data.noise).rows
    marks, place = [], 0
    for acted in data.actions:
        marks.append(~open_rows[place : place + len(acted)])
        place += len(acted)
    return marks


def _usual_error(draft: Draft, data: _Data) -> float:
    """The typical one-step error over rows and fields, events left out by the median."""
    return float(np.exp(np.mean(np.log(_open(draft, data) + 1e-10))))


def _open(draft: Draft, data: _Data) -> Float[np.ndarray, " S"]:
    stretches = Stretches(data.rows.before, data.rows.actions[:, None], data.rows.after[:, None])
    off = np.abs(predicted(draft.program, stretches)[:, 0] - data.rows.after)
    motion = np.std(data.rows.after - data.rows.before, axis=0)
    live = motion > 1e-12
    off = np.where(np.isfinite(off), off, 1e9)
    middle = np.sort(off, axis=0)[: max(1, len(off) * 9 // 10)]
    return (np.sqrt(np.mean(middle**2, axis=0)) / np.where(live, motion, 1.0))[live]


def _median_error(draft: Draft, stretches: Stretches) -> float:
    return float(np.median(normalised_errors(predicted(draft.program, stretches), stretches.truths, stretches.starts)))


def _evidence(
    reading: Reading, draft: Draft, integrator: Integrator, substeps: int, limits, data: _Data, horizon: int, source: str
) -> Evidence:
    far = cut(data.held_states, data.held_actions, horizon)
    near = cut(data.held_states, data.held_actions, 1, most=1000)
    errors = normalised_errors(predicted(draft.program, far), far.truths, far.starts) if len(far.starts) else np.array([np.inf])
    steps = normalised_errors(predicted(draft.program, near), near.truths, near.starts)
    return Evidence(
        draft, integrator, substeps, limits, float(np.median(errors)), float(np.quantile(errors, 0.9)), float(np.median(steps)),
        len(draft.free) + sum(not n.free for limit in limits for n in limit.numbers), source, replace(reading, integrator=integrator),
    )  # fmt: skip


def _ranked(evidence: Sequence[Evidence]) -> list[Evidence]:
    """By error, in steps of a factor of two; the one with fewer constants wins within a step, and nothing below rounding counts."""
    return sorted(evidence, key=lambda e: (round(np.log2(max(e.error, 1e-7)) + np.log2(max(e.error_p90, 1e-7))), e.constants))


def _chains(chains: Chains, reading: Reading, data: _Data, horizon: int, left) -> list[Evidence]:
    evidence = []
    for rates in chains(reading, data.states, data.actions):
        if left() < 0:
            break
        evidence += _tried(reading, data, rates, horizon, "chain", left, exact=False)
    return evidence


def _verdict(evidence: Sequence[Evidence], reading: Reading, data: _Data, horizon: int) -> tuple[Verdict, str]:
    best = evidence[0]
    rows = len(data.rows.before)
    said = f"{horizon}-step error {best.error:.1g} of the spread of motion on held-out stretches (90 % below {best.error_p90:.1g})"
    if rows < LEAST_ROWS_PER_TERM * max(len(best.draft.free), 1):
        return "unexplained", f"{rows} steps are too few for {len(best.draft.free)} constants; {said}."
    open_rows = _open_rows(best, data)
    worst = _worst(best, data, horizon)
    expected = _expected_error(best, data, horizon) if data.noisy else 0.0
    if data.noisy:
        said += f"; noise of observations alone makes {expected:.1g}"
    consistent = data.noisy and best.error <= CONSISTENT * expected
    if best.error > FAIR and not consistent:
        return "unexplained", f"{said}; {worst}."
    rival = next((e for e in evidence[1:] if e.draft.laws != best.draft.laws and e.constants <= best.constants), None)
    if rival is not None and rival.error < (1.1 if data.noisy else 3) * best.error and best.error > 1e-5:
        return "ambiguous", f"'{rival.draft.name}' does nearly as well ({rival.error:.1g}); {said}."
    if consistent and not best.draft.empirical:
        return "explained", f"{said}."
    if best.draft.empirical or best.error > GOOD or best.error_p90 > FAIR or open_rows.rows.sum() > 1:
        where = _where(open_rows, data)
        return "valid-inside", f"{said}; {where or worst}."
    return "explained", f"{said}."


def _expected_error(best: Evidence, data: _Data, horizon: int) -> float:
    """The error that noise of the starts and ends of held-out stretches makes even for a perfect program."""
    far = cut(data.held_states, data.held_actions, horizon)
    if not len(far.starts):
        return 0.0
    rng = np.random.default_rng(0)
    clean = predicted(best.draft.program, far)
    moved = far._replace(starts=far.starts + rng.normal(size=far.starts.shape) * data.noise)
    dirty = predicted(best.draft.program, moved) + rng.normal(size=clean.shape) * data.noise
    return float(np.median(normalised_errors(dirty, clean, far.starts)))


def _open_rows(best: Evidence, data: _Data) -> Unexplained:
    rows = data.rows
    given = predicted(best.draft.program, Stretches(rows.before, rows.actions[:, None], rows.after[:, None]))[:, 0]
    off = np.where(np.isfinite(given), rows.after - given, 1e9)
    motion = np.maximum(np.std(rows.after - rows.before, axis=0), 1e-12)
    tolerance = np.maximum(np.maximum(10 * 1.4826 * np.median(np.abs(off), axis=0), 8 * data.noise), 1e-4 * motion)
    return Unexplained((np.abs(off) > tolerance).any(axis=1), off, tolerance)


def _where(open_rows: Unexplained, data: _Data) -> str:
    """In which steps the program fails, told by the field whose range they fill least."""
    if open_rows.rows.sum() < 2:
        return ""
    failing, all_rows = data.rows.before[open_rows.rows], data.rows.before
    spans = np.maximum(np.ptp(all_rows, axis=0), 1e-12)
    k = int(np.argmin(np.ptp(failing, axis=0) / spans))
    return (
        f"{int(open_rows.rows.sum())} of {len(open_rows.rows)} steps are not explained, "
        f"{data.names[k]} between {failing[:, k].min():.4g} and {failing[:, k].max():.4g}"
    )


def _worst(best: Evidence, data: _Data, horizon: int) -> str:
    far = cut(data.held_states, data.held_actions, horizon)
    if not len(far.starts):
        return "no stretch was held out"
    off = predicted(best.draft.program, far)[:, -1] - far.truths[:, -1]
    change = np.maximum(np.std(far.truths[:, -1] - far.starts, axis=0), 1e-12)
    parts = np.sqrt(np.mean(np.where(np.isfinite(off), off, 1e9) ** 2, axis=0)) / change
    k = int(np.argmax(parts))
    return f"most is left of {data.names[k]}: {parts[k]:.2g} of its spread after {horizon} steps"
