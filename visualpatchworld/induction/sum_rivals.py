"""Rivals whose every rate is a sum of terms: plain ones first, with delays, regions and noise where those show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from visualpatchworld.induction.choice import Choice
from visualpatchworld.induction.clock import Clock
from visualpatchworld.induction.events import at_edges, noise_left, usual_rows
from visualpatchworld.induction.experience import Experience, experience, with_noise
from visualpatchworld.induction.inputs import MOST_DELAY, Delay, drives, find_delay
from visualpatchworld.induction.library import library
from visualpatchworld.induction.motion import in_order
from visualpatchworld.induction.reading import Reading
from visualpatchworld.induction.rivals import Rival, ranked, rivals_of
from visualpatchworld.induction.sums import (
    Response,
    pooled,
    rates_of,
    responses,
    samples_for,
    snapped,
    sums_of,
    updated_first,
)
from visualpatchworld.induction.switches import turns_alone
from visualpatchworld.induction.terms import Samples, samples_in_windows
from visualpatchworld.induction.verdict import CONSISTENT, GOOD, expected_error, open_rows
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace

# Steps that are looked at together where observations are noisy; more while a law does not reach the noise.
POOLS = (8, 24, 48)
ALONG = 2e-4  # of a response's spread: what looking along a step is itself off by
DONE = 1e-6  # an error below which no rival needs to be tried
MANY_OPEN = 0.02  # more steps than this that stay unexplained are a region rather than events
FEWER_OPEN = 0.1  # of the steps that stay unexplained without a region may stay so with it
# Of the rows are explained where those set aside are events; more of them may be actions that act late.
FEW_ASIDE = 0.97
LOOK = 0.6  # of the time that is left, for one look for sums
SIMPLE = 0.5  # of that, for terms without a constant inside
MOST_REMEMBERED = 12  # actions of steps ago that a State may remember
MOST_CONSTANTS = 96  # of sums that are no law, in all
ROWS_PER_CONSTANT = 8
PRODUCTS, SCANS = 1, 2  # how deep the library of terms is searched


def stays(rows: int) -> Choice:
    """A field that stays as it is but for events."""
    return Choice((), (), 0.0, 0.0, 0.0, True, np.ones(rows, bool))


@dataclass(frozen=True)
class SumSearch:
    """What sums are searched in, whom to tell of it, and how long it may take."""

    trajectories: Sequence[Trajectory]
    space: ActionSpace
    say: Callable[[str], None]
    clock: Clock


def sum_rivals(search: SumSearch, reading: Reading, deepest: int, *, only_exact: bool = False) -> list[Rival]:
    """Rivals whose every rate is a sum of terms; where asked, none unless the sums leave nothing."""
    space, clock = search.space, search.clock
    data = experience(reading, search.trajectories, Delay(0, len(space)))
    along = reading.integrator not in ("explicit", "semi-implicit", "none")
    wanted, choices = choices_of(reading, data, space, along, deepest, clock.part(LOOK))
    if not all(_whole(options[0]) for options in choices) and not clock.over:
        late = _late(reading, search.trajectories, choices, space)
        if late:
            search.say(f"actions act {late} steps late")
            trial = experience(reading, search.trajectories, Delay(late, len(space)))
            trial_wanted, trial_choices = choices_of(reading, trial, space, along, deepest, clock.part(LOOK))
            if _total(trial_choices) < _total(choices):
                data, wanted, choices = trial, trial_wanted, trial_choices
    if not data.noisy and any(response.noisy for response in wanted):
        data = with_noise(reading, data, wanted, POOLS[0])
    best = [options[0] for options in choices]
    if not data.noisy:
        samples = samples_for(reading, data.rows, along)
        best = [
            snapped(choice, response.target, samples, response.floor)
            for choice, response in zip(best, wanted, strict=True)
        ]
    exact = all(choice.exact for choice in best)
    if only_exact and not exact and not data.noisy:
        return []
    rates = rates_of(reading, wanted, best, data.memory, empirical=not exact and not along)
    evidence = rivals_of(reading, data, rates, "sums", clock, exact=exact)
    if only_exact and not data.noisy:
        return ranked(evidence)  # a chain may explain what is left with less
    if exact and not data.noisy and evidence and open_rows(evidence[0]).rows.mean() > MANY_OPEN and not clock.over:
        search.say("sums of terms that hold in a region")
        wanted, choices = choices_of(reading, data, space, along, SCANS, clock.part(LOOK), every=True)
        rates = rates_of(reading, wanted, [options[0] for options in choices], data.memory)
        sure = all(options[0].exact for options in choices)
        regional = ranked(rivals_of(reading, data, rates, "sums", clock, exact=sure))
        # Held-out stretches may hardly ever come there: a law that leaves fewer steps open is better all the same.
        missed = [open_rows(best[0]).rows.sum() for best in (regional, ranked(evidence)) if best]
        better = len(missed) == 2 and missed[0] < FEWER_OPEN * missed[1] and regional[0].error < GOOD / 100
        evidence = regional if better else [*evidence, *regional]
    for pool in POOLS[1:] if data.noisy else ():
        if clock.over or not evidence or ranked(evidence)[0].error <= CONSISTENT * expected_error(ranked(evidence)[0]):
            break
        wanted, choices = choices_of(reading, data, space, along, deepest, clock.part(LOOK), pool)
        rates = rates_of(reading, wanted, [options[0] for options in choices], data.memory)
        evidence += rivals_of(reading, data, rates, "sums", clock, exact=True)
    if along or not exact or data.noisy:
        for shorter in _shorter(choices):
            if clock.over or (min((e.error for e in evidence), default=1.0) < DONE and not data.noisy):
                break
            rates = rates_of(reading, wanted, shorter, data.memory)
            evidence += rivals_of(reading, data, rates, "sums", clock, exact=False)
    return ranked(evidence)


def _whole(choice: Choice) -> bool:
    """Whether a choice leaves nothing, and sets no more rows aside than events at limits would be."""
    return choice.exact and float(choice.kept.mean()) > FEW_ASIDE


def _total(choices: Sequence[Sequence[Choice]]) -> float:
    """What is left of all responses, as a logarithm; rows that were set aside count as left as they are."""
    return float(sum(options[0].kept.mean() * np.log(options[0].part + 1e-9) for options in choices))


def choices_of(
    reading: Reading,
    data: Experience,
    space: ActionSpace,
    along: bool,
    deepest: int,
    clock: Clock,
    pool: int = POOLS[0],
    *,
    every: bool = False,
) -> tuple[list[Response], list[list[Choice]]]:
    """For every response its choices of terms; where observations are noisy, over windows of so many steps.

    With `every`, rows that a flexible fit would set aside are to be explained, too: a region may look like events. All
    responses get the same share of the time.
    """
    simple = clock.part(SIMPLE)
    samples = samples_for(reading, data.rows, along)
    wanted = responses(reading, data.rows, data.rounding)
    if along:
        wanted = [r._replace(floor=max(r.floor, ALONG * r.scale)) for r in wanted]
    # What stands at an edge of another field may be a region: a tank that is empty drives nothing.
    kept = [~at_edges(data.rows, (r.field, r.coordinate.name)) if every else None for r in wanted]
    given = [(reading, data.rows, response, space, data.memory, samples, kept[k]) for k, response in enumerate(wanted)]
    plain: list[list[Choice]] = []
    later: list[list[Choice]] = []
    for k, response in enumerate(wanted):
        share = simple.part(1 / (len(wanted) - k))
        options = [] if response.noisy else sums_of(*given[k], deepest=min(deepest, PRODUCTS), clock=share)
        if (
            options
            and not (options[0].exact and options[0].kept.all())
            and turns_alone(reading, response.coordinate, data.rows)
        ):
            options = [stays(len(response.target))]
        plain.append(options)
        fresh = updated_first(*given[k], clock=share) if options and not _whole(options[0]) and not along else []
        # Where old values give most rows, new ones must give more: those behind a clip of another field.
        better = bool(fresh) and (not options[0].exact or fresh[0].kept.sum() > options[0].kept.sum())
        later.append(fresh if better else [])
    orderly = in_order(reading, {r.field: o[0].new_fields for r, o in zip(wanted, later, strict=True) if o}) is not None
    choices = []
    for k, response in enumerate(wanted):
        share = clock.part(1 / (len(wanted) - k))
        options = (later[k] if orderly else []) or plain[k]
        if options:
            asked = kept[k]
            settled = options[0].exact and (asked is None or float(options[0].kept[asked].mean()) > FEW_ASIDE)
            if not settled and deepest > PRODUCTS:
                options = sorted(
                    [*sums_of(*given[k], deepest=deepest, first=deepest, clock=share), *options],
                    key=lambda o: (not o.exact, o.score),
                )
            response = response._replace(noisy=_noise_of(response, options[0], samples, data))
        usable = usual_rows(response.target, data.rows, response.floor)
        windows = samples_in_windows(samples, data.rows, usable, pool)
        if response.noisy and windows.windows is not None and len(windows.windows) >= 40:
            response = pooled(response, windows)
            whole = np.ones(len(windows.windows), bool)
            options = sums_of(
                reading, data.rows, response, space, data.memory, windows, whole, deepest=deepest, clock=share
            )
        wanted[k] = response
        choices.append(
            options or sums_of(reading, data.rows, response, space, data.memory, samples, deepest=deepest, clock=share)
        )
    most = max(2, min(MOST_CONSTANTS, len(data.rows.before) // ROWS_PER_CONSTANT) // len(wanted))
    return wanted, [_readable(options, most) for options in choices]


def _readable(options: list[Choice], most: int) -> list[Choice]:
    """The choices, the best first; of those that leave something
    none with more terms than rows can tell or anybody would read.
    """
    fewer = [option for option in options if option.exact or len(option.terms) <= most]
    return fewer or sorted(options, key=lambda option: len(option.terms))


def _noise_of(response: Response, choice: Choice, samples: Samples, data: Experience) -> float:
    """What noise of observations leaves of a response, estimated from what the choice leaves of it."""
    if choice.exact or not choice.terms:
        return 0.0
    full = np.stack([samples.column(term) for term in choice.terms], axis=-1)
    return noise_left(response.target - full @ np.array(choice.factors), data.rows, choice.kept, response.floor)


def _shorter(choices: Sequence[Sequence[Choice]]) -> list[list[Choice]]:
    """The same sums with fewer terms each: what looks needed along the step may only mend its approximation."""
    unique, seen = [], set()
    for part in (0.1, 0.02, 0.005):
        option = [
            min((o for o in options if o.part <= max(part, options[0].part)), key=lambda o: o.cost)
            for options in choices
        ]
        key = tuple(tuple(t.code for t in choice.terms) for choice in option)
        if key not in seen and any(choice is not options[0] for choice, options in zip(option, choices, strict=True)):
            seen.add(key)
            unique.append(option)
    return unique


def _late(
    reading: Reading, trajectories: Sequence[Trajectory], choices: Sequence[Sequence[Choice]], space: ActionSpace
) -> int:
    """How many steps late actions act, by a regression that knows the states and the actions of some steps ago."""
    if not len(space):
        return 0
    full = experience(reading, trajectories, Delay(MOST_DELAY, len(space)))
    if len(full.rows.before) < 60:
        return 0
    samples = samples_for(reading, full.rows, False)
    most = min(MOST_DELAY, MOST_REMEMBERED // len(space))
    best = 0
    for response, options in zip(responses(reading, full.rows, full.rounding), choices, strict=True):
        if _whole(options[0]):
            continue
        plain = library(reading, response.coordinate, full.rows, [], []).levels[0]
        design = np.stack([samples.column(term) for term in plain], axis=-1)
        design = design / np.maximum(np.linalg.norm(design, axis=0), 1e-12)
        usual = usual_rows(response.target, full.rows, response.floor)
        columns = []
        for steps in range(most + 1):
            inputs = drives(space, Delay(steps, len(space)))
            products = library(reading, response.coordinate, full.rows, inputs, []).levels[1]
            acting = [*inputs, *(t for t in products if any(i.code in t.code for i in inputs))]
            columns.append(np.stack([samples.column(term) for term in acting], axis=-1)[usual])
        best = max(best, find_delay([response.target[usual]], design[usual], columns))
    return best
