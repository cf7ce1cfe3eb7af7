"""Experiments: go with a law where random actions do not come, to the ends of every field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, product

import numpy as np
from jaxtyping import Float

from visualpatchworld.search.check import followed
from visualpatchworld.search.find import Law
from visualpatchworld.search.rows import Rows, read, rows_of
from visualpatchworld.search.rules import predicted
from visualpatchworld.world.collect import record, replay
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace, World

PLANS = 96  # action sequences that are imagined at a time
AHEAD = 30  # steps that they reach
ACTED = 10  # steps that are done before the next plan
PIECES = 3  # of a sequence, each with one action held
WAYS = 6  # times as many plans, where one has to be just right
WEAKEST = 0.8  # of a plan's actions, where its way is to be fine-tuned
LONGEST = 120  # steps of an experiment


def reach(world: World, law: Law, steps: int, rng: np.random.Generator, begin: int = 0) -> list[Trajectory]:
    """Episodes that go as far as the law can take them, up and down every field in turn, from the goal `begin` on.

    An episode that would be cut short by the number of steps is not begun: the end of its way is what it is for.
    """
    goals = [(k, sign) for k, f in enumerate(law.fields) if f.columns and f.kind != "steady" for sign in (1.0, -1.0)]
    room = min(LONGEST, world.time_limit or LONGEST, steps)
    found: list[Trajectory] = []
    begun = world.env_steps
    while goals and world.env_steps - begun + room <= steps:
        field, sign = goals[(begin + len(found)) % len(goals)]
        first = world.reset(int(rng.integers(2**31)))
        seen = record(world, first, _policy(law, world.action_space, field, sign, rng), room)
        if not len(seen):
            break
        found.append(seen)
    return found


def touch(
    world: World, law: Law, field: int, bracket: tuple[float, float], steps: int, rng: np.random.Generator
) -> Trajectory:
    """An episode that narrows down where in a bracket of a field's values something happens.

    Of many imagined ways, the one is gone whose steps leave the smallest gap in the bracket.
    """
    first = world.reset(int(rng.integers(2**31)))
    start = read(np.asarray(first)[None], law.fields)[0]
    space, ahead = world.action_space, min(LONGEST, world.time_limit or LONGEST, steps)
    best: tuple[float, np.ndarray] | None = None
    plans = np.concatenate([_plans(space, rng, ahead) for _ in range(WAYS)])
    for turn in range(2):
        ways = _imagined(law, space, start, plans)[:, :, field]
        gaps = np.array([_gap(way, bracket) for way in ways])
        chosen = int(np.argmin(gaps))
        if best is None or gaps[chosen] < best[0]:
            best = float(gaps[chosen]), plans[chosen]
        if turn == 0 and space.kind == "continuous":
            # The same plan, a little weaker, passes the bracket at other places.
            weaker = np.linspace(WEAKEST, 1.0, PLANS)[:, None, None]
            plans = np.clip(weaker * plans[chosen], np.asarray(space.low), np.asarray(space.high))
    assert best is not None
    return record(world, first, replay(best[1]))


def _gap(way: Float[np.ndarray, " H"], bracket: tuple[float, float]) -> float:
    """The widest part of a bracket that a way leaves without a step in it."""
    low, high = bracket
    inside = way[(way > low) & (way < high)]
    return float(np.max(np.diff(np.sort([low, *inside.tolist(), high]))))


def _policy(law: Law, space: ActionSpace, field: int, sign: float, rng: np.random.Generator):
    """Actions that take a field furthest, planned again every few steps."""
    queue: list[np.ndarray] = []
    done: list[np.ndarray] = []

    def act(seen: Sequence[Float[np.ndarray, " O"]]) -> Float[np.ndarray, " A"]:
        if not queue:
            start = _state(law, space, seen, done)
            plans = _plans(space, rng, AHEAD)
            ends = _imagined(law, space, start, plans)[:, :, field]
            # The furthest that a plan gets to; what the law cannot say is not worth going to.
            worth = np.where(np.isfinite(ends), sign * ends, -np.inf).max(axis=1)
            queue.extend(plans[int(np.argmax(worth)), :ACTED])
        done.append(queue.pop(0))
        return done[-1]

    return act


def _state(law: Law, space: ActionSpace, seen: Sequence[np.ndarray], done: Sequence[np.ndarray]) -> np.ndarray:
    """The state now: what is seen, and hidden fields as the law has carried them since the episode began."""
    now = read(np.asarray(seen[-1])[None], law.fields)[0]
    if not done or all(f.columns for f in law.fields):
        return now
    rows = followed(law, [Trajectory(np.asarray(seen), np.asarray(done))], space)
    return np.where([bool(f.columns) for f in law.fields], now, rows.after[-1])


def _plans(space: ActionSpace, rng: np.random.Generator, ahead: int) -> Float[np.ndarray, "K H A"]:
    """Sequences of a few held actions, most of them at the ends of their range."""
    plans = np.empty((PLANS, ahead, len(space)))
    for plan, held in zip(plans, _corners(space), strict=False):
        plan[:] = held
    for plan in plans[len(_corners(space)) :]:
        cuts = np.sort(rng.integers(0, ahead, PIECES - 1))
        for begin, end in zip((0, *cuts), (*cuts, ahead), strict=True):
            action = space.sample(rng)
            if space.kind == "continuous" and rng.random() < 0.7:
                action = np.where(rng.random(len(space)) < 0.5, space.low, space.high)
            plan[begin:end] = action
    return plans


def _corners(space: ActionSpace) -> list[tuple[float, ...]]:
    """Actions at the ends of their ranges, to hold all the time: every choice, or every corner of a few numbers."""
    ends = [range(n) for n in space.counts] if space.kind == "discrete" else zip(space.low, space.high, strict=True)
    return list(islice(product(*ends), PLANS // 4))


@np.errstate(all="ignore")
def _imagined(
    law: Law, space: ActionSpace, start: Float[np.ndarray, " F"], plans: Float[np.ndarray, "K H A"]
) -> Float[np.ndarray, "K H F"]:
    """The states along each plan."""
    now = np.repeat(start[None], len(plans), axis=0)
    found = []
    for step in range(plans.shape[1]):
        rows = _rows(law, space, now, plans[:, step])
        now = predicted(rows, law.motion, law.rules)[0]
        found.append(now)
    return np.stack(found, axis=1)


def _rows(law: Law, space: ActionSpace, states: np.ndarray, actions: np.ndarray) -> Rows:
    blank = np.zeros((2, 1 + max((c for f in law.fields for c in f.columns), default=0)))
    one = rows_of([Trajectory(blank, actions[:1])], law.fields, space)
    inputs = {}
    for name in one.inputs:
        stem, chosen, choice = name.partition("_is_")
        column = actions[:, int(stem.removeprefix("action_"))]
        inputs[name] = (column == int(choice)).astype(float) if chosen else column
    every = {f"action_{k}": actions[:, k] for k in range(actions.shape[1])}
    return replace(
        one,
        before=states,
        after=states,
        inputs={**every, **inputs},
        episode=np.arange(len(states)),
        time=np.zeros(len(states), int),
    )
