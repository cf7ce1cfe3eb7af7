"""The search for a law of motion: fields, sums, chains, integrator, limits; and what held-out episodes say of each."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.errors import VpwError
from visualpatchworld.induction.clock import Clock
from visualpatchworld.induction.draft import Draft
from visualpatchworld.induction.events import at_edges, noise_left, usual_rows
from visualpatchworld.induction.experience import HELD_OUT_EVERY, Experience, experience, with_noise
from visualpatchworld.induction.fields import as_it_is, read_fields
from visualpatchworld.induction.inputs import MOST_DELAY, Delay, drives, find_delay
from visualpatchworld.induction.library import library
from visualpatchworld.induction.motion import Rates, in_order
from visualpatchworld.induction.reading import Reading
from visualpatchworld.induction.rivals import Rival, ranked, rivals_of
from visualpatchworld.induction.stepwise import Choice
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
from visualpatchworld.induction.verdict import (
    CONSISTENT,
    FAIR,
    GOOD,
    SHORT_SUM,
    Verdict,
    expected_error,
    judge,
    open_rows,
)
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace

Chains = Callable[..., list[Rates]]
# Steps that are looked at together where observations are noisy; more while a law does not reach the noise.
POOLS = (8, 24, 48)
ALONG = 2e-4  # of a response's spread: what looking along a step is itself off by
DONE = 1e-6  # an error below which no rival needs to be tried
MANY_OPEN = 0.02  # more steps than this that stay unexplained are a region rather than events
FEWER_OPEN = 0.1  # of the steps that stay unexplained without a region may stay so with it
# Of the rows are explained where those set aside are events; more of them may be actions that act late.
FEW_ASIDE = 0.97
MOST_STEPS = 12_000  # that sums and chains are searched in; long looks see all
PIECE = 600  # steps of a piece of a longer log
LATE = 0.75  # of the time: from then on no further look begins
LOOK = 0.6  # of the time that is left, for one look for sums
FIRST_LOOKS = 0.6  # of the time that is left, for a look that others follow
SIMPLE = 0.5  # of that, for terms without a constant inside
CHAINS_SHARE = 0.5  # of the time that is left, for the ranking of chains
MOST_REMEMBERED = 12  # actions of steps ago that a State may remember
MOST_CONSTANTS = 96  # of sums that are no law, in all
ROWS_PER_CONSTANT = 8
PRODUCTS, SCANS = 1, 2  # how deep the library of terms is searched


def stays(rows: int) -> Choice:
    """A field that stays as it is but for events."""
    return Choice((), (), 0.0, 0.0, 0.0, True, np.ones(rows, bool))


class NoData(VpwError):
    """Too little was recorded to search for a law."""


@dataclass(frozen=True)
class Found:
    """The law that was found, its rivals, and how far it can be trusted."""

    reading: Reading
    draft: Draft
    evidence: tuple[Rival, ...]  # the best first
    verdict: Verdict
    why: str
    seconds: float
    rates: Rates | None = None  # of a draft that is none of the evidence

    @property
    def memory(self) -> Delay:
        """The actions that the State remembers because they act late."""
        best = self.evidence[0]
        return best.experience.memory if self.draft is best.draft else Delay(0, best.experience.memory.columns)

    def states(self, trajectory: Trajectory) -> Float[np.ndarray, "T+1 S"]:
        """The states of a trajectory as the program has them, what it remembers included."""
        return np.concatenate([self.reading.states(trajectory), self.memory.remembered(trajectory.actions)], axis=1)

    @property
    def noise(self) -> Float[np.ndarray, " S"]:
        """The standard deviation of noise in every field of the State."""
        return self.evidence[0].experience.noise

    @property
    def horizon(self) -> int:
        """The steps over which errors are given."""
        return self.evidence[0].experience.horizon


@np.errstate(all="ignore")  # rivals that run away are judged by what they give
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
    began, clock = time.monotonic(), Clock.of(seconds)
    say = progress or (lambda text: None)
    steps = sum(len(t) for t in trajectories)
    trajectories = [t for t in trajectories if len(t) >= 2]
    if not trajectories or steps < 12:
        raise NoData(f"There are {steps} steps in all; a search for a law needs at least 12.")
    reading = reading or read_fields(trajectories, action_space, names, dt)
    trajectories = _fewer(trajectories)
    found = _found(trajectories, action_space, reading, chains, say, clock)
    best = found.evidence[0]
    surprised = best.error_p90 > FAIR and not best.experience.noisy and open_rows(best).rows.sum() <= 1
    if surprised and len(trajectories) >= 2 * HELD_OUT_EVERY and not clock.over:
        # What was learned from is explained in full: a mode shows in the episodes that were held out alone.
        say("searching again with other episodes held out")
        again = _found([*trajectories[2:], *trajectories[:2]], action_space, reading, chains, say, clock)
        found = again if again.evidence[0].error_p90 < best.error_p90 else found
    return replace(found, seconds=time.monotonic() - began)


def _fewer(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    """All of them or, of a log that is longer than single steps need, pieces that lie evenly over it."""
    if sum(len(t) for t in trajectories) <= MOST_STEPS:
        return list(trajectories)
    pieces = [
        Trajectory(t.observations[k : k + PIECE + 1], t.actions[k : k + PIECE])
        for t in trajectories
        for k in range(0, max(len(t) - PIECE, 0) + 1, PIECE)
    ]
    pieces = [piece for piece in pieces if len(piece) >= 2]
    return [
        pieces[k] for k in np.unique(np.linspace(0, len(pieces) - 1, min(MOST_STEPS // PIECE, len(pieces))).astype(int))
    ]


def _found(
    trajectories: Sequence[Trajectory],
    action_space: ActionSpace,
    reading: Reading,
    chains: Chains | None,
    say: Callable[[str], None],
    clock: Clock,
) -> Found:
    """The search with one choice of held-out episodes."""
    began, late = time.monotonic(), clock.part(LATE)
    evolving = bool(reading.coordinates)
    reading = reading if evolving else as_it_is(reading)

    moving = [c for c in reading.coordinates if c.velocity is not None]
    coupled = chains is not None and len(moving) > 1
    search = _Search(trajectories, action_space, say, clock)
    evidence: list[Rival] = []
    if reading.hidden:
        # What looks like a hidden velocity may be a law of first order that a flexible fit does not know: the simpler
        # one is asked first.
        say("sums of terms without hidden velocities")
        evidence = _sums(search, reading.without_hidden(), PRODUCTS, only_exact=True)
        reading = reading if evidence else _of_first_order(search, reading)
    looks = _looks(reading, coupled) if evolving else [(reading, PRODUCTS, False)]
    looks = [] if _settled(evidence) else looks
    for number, (version, deepest, only_exact) in enumerate(looks):
        say("sums of terms")
        shared = search if number == len(looks) - 1 else replace(search, clock=clock.part(FIRST_LOOKS))
        evidence = ranked([*evidence, *_sums(shared, version, deepest, only_exact=only_exact)])
        if _settled(evidence) or late.over:
            break
    short = bool(evidence) and _constants_of_rates(evidence[0]) <= SHORT_SUM * len(reading.coordinates)
    # Up to noise a sum may pass for a chain: then both are tried, and what makes the observations likelier wins.
    sure = _settled(evidence) and (not coupled or (short and not evidence[0].experience.noisy))
    if chains is not None and not sure and not clock.over:
        say("chains of slides and hinges")
        for version in _versions(reading):
            base = experience(version, trajectories, Delay(0, len(action_space)))
            linked = _chains(chains, version, base, clock)
            evidence = ranked([*evidence, *linked])
            if _settled(linked) or clock.over:
                break
    if coupled and not _settled(evidence) and not _good_chain(evidence) and not clock.over:
        say("sums of terms with thresholds and waves")
        version = evidence[0].reading if reading.hidden and evidence else _versions(reading)[0]
        evidence = ranked([*evidence, *_sums(search, version, SCANS if not late.over else PRODUCTS)])
    if not evidence:
        evidence = _sums(search, _versions(reading)[0], PRODUCTS)
    best = evidence[0]
    verdict, why = judge(evidence)
    if not evolving:
        verdict, why = (
            "unexplained",
            "No field evolves in a way that could be predicted: "
            + "; ".join(f"{field.name}: {field.evidence}" for field in reading.fields),
        )
    if verdict == "explained" and best.draft.empirical:  # what its terms leave is noise
        best = replace(best, draft=replace(best.draft, empirical=False))
        evidence = [best, *evidence[1:]]
    reading = replace(best.reading, turning=_turning(best))
    return Found(reading, best.draft, tuple(evidence), verdict, why, time.monotonic() - began)


def _turning(best: Rival) -> tuple[str, ...]:
    """The coordinates of which the program has the sine or cosine as they are: rewards and ends may have it, too."""
    text = best.draft.program.text
    turned = set(re.findall(r"np\.(?:sin|cos)\(state\.(\w+)\)", text))
    turned |= {
        name
        for tilts in re.findall(r"\bangles = \((.*?)\)", text, re.DOTALL)
        for name in re.findall(r"state\.(\w+)", tilts)
    }
    return tuple(c.name for c in best.reading.coordinates if c.name in turned)


@dataclass(frozen=True)
class _Search:
    trajectories: Sequence[Trajectory]
    space: ActionSpace
    say: Callable[[str], None]
    clock: Clock


def _settled(evidence: Sequence[Rival]) -> bool:
    """Whether the best rival leaves nothing to look for: a law,
    not a mere sum of terms, that is exact or reaches the noise.
    """
    if not evidence or evidence[0].draft.empirical:
        return False
    best = evidence[0]
    if best.experience.noisy:
        return best.error <= CONSISTENT * expected_error(best)
    return best.error < GOOD / 100


def _of_first_order(search: _Search, reading: Reading) -> Reading:
    """The reading without the hidden velocities of coordinates that a sum of terms gives exactly without."""
    simple = reading.without_hidden()
    data = experience(simple, search.trajectories, Delay(0, len(search.space)))
    wanted, choices = _choices(simple, data, search.space, False, PRODUCTS, search.clock.part(LOOK))
    exact = {
        r.field
        for r, options in zip(wanted, choices, strict=True)
        if options[0].exact and options[0].terms and not r.noisy
    }
    kept = tuple(
        plain if plain.name in exact else c for c, plain in zip(reading.coordinates, simple.coordinates, strict=True)
    )
    found = replace(reading, coordinates=kept)
    return found if any(c.velocity is not None for c in kept) else simple


def _good_chain(evidence: Sequence[Rival]) -> bool:
    """Whether a chain explains so much that no sum of terms, which takes long to search for, is likely to do better."""
    return bool(evidence) and evidence[0].source == "chain" and evidence[0].error < GOOD / 10


def _constants_of_rates(evidence: Rival) -> int:
    return evidence.constants - sum(len(limit.numbers) for limit in evidence.limits)


def _versions(reading: Reading) -> list[Reading]:
    """Readings to try: hidden velocities may belong to either integrator."""
    if reading.hidden and reading.integrator in ("none", "unknown"):
        return [replace(reading, integrator="semi-implicit"), replace(reading, integrator="explicit")]
    return [reading]


def _looks(reading: Reading, coupled: bool) -> list[tuple[Reading, int, bool]]:
    """Which readings are searched for sums, how deep, and whether only exact ones count."""
    if reading.weight is None and reading.integrator in ("unknown", "none") and not reading.hidden:
        # Without a velocity nothing has shown how the world integrates: in single steps, which soon shows, or smoothly.
        timed = reading.integrator == "unknown"
        single = replace(reading, integrator="explicit") if timed else reading
        smooth = replace(reading, integrator="unknown")
        if timed:
            return [(single, PRODUCTS, True), (smooth, PRODUCTS, True), (single, SCANS, True), (smooth, SCANS, False)]
        return [(single, PRODUCTS, True), (single, SCANS, False), (smooth, PRODUCTS, True), (smooth, SCANS, False)]
    return [(version, PRODUCTS if coupled else SCANS, coupled) for version in _versions(reading)]


def _sums(search: _Search, reading: Reading, deepest: int, *, only_exact: bool = False) -> list[Rival]:
    """Rivals whose every rate is a sum of terms; where asked, none unless the sums leave nothing."""
    space, clock = search.space, search.clock
    data = experience(reading, search.trajectories, Delay(0, len(space)))
    along = reading.integrator not in ("explicit", "semi-implicit", "none")
    wanted, choices = _choices(reading, data, space, along, deepest, clock.part(LOOK))
    if not all(_whole(options[0]) for options in choices) and not clock.over:
        late = _late(reading, search.trajectories, choices, space)
        if late:
            search.say(f"actions act {late} steps late")
            trial = experience(reading, search.trajectories, Delay(late, len(space)))
            trial_wanted, trial_choices = _choices(reading, trial, space, along, deepest, clock.part(LOOK))
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
        wanted, choices = _choices(reading, data, space, along, SCANS, clock.part(LOOK), every=True)
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
        wanted, choices = _choices(reading, data, space, along, deepest, clock.part(LOOK), pool)
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


def _choices(
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


def _chains(chains: Chains, reading: Reading, data: Experience, clock: Clock) -> list[Rival]:
    """Rivals that are chains, learned from steps without events."""
    if data.memory.steps:
        data = replace(data, memory=Delay(0, data.memory.columns))
    width = len(reading.state_names)
    states = [s[:, :width] for s in data.states]
    evidence: list[Rival] = []
    for rates in chains(reading, states, data.actions, usable=_usable(reading, data), clock=clock.part(CHAINS_SHARE)):
        if evidence and clock.over:
            break
        evidence += rivals_of(reading, data, rates, "chain", clock, exact=False)
    return evidence


def _usable(reading: Reading, data: Experience) -> list[Bool[np.ndarray, " T"]]:
    """By trajectory, the steps that a flexible fit of every response explains about as well as most."""
    usual = np.ones(len(data.rows.before), bool)
    for response in responses(reading, data.rows, data.rounding):
        usual &= usual_rows(response.target, data.rows, response.floor)
    ends = np.cumsum([len(a) for a in data.actions])[:-1]
    return np.split(usual, ends)
