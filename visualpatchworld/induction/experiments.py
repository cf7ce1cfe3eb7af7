"""Experiments: the second part of the budget goes where random
actions never come, and what disagrees there is searched for anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.induction.clock import Clock
from visualpatchworld.induction.ends import Ends, Inside, find_ends, find_inside, tests
from visualpatchworld.induction.exogenous import Outside
from visualpatchworld.induction.experience import experience
from visualpatchworld.induction.march import march
from visualpatchworld.induction.probe import (
    FEW_VALUES,
    MOST_STEPS,
    Extremes,
    Probe,
    acting,
    extreme_actions,
    find_places,
    pumping_policies,
)
from visualpatchworld.induction.reward import Reward, find_reward, holds
from visualpatchworld.induction.reward_places import named_distances
from visualpatchworld.induction.rivals import with_limits
from visualpatchworld.induction.search import Found
from visualpatchworld.induction.terms import Rows, rows_of
from visualpatchworld.induction.transitions import Transitions, transitions
from visualpatchworld.induction.verdict import judge, open_rows
from visualpatchworld.plan.return_search import ReturnPlanner
from visualpatchworld.plan.reward import rehearse
from visualpatchworld.program.program import Program
from visualpatchworld.world.collect import collect, record, replay
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import World

EVERY = 5  # one episode of so many is kept aside
PROBE_SHARE = 0.5  # of the steps that are left, for looks at chosen states
PUMP_SHARE = 0.3  # of those left then, for pumping energy; and half of the rest for extremes
LEAST_OPEN = 2  # mispredicted steps that a limit is searched for
MANY_OPEN = 0.02  # of the steps: more that stay mispredicted ask for another law
SECONDS_TO_SEARCH = 15.0
SECONDS_TO_REHEARSE = 12.0
SECONDS_TO_EXPLORE = 3.0
LEAST_FOR_RULES = 3.0
MANY_CONSTANTS = 30  # of a program that explains little: no plan is made with more
LIMITS_SHARE = 0.5  # of the time that is left, for limits that new steps ask for
REHEARSALS = 3
REHEARSER = ReturnPlanner(horizon=40, samples=96, rounds=3, execute=4, elites=16)
STEER = 0.1  # what going as far as ever is worth beside going on at all
NO_REWARD = Reward("0.0", 0.0, "none")
FEWEST = 10  # steps that are worth an episode

SearchAgain = Callable[[Sequence[Trajectory]], Found]
Write = Callable[["Known"], Program]


@dataclass(frozen=True)
class Known:
    """What was found so far, and all that was seen: episodes to
    learn from, episodes kept aside, and single steps looked at.
    """

    found: Found  # given the exogenous columns
    outside: Outside
    reward: Reward
    ends: Ends
    data: tuple[Trajectory, ...]
    aside: tuple[Trajectory, ...]
    looks: tuple[Trajectory, ...] = ()
    inside: Inside = field(default_factory=Inside)

    @cached_property
    def whole(self) -> Found:
        """What was found, with the exogenous columns as fields of the State."""
        return self.outside.lifted(self.found, self.data)

    @property
    def steps(self) -> Transitions:
        return transitions(self.whole.reading, [t for t in (*self.data, *self.aside, *self.looks) if len(t)])

    @property
    def given(self) -> list[Trajectory]:
        """All that was seen and not kept aside, as laws are searched in it."""
        return self.outside.given([t for t in (*self.data, *self.looks) if len(t)])


class Experiments:
    """What is tried in a world, and how what is known changes with it."""

    def __init__(
        self,
        world: World,
        search: SearchAgain,
        write: Write,
        *,
        budget: int,
        seed: int,
        clock: Clock,
        progress: Callable[[str], None],
    ):
        self.world, self.search, self.write = world, search, write
        self.budget, self.seed, self.clock, self.progress = budget, seed, clock, progress
        self.rng = np.random.default_rng(seed)

    @property
    def room(self) -> int:
        """Steps that an episode may still take; none once time is up."""
        return (
            0
            if self.clock.over
            else min(self.budget - self.world.env_steps, MOST_STEPS, self.world.time_limit or MOST_STEPS)
        )

    def run(self, known: Known, visited: Sequence[np.ndarray]) -> Known:
        """All experiments in turn; each begins with what the one before it taught."""
        self.progress("looking beyond what was visited")
        known = self._probed(known, visited)
        self.progress("exploring")
        fresh, fresh_aside = hold_out(list(self._explored(known)))
        known = self._learned(known, fresh, fresh_aside)
        for number in range(REHEARSALS):
            if (
                known.reward.kind == "none"
                or _wide_guess(known.found)
                or self.room < FEWEST
                or self.clock.left < SECONDS_TO_REHEARSE
            ):
                break
            self.progress("rehearsing the plan")
            program = self.write(known)
            played = rehearse(self.world, program, REHEARSER, self.seed + number, self.room, lambda: self.clock.over)
            as_predicted = went_as_predicted(known, played)
            known = self._learned(known, [played])
            if as_predicted:
                break
        return known

    def _probed(self, known: Known, visited: Sequence[np.ndarray]) -> Known:
        """Looks at chosen states, where the world can be put into them."""
        reading = known.whole.reading
        places = find_places(self.world, reading, visited)
        if places is None:
            return known
        steps, most = known.steps, round(PROBE_SHARE * (self.budget - self.world.env_steps))
        # What a world remembers is not part of a place, so that nothing can be predicted from one.
        predicts = _lawful(known.found) and not known.found.memory.steps
        program = known.whole.draft.program if predicts else None
        # Nothing is predicted of fields without a tolerance, such as exogenous ones; of memory nothing is read.
        best = known.found.evidence[0]
        by_name = dict(zip(best.reading.state_names, open_rows(best).tolerance, strict=False))
        tolerance = np.array([by_name.get(name, np.inf) for name in reading.state_names])
        probe = Probe(places, program, tolerance, steps, most, self.rng, self.clock)
        edges = probe.rays()
        probe.run_into(edges, extreme_actions(self.world.action_space))
        for happened in (steps.ended, _paid_otherwise(steps)):
            if happened is not None:
                probe.segments(happened)
        return self._learned(replace(known, looks=(*known.looks, *probe.looks)), probe.runs)

    def _explored(self, known: Known) -> Iterator[Trajectory]:
        """Episodes that pump energy into every coordinate, then plans to every extreme, while the budget lasts."""
        world, reading = self.world, known.whole.reading
        left = self.budget - world.env_steps
        pumped = world.env_steps + round(PUMP_SHARE * left)
        for policy in pumping_policies(reading, world.action_space):
            if self.room < FEWEST or world.env_steps >= pumped:
                break
            first = world.action_space.sample(self.rng)
            yield record(world, world.reset(self.seed + world.env_steps), acting(policy, reading, first), self.room)
        if _wide_guess(known.found):
            # Plans with a long sum that explains little lead nowhere on purpose, and take long to compile.
            yield from collect(world, max(self.room, 0), self.rng)
            return
        if self.room < FEWEST or self.clock.left < SECONDS_TO_EXPLORE:
            return
        planned = world.env_steps + (self.budget - world.env_steps) // 2
        if "place" not in world.powers:
            yield from self._steered(known, planned)
        extremes = Extremes(self.write(known), reading, world.action_space)
        for actions in extremes.plan(world.reset(self.seed), self.rng):
            if self.room < FEWEST or world.env_steps >= planned:
                break
            yield record(world, world.reset(self.seed), replay(actions), self.room)

    def _steered(self, known: Known, until: int) -> Iterator[Trajectory]:
        """Episodes that a planner steers as far out as it can in every
        coordinate, both ways, without coming to an end that is known.
        """
        steps, text = known.steps, self.write(replace(known, reward=NO_REWARD)).text
        for c in known.found.reading.coordinates:
            for side in () if c.angle else (1, -1):
                if self.room < FEWEST or self.world.env_steps >= until or self.clock.left < SECONDS_TO_REHEARSE:
                    return
                reach = float(np.abs(steps.before[:, steps.names.index(c.name)]).max()) or 1.0
                aim = replace(NO_REWARD, expression=f"1.0 + {side * STEER / reach!r} * next_state.{c.name}")
                program = Program(f"{text}\n\n{aim.function()}\n")
                yield rehearse(
                    self.world, program, REHEARSER, self.seed + (side > 0), self.room, lambda: self.clock.over
                )

    def _learned(self, known: Known, fresh: Sequence[Trajectory], aside: Sequence[Trajectory] = ()) -> Known:
        """What is known after more was seen: limits anew where steps were
        mispredicted, another law where limits do not do, and rules.
        """
        known = replace(known, data=(*known.data, *fresh), aside=(*known.aside, *aside))
        found = self._searched(known)
        return with_rules(replace(known, found=found), self.world, self.clock)

    def _searched(self, known: Known) -> Found:
        found = known.found
        seen = known.given
        if not seen or mispredicted(found, seen).sum() < LEAST_OPEN:
            return found
        best = found.evidence[0]
        data = experience(best.reading, known.outside.given([t for t in known.data if len(t) >= 2]), found.memory)
        looks = known.outside.given([t for t in known.looks if len(t)])
        again = with_limits(
            best, data, _rows(found, looks) if looks and not found.memory.steps else None, self.clock.part(LIMITS_SHARE)
        )
        evidence = (again, *found.evidence[1:])
        verdict, why = judge(evidence)
        option = replace(found, draft=again.draft, evidence=evidence, verdict=verdict, why=why)
        if mispredicted(option, seen).sum() <= mispredicted(found, seen).sum():
            found = option
        if mispredicted(found, seen).mean() > MANY_OPEN and self.clock.left > SECONDS_TO_SEARCH:
            self.progress("searching again with what was seen since")
            other = self.search(known.data)
            # A sum that explains nothing follows a few odd steps more closely than a law does.
            as_good = _lawful(other) or not _lawful(found)
            if as_good and mispredicted(other, seen).sum() < mispredicted(found, seen).sum():
                found = other
        return found


def _wide_guess(found: Found) -> bool:
    return not _lawful(found) and len(found.draft.free) > MANY_CONSTANTS


def _lawful(found: Found) -> bool:
    return found.verdict != "unexplained" and not found.draft.empirical


def with_rules(known: Known, world: World, clock: Clock) -> Known:
    """Reward and end anew from all that was seen; a reward that still holds stays."""
    steps = known.steps
    reward = (
        known.reward
        if holds(known.reward, steps)
        else find_reward(known.whole.reading, world.action_space, steps, clock.at_least(LEAST_FOR_RULES))
    )
    ends = find_ends(known.whole.reading, steps, distances=named_distances(reward.expression))
    alone = replace(known, data=(*known.data, *known.aside))
    inside = (
        find_inside(known.whole.reading, steps, mispredicted(known.found, alone.given))
        if _lawful(known.found)
        else Inside()
    )
    return replace(known, reward=reward, ends=ends, inside=inside)


def went_as_predicted(known: Known, played: Trajectory) -> bool:
    """Whether an episode went, paid and ended as the program says."""
    alone = replace(known, data=(played,), aside=(), looks=())
    steps = alone.steps
    crossed = steps.value(
        tests(known.ends.thresholds, lambda rule: repr(rule.value)).replace("state.", "next_state.")
    ).astype(bool)
    return (
        not mispredicted(known.found, alone.given).any()
        and holds(known.reward, steps)
        and bool((crossed == steps.ended).all())
    )


def mispredicted(found: Found, seen: Sequence[Trajectory]) -> Bool[np.ndarray, " N"]:
    """Steps that the program misses by far more than it missed most of those that it was found from.

    Nothing is said of steps whose remembered actions were done before a trajectory begins.
    """
    rows = _rows(found, seen)
    given = march(found.draft.program, rows.before, rows.actions[:, None])[:, 0]
    off = np.where(np.isfinite(given), np.abs(rows.after - given), np.inf)
    missed = (off > open_rows(found.evidence[0]).tolerance[: off.shape[1]]).any(axis=1)
    return np.asarray(missed & (rows.time >= found.memory.steps))


def _rows(found: Found, seen: Sequence[Trajectory]) -> Rows:
    states: list[Float[np.ndarray, "T+1 S"]] = [found.states(t) for t in seen]
    return rows_of((*found.reading.state_names, *found.memory.names), states, [t.actions for t in seen])


def _paid_otherwise(steps: Transitions) -> Bool[np.ndarray, " N"] | None:
    """The steps with the rarest of a few rewards; None where there are many, or only one."""
    values, counts = np.unique(np.round(steps.rewards[np.isfinite(steps.rewards)], 9), return_counts=True)
    if not 2 <= len(values) <= FEW_VALUES:
        return None
    return np.isclose(steps.rewards, values[np.argmin(counts)])


def hold_out(trajectories: Sequence[Trajectory]) -> tuple[list[Trajectory], list[Trajectory]]:
    """Whole episodes to learn from and whole episodes kept
    aside; the end of the longest one where there are too few.
    """
    if len(trajectories) >= EVERY:
        aside = [trajectory for i, trajectory in enumerate(trajectories) if i % EVERY == EVERY - 1]
        return [trajectory for i, trajectory in enumerate(trajectories) if i % EVERY != EVERY - 1], aside
    longest = max(range(len(trajectories)), key=lambda i: len(trajectories[i]), default=0)
    if not trajectories or len(trajectories[longest]) < 2 * EVERY:
        return list(trajectories), []
    whole = trajectories[longest]
    first = len(whole) - len(whole) // EVERY
    paid = (None, None) if whole.rewards is None else (whole.rewards[:first], whole.rewards[first:])
    begun = Trajectory(whole.observations[: first + 1], whole.actions[:first], paid[0])
    ended = Trajectory(whole.observations[first:], whole.actions[first:], paid[1], whole.terminated)
    return [begun if i == longest else trajectory for i, trajectory in enumerate(trajectories)], [ended]
