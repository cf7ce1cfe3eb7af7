"""A law of sums and rules is tried: in new episodes that go where it says, and where the world may end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from visualpatchworld.grammar.productions import Grammar
from visualpatchworld.induction.ends import find_ends
from visualpatchworld.induction.experiments import hold_out
from visualpatchworld.induction.lawful import Lawful, search_law, smooth_law, tried
from visualpatchworld.induction.reading import Reading
from visualpatchworld.induction.transitions import Transitions, transitions
from visualpatchworld.search.reach import AHEAD, reach, touch
from visualpatchworld.world.collect import collect
from visualpatchworld.world.log import Curve, LogWorld
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import World

Progress = Callable[[str], None]

TRIALS = (0.6, 0.3)  # of the steps that are left: rounds of new episodes that an exact law is tried in
MOST_FIELDS = 14  # of a world that sums and rules are searched in: beyond, products are too many
SMOOTH = 0.05  # of the spread of motion: what a law of a smooth solution may be off after the longest horizon
NARROW = 1e-3  # of an end's own value: its bracket is narrow enough
LEAST_TRIAL = 60  # steps that a trial is worth


@dataclass(frozen=True)
class Trial:
    """What the search for sums and rules found, and all that was seen by then."""

    found: Lawful
    data: tuple[Trajectory, ...]
    aside: tuple[Trajectory, ...]
    undriven: bool  # nothing was ever done

    @property
    def enough(self) -> bool:
        """Whether no other law is looked for: it is exact, or a smooth solution of which sums are the whole family."""
        return self.found.holds or self.found.fits or (self.undriven and self.found.left <= SMOOTH)


def try_law(
    world: World,
    data: list[Trajectory],
    aside: list[Trajectory],
    budget: int,
    rng: np.random.Generator,
    progress: Progress,
    grammar: Grammar = Grammar(),
) -> Trial | None:
    """What sums and rules say of all that was seen, an exact law tried in the rest of the budget; None where they say
    nothing.
    """
    if len(world.field_names) > MOST_FIELDS:
        return None

    def search() -> Lawful:
        return search_law(data, aside, world.field_names, world.action_space, world.dt, progress, grammar)

    undriven = not len(world.action_space)
    smooth = smooth_law(_curves(world, data, aside), world.field_names, world.dt or 1.0, progress) if undriven else None
    # A simulator's steps are exact ones of some integrator; rows of a log are measured.
    if smooth is not None and smooth.fits and isinstance(world, LogWorld):
        return Trial(smooth, tuple(data), tuple(aside), undriven)
    begin = 0  # the next end of a field to go to
    try:
        found = search()
        for share in TRIALS:
            left = budget - world.env_steps if "reset" in world.powers else 0
            if left < LEAST_TRIAL or not found.law.exact:
                break
            progress("trying the law in new episodes")
            more = reach(world, found.law, round(share * left), rng, begin)
            begin += len(more)
            new, new_aside = hold_out(more or collect(world, round(share * left), rng))
            if not found.holds:  # held-out episodes that refute a law are learned from, and others take their place
                data, aside = [*data, *aside], []
            data, aside = [*data, *new], [*aside, *new_aside]
            found = tried(found, data, aside, world.action_space, world.dt) or search()
    except (ArithmeticError, LookupError, ValueError) as error:  # one hypothesis that breaks does not end a run
        progress(f"sums and rules were given up ({type(error).__name__}: {error})")
        return None
    if smooth is not None and not found.holds and smooth.left < found.left:
        found = smooth
    return Trial(found, tuple(data), tuple(aside), undriven)


def _curves(world: World, data: Sequence[Trajectory], aside: Sequence[Trajectory]) -> list[Curve]:
    """Times and rows of all that was seen, across the gaps of a log."""
    if isinstance(world, LogWorld) and world.curves:
        return list(world.curves)
    dt = world.dt or 1.0
    whole = list(world.logged()) if isinstance(world, LogWorld) else [*data, *aside]
    return [(dt * np.arange(len(t.observations)), t.observations) for t in whole]


def narrowed(
    world: World,
    lawful: Lawful,
    reading: Reading,
    seen: list[Trajectory],
    budget: int,
    rng: np.random.Generator,
) -> list[Trajectory]:
    """All that was seen, and episodes that narrow down at which values of a field the world ends."""
    left = budget - world.env_steps if "reset" in world.powers and lawful.holds else 0
    if left >= LEAST_TRIAL and not any(t.terminated for t in seen):
        seen = [*seen, *reach(world, lawful.law, round(TRIALS[0] * left), rng)]
    places = {lawful.emitted.fields[f.name]: k for k, f in enumerate(lawful.law.fields)}
    while "reset" in world.powers and lawful.holds and budget - world.env_steps >= AHEAD:
        brackets = _separators(reading, transitions(reading, seen))
        name = max((n for n in brackets if n in places), key=lambda n: brackets[n][0], default=None)
        if name is None or brackets[name][0] <= NARROW:
            break
        nearer = touch(world, lawful.law, places[name], brackets[name][1], budget - world.env_steps, rng)
        if not len(nearer):
            break
        seen = [*seen, nearer]
    return seen


def _separators(reading: Reading, steps: Transitions) -> dict[str, tuple[float, tuple[float, float]]]:
    """By field, a bracket of a threshold that ends may lie beyond: how wide it is for the field's values, and where.

    Several fields may separate the few ends that were seen; going into the widest bracket tells which of them are
    wrong. If no single threshold does, those of the ends that were found are narrowed down.
    """
    found = {}
    if not steps.ended.any() or steps.ended.all():
        return found
    sizes = dict(zip(steps.names, np.maximum(np.abs(steps.after).max(axis=0), 1e-12), strict=True))
    for k, name in enumerate(steps.names):
        for sign in (1.0, -1.0):
            value = sign * steps.after[:, k]
            low, high = float(value[~steps.ended].max()), float(value[steps.ended].min())
            if high > low:
                found[name] = (high - low) / sizes[name], (low, high) if sign > 0 else (-high, -low)
    if found:
        return found
    for threshold in find_ends(reading, steps).thresholds:
        name, (low, high) = threshold.expression.removeprefix("state."), threshold.bracket
        if name in sizes and threshold.also is None:
            found[name] = max(found.get(name, (0.0,)), ((high - low) / sizes[name], (low, high)))
    return found
