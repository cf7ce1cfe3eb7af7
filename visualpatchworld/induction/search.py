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
from visualpatchworld.induction.events import usual_rows
from visualpatchworld.induction.experience import HELD_OUT_EVERY, Experience, experience
from visualpatchworld.induction.fields import as_it_is, read_fields
from visualpatchworld.induction.inputs import Delay
from visualpatchworld.induction.motion import Rates
from visualpatchworld.induction.reading import Reading
from visualpatchworld.induction.rivals import Rival, ranked, rivals_of
from visualpatchworld.induction.sum_rivals import LOOK, PRODUCTS, SCANS, SumSearch, choices_of, sum_rivals
from visualpatchworld.induction.sums import responses
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
MOST_STEPS = 12_000  # that sums and chains are searched in; long looks see all
PIECE = 600  # steps of a piece of a longer log
LATE = 0.75  # of the time: from then on no further look begins
FIRST_LOOKS = 0.6  # of the time that is left, for a look that others follow
CHAINS_SHARE = 0.5  # of the time that is left, for the ranking of chains


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
    search = SumSearch(trajectories, action_space, say, clock)
    evidence: list[Rival] = []
    if reading.hidden:
        # What looks like a hidden velocity may be a law of first order that a flexible fit does not know: the simpler
        # one is asked first.
        say("sums of terms without hidden velocities")
        evidence = sum_rivals(search, reading.without_hidden(), PRODUCTS, only_exact=True)
        reading = reading if evidence else _of_first_order(search, reading)
    looks = _looks(reading, coupled) if evolving else [(reading, PRODUCTS, False)]
    looks = [] if _settled(evidence) else looks
    for number, (version, deepest, only_exact) in enumerate(looks):
        say("sums of terms")
        shared = search if number == len(looks) - 1 else replace(search, clock=clock.part(FIRST_LOOKS))
        evidence = ranked([*evidence, *sum_rivals(shared, version, deepest, only_exact=only_exact)])
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
        evidence = ranked([*evidence, *sum_rivals(search, version, SCANS if not late.over else PRODUCTS)])
    if not evidence:
        evidence = sum_rivals(search, _versions(reading)[0], PRODUCTS)
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


def _of_first_order(search: SumSearch, reading: Reading) -> Reading:
    """The reading without the hidden velocities of coordinates that a sum of terms gives exactly without."""
    simple = reading.without_hidden()
    data = experience(simple, search.trajectories, Delay(0, len(search.space)))
    wanted, choices = choices_of(simple, data, search.space, False, PRODUCTS, search.clock.part(LOOK))
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
