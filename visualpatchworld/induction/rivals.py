"""Rivals: rates made into programs under an integrator, refined, given limits, and judged on what was held out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float

from visualpatchworld.induction.clock import NO_LIMIT, Clock
from visualpatchworld.induction.draft import Draft, Stretches, cut, normalised_errors
from visualpatchworld.induction.events import at_blurred_edges
from visualpatchworld.induction.experience import Experience
from visualpatchworld.induction.limits import find_limits, unexplained
from visualpatchworld.induction.march import marches, polish, predicted
from visualpatchworld.induction.motion import Limit, Number, Rates, assemble, summands
from visualpatchworld.induction.reading import Integrator, Reading
from visualpatchworld.induction.shooting import refine_noisy, shooting_windows
from visualpatchworld.induction.stops import STICKING, sticking
from visualpatchworld.induction.terms import Rows, joined

FEW = 300  # steps that integrators are compared by
SHORT = 5  # steps of the stretches that constants are refined on
COST = 8.0  # of a constant, in units of log likelihood: several times the half logarithm of a thousand observations
SHORT_DIGITS = 4
NUMERICAL = 1e-8  # of the motion: what single precision leaves of one step
NEAR = 1e-5  # of a constant: how far a short number may be from what was fitted
IDLE = 1e-10  # of the motion in a step: what a summand adds that does nothing
NEGLIGIBLE = 5e-7  # of the motion in a step: no term is kept for less
ROUNDED = 2.0  # times the rounding of a field: both ends of a step are rounded, and a little slack
SETTLED = 1e-7  # an error of single steps below which constants that came with their integrator need no refining
MOST_THINNED = 16  # constants up to which every term is tried without


@dataclass(frozen=True)
class Rival:
    """A rival and what held-out stretches say of it."""

    draft: Draft
    integrator: Integrator
    substeps: int
    limits: tuple[Limit, ...]
    error: float  # median normalised error over the horizon
    error_p90: float
    one_step: float  # median normalised error of one step
    constants: int
    source: str  # sums or chain
    reading: Reading  # with the time step and integrator that were taken
    experience: Experience = field(repr=False)
    rates: Rates = field(repr=False)  # with the constants that were fitted
    misfit: float = 0.0  # where observations are noisy: half of what is left of all of them, squared, in units of noise


def rivals_of(
    reading: Reading, data: Experience, rates: Rates, source: str, clock: Clock, *, exact: bool
) -> list[Rival]:
    """The rates under every integrator in question, refined, with limits, on held-out stretches."""
    options: list[tuple[Integrator, int, float]] = [
        (i, n, step) for i, n in _integrators(reading, exact) for step in _steps(reading, i, n)
    ]
    if rates.timing is not None and not data.noisy:
        options, exact = [rates.timing], True
    if len(options) > 1:
        # A simpler integrator or a shorter time step stands in front and wins unless another is clearly better.
        few = cut(data.states, data.actions, 1, most=FEW)
        errors = []
        for integrator, substeps, step in options:
            trial = assemble(replace(reading, dt=step), rates, integrator=integrator, substeps=substeps)
            if marches(trial.program, few.starts, few.actions):
                trial = polish(trial, few, evaluations=10, clock=clock.part(0.5))
            errors.append(_usual_error(trial, data))
        options = [
            next(option for option, error in zip(options, errors, strict=True) if error <= 1.3 * min(errors) + 1e-12)
        ]
    integrator, substeps, step = options[0]
    if not exact and source == "sums" and sum(number.free for number in rates.numbers) <= MOST_THINNED:
        rates = _thinned(replace(reading, dt=step), rates, integrator, substeps, data, clock)
    first = assemble(replace(reading, dt=step), rates, integrator=integrator, substeps=substeps)
    fitted = (
        first
        if rates.timing is not None and _usual_error(first, data) < SETTLED
        else _refined(first, data, exact, clock.part(0.5))
    )
    timed = replace(reading, dt=step)
    if not data.noisy:
        rates, fitted = _bare(timed, rates, fitted, integrator, substeps, data)
        fitted = _shortened(fitted, data)
    tuned, held = _with_constants(rates, fitted), ()
    stuck = sticking(timed, tuned)
    if stuck is not None:
        trial = assemble(timed, stuck[0], integrator=integrator, substeps=substeps, limits=stuck[1])
        missed = unexplained(trial, data.rows, data.noise)
        if missed.bits < unexplained(fitted, data.rows, data.noise, missed.tolerance).bits:
            # Beside steps that the plain friction missed, nothing showed whether its constants are short numbers.
            trial = _refined(trial, data, False, clock)
            trial = trial if data.noisy else _shortened(trial, data)
            tuned, held = (
                _with_constants(stuck[0], trial),
                tuple(_limit_with_constants(limit, trial) for limit in stuck[1]),
            )
            fitted = trial

    def build(limits: Sequence[Limit]) -> Draft:
        return assemble(timed, tuned, integrator=integrator, substeps=substeps, limits=[*held, *limits])

    limits, _ = find_limits(timed, data.rows, data.noise, build, tuned, clock)
    draft = replace(build(limits), stderr=fitted.stderr)
    evidence = [_evidence(timed, draft, integrator, substeps, (*held, *limits), data, source, tuned, clock)]
    if limits:
        # Held-out stretches may never meet a limit; where they do, it must not make them worse.
        plain = _evidence(timed, build([]), integrator, substeps, held, data, source, tuned, clock)
        if plain.error * plain.error_p90 < 0.5 * evidence[0].error * evidence[0].error_p90:
            evidence = [plain]
    return evidence


def _thinned(
    reading: Reading, rates: Rates, integrator: Integrator, substeps: int, data: Experience, clock: Clock
) -> Rates:
    """The rates without terms that the true integrator does not need: those that only mended the look along a step."""
    few = cut(data.states, data.actions, 1, most=FEW)

    def error(option: Rates) -> float:
        trial = assemble(reading, option, integrator=integrator, substeps=substeps)
        return _usual_error(polish(trial, few, evaluations=10, clock=clock), data)

    try:
        now = error(rates)
    except Exception:
        return rates
    motion = np.std(data.rows.after - data.rows.before, axis=0)
    live = motion > 1e-12
    # Terms that only follow how numbers were rounded are needless, too.
    rounded = (
        float(np.exp(np.mean(np.log(ROUNDED * data.rounding[live] / motion[live] + 1e-10)))) if live.any() else 0.0
    )
    for of, change in rates.changes:
        for part in summands(change):
            parts = summands(dict(rates.changes)[of])
            if len(parts) < 2 or part not in parts or clock.over:
                continue
            fewer = " + ".join(p for p in parts if p != part)
            changes = tuple((f, fewer if f == of else c) for f, c in rates.changes)
            text = " ".join(c for _, c in changes)
            numbers = tuple(n for n in rates.numbers if re.search(rf"\b{n.name}\b", text))
            trial = replace(rates, changes=changes, numbers=numbers)
            then = error(trial)
            if then <= max(1.03 * now, rounded, NEGLIGIBLE):
                rates, now = trial, min(then, now)
    return relabelled(rates)


def _bare(
    reading: Reading, rates: Rates, fitted: Draft, integrator: Integrator, substeps: int, data: Experience
) -> tuple[Rates, Draft]:
    """The rates and their draft without summands whose factor was fitted to nothing."""
    if rates.lines:
        return rates, fitted
    few = cut(data.states, data.actions, 1, most=FEW)
    motion = np.maximum(np.std(few.truths[:, 0] - few.starts, axis=0), 1e-12)
    given = predicted(fitted.program, few)
    changes = []
    for of, change in rates.changes:
        parts = summands(change)
        for part in list(parts):
            factor = re.match(r"[A-Z]\w*\b", part)
            if len(parts) > 1 and factor and factor[0] in fitted.free:
                without = predicted(fitted.program.edited({factor[0]: 0.0}), few)
                if float(np.max(np.abs(without - given) / motion)) < IDLE:
                    parts.remove(part)
        changes.append((of, " + ".join(parts)))
    if tuple(changes) == rates.changes:
        return rates, fitted
    text = " ".join(change for _, change in changes)
    kept = tuple(n for n in rates.numbers if re.search(rf"\b{n.name}\b", text))
    fewer = relabelled(replace(rates, changes=tuple(changes), numbers=kept))
    draft = assemble(reading, _with_constants(fewer, fitted), integrator=integrator, substeps=substeps)
    return fewer, replace(draft, stderr={name: fitted.stderr[name] for name in draft.free if name in fitted.stderr})


def relabelled(rates: Rates) -> Rates:
    """The rates with the laws and the name of those terms alone that are still in them."""
    docs = {n.name: n.doc for n in rates.numbers}
    named = [
        (of, [docs[n].partition(":")[0] for n in re.findall(r"\b[A-Z]\w*\b", change) if n in docs])
        for of, change in rates.changes
    ]
    parts = [(of, part) for of, change in rates.changes for part in summands(change)]

    def lives(law: str, bodies: tuple[str, ...]) -> bool:
        return any(
            docs.get(name, "").partition(":")[0] == law
            and all(body == of or re.search(rf"{re.escape(body)}(?!\w)", part) for body in bodies)
            for of, part in parts
            for name in re.findall(r"\b[A-Z]\w*\b", part)
        )

    name = "; ".join(
        f"{of}: {', '.join(law for law in laws if not law.startswith('of ')) or 'still'}" for of, laws in named
    )
    return replace(rates, name=name, laws=tuple(entry for entry in rates.laws if lives(*entry)))


def _shortened(draft: Draft, data: Experience) -> Draft:
    """The draft with constants that are short numbers wherever that is no worse."""
    values = draft.program.constants
    short = {name: float(f"{values[name]:.{SHORT_DIGITS}g}") for name in draft.free}
    near = {
        name: value
        for name, value in short.items()
        if value != values[name] and abs(value - values[name]) <= NEAR * abs(value)
    }
    if not near:
        return draft
    trial = replace(draft, program=draft.program.edited(near))
    return trial if _usual_error(trial, data) <= 1.02 * _usual_error(draft, data) + NUMERICAL else draft


def _with_constants(rates: Rates, fitted: Draft) -> Rates:
    return replace(rates, numbers=_fitted_numbers(rates.numbers, fitted))


def _limit_with_constants(limit: Limit, fitted: Draft) -> Limit:
    return replace(limit, numbers=_fitted_numbers(limit.numbers, fitted))


def _fitted_numbers(numbers: Sequence[Number], fitted: Draft) -> tuple[Number, ...]:
    values = fitted.program.constants
    return tuple(replace(n, value=values[n.name], stderr=fitted.stderr.get(n.name)) if n.free else n for n in numbers)


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
        if abs((n - 1) / (2 * n) - weight) < 0.06:
            options.append(("semi-implicit", n))
        if abs((n + 1) / (2 * n) - weight) < 0.06:
            options.append(("explicit", n))
    return [*options, ("rk4", 2)] if abs(weight - 0.5) < 0.06 else options


def _steps(reading: Reading, integrator: Integrator, substeps: int) -> list[float]:
    if (integrator in ("explicit", "semi-implicit") and substeps == 1) or reading.weight is None:
        return [reading.dt]
    shorts = [float(f"{reading.dt:.{digits}g}") for digits in (1, 2)]
    return list(dict.fromkeys([*(s for s in shorts if abs(s / reading.dt - 1) < 0.04), reading.dt]))


def _refined(draft: Draft, data: Experience, exact: bool, clock: Clock) -> Draft:
    """Constants refined on single steps first, where event rows
    are set apart, and then on short stretches without events.
    """
    try:
        return _fitted(draft, data, exact, clock)
    except np.linalg.LinAlgError:  # slopes so unequal that they do not decompose: a law that runs away
        return draft


def _fitted(draft: Draft, data: Experience, exact: bool, clock: Clock) -> Draft:
    stretches = cut(data.states, data.actions, 1, most=1500)
    if not marches(draft.program, stretches.starts, stretches.actions):
        return draft
    if data.noisy:
        return _shot(draft, data, clock)
    if not exact:
        draft = polish(draft, stretches, clock=clock)
    usable = _usable(draft, data)
    short = cut(data.states, data.actions, SHORT, usable=usable, most=300)
    if len(short.starts) < 20:
        return draft
    refined = polish(draft, short, evaluations=12, clock=clock)
    before, after = _median_error(draft, short), _median_error(refined, short)
    return refined if after <= before else replace(draft, stderr=refined.stderr)


def _shot(draft: Draft, data: Experience, clock: Clock) -> Draft:
    """Constants refined with the starts of windows as unknowns;
    windows share no observation, so that standard errors hold.
    """
    windows = shooting_windows(data.states, data.actions, _usable(draft, data))
    return refine_noisy(draft, windows, seen=data.seen, noise=data.noise, clock=clock).draft


def _usable(draft: Draft, data: Experience) -> list[np.ndarray]:
    open_rows = unexplained(draft, data.rows, data.noise).rows
    if data.noisy:
        # A step that a clip has shortened by less than the noise looks explained, and many of them look like friction.
        open_rows = open_rows | at_blurred_edges(data.rows)
    marks, place = [], 0
    for acted in data.actions:
        marks.append(~open_rows[place : place + len(acted)])
        place += len(acted)
    return marks


def _usual_error(draft: Draft, data: Experience) -> float:
    """The typical one-step error over rows and fields, events left out by the median."""
    return float(np.exp(np.mean(np.log(_open(draft, data) + 1e-10))))


def _open(draft: Draft, data: Experience) -> Float[np.ndarray, " S"]:
    stretches = Stretches(data.rows.before, data.rows.actions[:, None], data.rows.after[:, None])
    off = np.abs(predicted(draft.program, stretches)[:, 0] - data.rows.after)
    motion = np.std(data.rows.after - data.rows.before, axis=0)
    live = motion > 1e-12
    off = np.where(np.isfinite(off), off, 1e9)
    middle = np.sort(off, axis=0)[: max(1, len(off) * 9 // 10)]
    return (np.sqrt(np.mean(middle**2, axis=0)) / np.where(live, motion, 1.0))[live]


def _median_error(draft: Draft, stretches: Stretches) -> float:
    return float(np.median(normalised_errors(predicted(draft.program, stretches), stretches.truths, stretches.starts)))


def with_limits(best: Rival, data: Experience, looks: Rows | None, clock: Clock = NO_LIMIT) -> Rival:
    """The same rates with limits searched for anew: in more
    experience, and in single steps that were looked at on purpose.
    """
    # Found with the rates, not among the event rows.
    held = tuple(limit for limit in best.limits if limit.law == STICKING)

    def build(limits: Sequence[Limit]) -> Draft:
        return assemble(
            best.reading, best.rates, integrator=best.integrator, substeps=best.substeps, limits=[*held, *limits]
        )

    rows = data.rows if looks is None else joined(data.rows, looks)
    limits, _ = find_limits(best.reading, rows, data.noise, build, best.rates, clock)
    draft = replace(build(limits), stderr=best.draft.stderr)
    return _evidence(
        best.reading, draft, best.integrator, best.substeps, (*held, *limits), data, best.source, best.rates, clock
    )


def _evidence(
    reading: Reading,
    draft: Draft,
    integrator: Integrator,
    substeps: int,
    limits,
    data: Experience,
    source: str,
    rates: Rates,
    clock: Clock,
) -> Rival:
    far = cut(data.held_states, data.held_actions, data.horizon)
    near = cut(data.held_states, data.held_actions, 1, most=1000)
    errors = _errors(draft, far, len(reading.state_names)) if len(far.starts) else np.array([np.inf])
    steps = _errors(draft, near, len(reading.state_names))
    fixed = sum(not number.free for limit in limits for number in limit.numbers)
    misfit = 0.0
    if data.noisy and marches(draft.program, near.starts, near.actions):
        windows = shooting_windows([*data.states, *data.held_states], [*data.actions, *data.held_actions])
        misfit = refine_noisy(
            replace(draft, free=()), windows, seen=data.seen, noise=data.noise, fixed=True, clock=clock
        ).misfit
    return Rival(
        draft, integrator, substeps, limits, float(np.median(errors)), float(np.quantile(errors, 0.9)), float(np.median(steps)),
        len(draft.free) + fixed, source, replace(reading, integrator=integrator), data, rates, misfit,
    )  # fmt: skip


def _errors(draft: Draft, stretches: Stretches, width: int) -> Float[np.ndarray, " N"]:
    """Normalised errors of what is observed; remembered actions are
    always right and would only dilute them, and so would rest.
    """
    moving = (stretches.truths[..., :width] != stretches.starts[:, None, :width]).any(axis=(1, 2))
    if moving.any():
        stretches = Stretches(*(part[moving] for part in stretches))
    given = predicted(draft.program, stretches)
    return normalised_errors(given[..., :width], stretches.truths[..., :width], stretches.starts[:, :width])


def ranked(evidence: Sequence[Rival]) -> list[Rival]:
    """The best first. Where observations are noisy, by how likely they make them, constants counted off; else by error,
    in steps of a factor of two; the one with fewer constants wins within a step, and nothing below rounding counts.
    """
    if evidence and all(e.misfit > 0 for e in evidence):
        return sorted(evidence, key=lambda e: e.misfit + COST * e.constants)

    def left(e: Rival) -> float:
        # A law that gives most single steps exactly is right but for events that it does not have, however long
        # rollouts end.
        return sum(float(np.log2(max(error, 1e-7))) for error in (e.error, e.error_p90, e.one_step))

    return sorted(evidence, key=lambda e: (np.nan_to_num(np.round(left(e)), nan=np.inf), e.constants))
