"""Gathering experience: many short episodes of varied actions,
from resets and from chosen places, within a budget of steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.errors import VpwError
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace, World

Style = Literal["held", "white", "bang", "zero", "smooth"]
NewPlace = Literal["near", "mixed", "beyond"]
NEW_PLACES: tuple[NewPlace, ...] = ("near", "mixed", "beyond")
STYLES: tuple[Style, ...] = ("held", "white", "zero", "bang", "held", "smooth", "bang")
LENGTHS = (60, 25, 100, 40, 200)
LONGEST_HOLD = 40
BEYOND = 0.15  # of the visited range, to either side of it
TRIES = 8  # of a place, before an episode begins with a reset
SHORT = 5  # steps of an episode from which no further place is made
PLACES_PER_EPISODE = 20

# All seen so far -> action, or None to stop.
Policy = Callable[[Sequence[Float[np.ndarray, " O"]]], Float[np.ndarray, " A"] | None]


def collect(
    world: World,
    steps: int,
    rng: np.random.Generator,
    visited: list[np.ndarray] | None = None,
    episodes: int | None = None,
) -> list[Trajectory]:
    """Trajectories of at most so many steps in all, the steps that
    finding the world's powers takes included; of a log, what it holds.

    At most the first so many `episodes`, where that is asked. Where the world can be put into places, some that it came
    through are added to `visited`.

    Example: `collect(open_world("Pendulum-v1"), 1000, np.random.default_rng(0))`
    """
    before = world.env_steps
    powers = world.powers
    if "reset" not in powers:
        return list(world.logged())[:episodes]
    trajectories: list[Trajectory] = []
    visited = [] if visited is None else visited
    # Steps that episodes from each kind of place went on for.
    lasted = {kind: [float(min(LENGTHS))] for kind in NEW_PLACES}
    barren = 0
    for number in range(10 * steps):
        left = steps - (world.env_steps - before)
        if left < 1 or (episodes is not None and len(trajectories) >= episodes):
            break
        # The first episodes and then every third begin where the world itself begins.
        placed = "place" in powers and number >= 3 and number % 3 != 0 and len(visited) > 3
        # Places from which a world soon ends teach little, so kinds of places are drawn by how long episodes from them
        # last.
        means = np.array([np.mean(lasted[kind]) for kind in NEW_PLACES])
        kind = NEW_PLACES[rng.choice(len(NEW_PLACES), p=means / means.sum())]
        first = _begin_placed(world, visited, kind, rng) if placed else None
        if first is None:
            placed, first = False, world.reset(int(rng.integers(2**31)))
        wanted = LENGTHS[number % len(LENGTHS)] if placed or number else max(LENGTHS)
        length = min(wanted, left, world.time_limit or wanted)
        actions = excitation(world.action_space, STYLES[number % len(STYLES)], length, rng)
        known = len(visited)
        every = max(1, len(actions) // PLACES_PER_EPISODE) if "place" in powers else 0
        trajectory = record(world, first, replay(actions), placed=placed, visited=visited, every=every)
        if trajectory.terminated and len(visited) > 3:
            # Near an end there is little left to see, and places made of such places lie beyond it.
            del visited[max(3, known + (len(visited) - known) // 2 if len(trajectory) >= SHORT else known) :]
        if placed:
            lasted[kind].append(float(min(len(trajectory), min(LENGTHS))))
        if len(trajectory):
            trajectories.append(trajectory)
        # A world that fails from every start would otherwise be asked for ever.
        barren = 0 if len(trajectory) else barren + 1
        if barren > TRIES:
            raise VpwError(f"{world.name} fails at the first step of every episode.")
    return trajectories


def replay(actions: Iterable[Float[np.ndarray, " A"]]) -> Policy:
    """These actions, one after the other, whatever is seen."""
    left = iter(actions)
    return lambda _: next(left, None)


def record(
    world: World,
    first: Float[np.ndarray, " O"],
    policy: Policy,
    most: int | None = None,
    *,
    placed: bool = False,
    visited: list[np.ndarray] | None = None,
    every: int = 0,
) -> Trajectory:
    """What a policy brings from the present moment on, up to an end or to so many steps.

    With `every`, the place before each so many steps is added to `visited`. Where a world was put into its first place
    and shows that otherwise than when it comes there, the first step is left out.
    """
    observations, rewards, done, terminated = [first], [], [], False
    while most is None or len(done) < most:
        action = policy(observations)
        if action is None:
            break
        if visited is not None and every and len(done) % every == 0:
            visited.append(world.get_place())
        try:
            outcome = world.step(action)
        except VpwError:  # a place from which the world breaks down: what came before still counts
            break
        observations.append(outcome.observation)
        rewards.append(outcome.reward)
        done.append(world.taken(action))
        terminated = outcome.terminated
        if outcome.terminated or outcome.truncated:
            break
    skipped = min(1, len(done)) if placed and not world.shows_places_alike else 0
    earned = np.array(rewards, float)[skipped:] if "reward" in world.powers else None
    acted = np.array(done, dtype=float).reshape(-1, len(world.action_space))
    return Trajectory(np.array(observations)[skipped:], acted[skipped:], earned, terminated)


def excitation(space: ActionSpace, style: Style, length: int, rng: np.random.Generator) -> Float[np.ndarray, "T A"]:
    """A sequence of actions in one style, each column for itself: held
    for random times, new at each step, extreme, none, or smooth.
    """
    columns = [_column(space, style, length, k, rng) for k in range(len(space))]
    return np.stack(columns, axis=1) if columns else np.zeros((length, 0))


def _column(space: ActionSpace, style: Style, length: int, k: int, rng: np.random.Generator) -> Float[np.ndarray, " T"]:
    if space.kind == "discrete":
        choices = rng.integers(0, space.counts[k], length).astype(float)
        if style == "zero":  # which choice does nothing is not known, so any one is kept up
            return np.full(length, choices[0])
        return choices if style in ("white", "smooth") else choices[_holds(length, rng)]
    low, high = space.low[k], space.high[k]
    rest = float(np.clip(0.0, low, high))
    if style == "zero":
        return np.full(length, rest)
    if style == "bang":
        return np.array([low, high])[rng.integers(0, 2, length)][_holds(length, rng)]
    if style == "smooth":
        waves = [np.sin(2 * np.pi * (np.arange(length) / rng.uniform(8, 80) + rng.uniform())) for _ in range(3)]
        return (low + high) / 2 + (high - low) / 2 * np.clip(sum(waves) / 2, -1, 1)
    values = rng.uniform(low, high, length)
    values = values if style == "white" else values[_holds(length, rng)]
    return rest + (values - rest) * (0.3 if rng.uniform() < 0.25 else 1.0)


def _holds(length: int, rng: np.random.Generator) -> np.ndarray:
    """For each step the index of the draw that is in force, each for a time drawn evenly over its logarithm."""
    lengths = np.exp(rng.uniform(0, np.log(LONGEST_HOLD), length)).astype(int)
    return np.repeat(np.arange(length), lengths)[:length]


def _begin_placed(
    world: World, visited: Sequence[np.ndarray], kind: NewPlace, rng: np.random.Generator
) -> np.ndarray | None:
    """What is observed at a new place near, between or somewhat beyond
    the visited ones; None where the world takes none of several.
    """
    known = np.array(visited)
    low, high, spread = known.min(axis=0), known.max(axis=0), known.std(axis=0)
    for _ in range(TRIES):
        if kind == "near":
            place = known[rng.integers(len(known))] + 0.3 * spread * rng.standard_normal(len(low))
        elif kind == "mixed":
            place = known[rng.integers(len(known), size=len(low)), np.arange(len(low))]
        else:
            place = rng.uniform(low - BEYOND * (high - low), high + BEYOND * (high - low))
        whole = whole_numbers(known)
        if whole.any():
            place[whole] = known[rng.integers(len(known)), whole]
        # Amounts are never below nothing: what was never seen on the other side of zero is not put there.
        place = np.where(low >= 0, np.maximum(place, 0), np.where(high <= 0, np.minimum(place, 0), place))
        try:
            return world.set_place(place)
        except VpwError:
            continue
    return None


def whole_numbers(places: Float[np.ndarray, "N P"]) -> Bool[np.ndarray, " P"]:
    """Which numbers of places are counts, choices or cells, of which
    there is nothing between two: whole ones that are not all the same.
    """
    return (places == np.round(places)).all(axis=0) & (np.ptp(places, axis=0) > 0)
