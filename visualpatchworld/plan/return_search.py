"""Searching for the best return: action sequences to try, and rounds that keep, change and draw around the best of them.

Fresh candidates are held for varied times. Under a program the whole search is one compiled call; in a world it steps
copies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from visualpatchworld.plan.feedback import Guide, first_guide, guided, improved, shifted_guide
from visualpatchworld.program.imagine import Imagined
from visualpatchworld.program.sandbox import SandboxedWorld
from visualpatchworld.world.open import Live
from visualpatchworld.world.world import ActionSpace, World

TELLS_APART = 1e-5  # of the largest return: what nearness counts among plans that earn the same


@dataclass(frozen=True, kw_only=True)
class ReturnPlanner:
    """How a return is searched for: rounds of candidates, the best of which are kept, changed and drawn around."""

    horizon: int  # steps ahead
    samples: int = 256
    rounds: int = 5
    elites: int = 24
    execute: int = 1  # steps of a plan that are taken before the next one is made
    fresh: float = 0.2  # share of candidates that know nothing of earlier ones
    drawn: float = 0.5  # share drawn around the elites' mean; of choices there is no mean
    least_std: float = 0.02  # of a draw, in units of half an action's range
    feedback: int = 0  # rounds of iLQR that improve the best plan and give it gains; none where actions are choices

    def __post_init__(self):
        if not 2 <= self.elites < self.samples or self.horizon < 1 or self.rounds < 1:
            raise ValueError("there must be a horizon, a round, two elites and more samples than elites")
        if not 1 <= self.execute <= self.horizon:
            raise ValueError(f"execute must lie between 1 and the horizon of {self.horizon}, not {self.execute}")

    @property
    def tail(self) -> int:
        """Steps after the horizon that are imagined without a plan: see `with_tail`."""
        return tail_of(self.horizon)

    @property
    def title(self) -> str:
        by_feedback = f"iLQR with feedback, {self.feedback} rounds, from " * (self.feedback > 0)
        search = f"CEM with held actions, {self.samples} x {self.rounds}"
        return f"{by_feedback}{search}, {self.horizon} steps ahead, {self.execute} executed"


class Population(NamedTuple):
    """What one round hands to the next, in units: -1 to 1 for numbers, whole numbers for choices."""

    elites: Float[Array, "E H A"]
    mean: Float[Array, "H A"]
    std: Float[Array, "H A"]
    guide: Guide | None = None  # the best plan with its gains, where a planner has feedback


def to_actions(space: ActionSpace, units: Float[Array, "*B A"]) -> Float[Array, "*B A"]:
    """Actions as the world takes them."""
    if space.kind == "discrete":
        return units
    low, high = (jnp.asarray(side, jnp.float32) for side in (space.low, space.high))
    return low + (jnp.clip(units, -1, 1) + 1) / 2 * (high - low)


def tail_of(horizon: Any) -> Any:
    """Steps that a plan is imagined to be followed by: a quarter of the horizon, and not less than ten."""
    return 10 + (horizon // 4 - 10) * (horizon > 40)


def with_tail(
    planner: ReturnPlanner,
    space: ActionSpace,
    candidates: Float[Array, "K H A"],
    reach: Int[Array, ""],
    key: PRNGKeyArray,
) -> Float[Array, "K H+L A"]:
    """Candidates up to where they reach, and after that what nobody
    has planned: rest, or choices at random, the same for all.

    Many plans earn the same up to the horizon and leave the world in a better or worse place there. How they fare when
    nobody plans on tells them apart.
    """
    steps = planner.horizon + planner.tail
    if space.kind == "discrete":
        tail = _values(space, jax.random.uniform(key, (1, steps, len(space)), maxval=1 - 1e-6))
    else:
        tail = jnp.broadcast_to(jnp.asarray(rest_units(space), jnp.float32), (1, steps, len(space)))
    padded = jnp.pad(candidates, ((0, 0), (0, planner.tail), (0, 0)))
    return jnp.where((jnp.arange(steps) < jnp.minimum(reach, planner.horizon))[None, :, None], padded, tail)


def rest_units(space: ActionSpace) -> Float[np.ndarray, " A"]:
    """The units of the action nearest to zero."""
    if space.kind == "discrete":
        return np.zeros(len(space))
    low, high = np.array(space.low), np.array(space.high)
    return 2 * (np.clip(0.0, low, high) - low) / np.maximum(high - low, 1e-12) - 1


def first_population(planner: ReturnPlanner, space: ActionSpace, key: PRNGKeyArray) -> Population:
    """Nothing is known: elites are fresh, and the first of them rests."""
    elites = _fresh(space, _chance(planner, space, key, planner.elites))
    elites = elites.at[0].set(jnp.asarray(rest_units(space), jnp.float32))
    return Population(elites, elites[0], jnp.ones_like(elites[0]))


def shifted(planner: ReturnPlanner, population: Population, steps: int) -> Population:
    """The population some steps later: what is left of each sequence, its last action held on; draws are wide again."""
    at = jnp.minimum(jnp.arange(planner.horizon) + steps, planner.horizon - 1)
    guide = None if population.guide is None else shifted_guide(population.guide, steps)
    return Population(population.elites[:, at], population.mean[at], jnp.full_like(population.std, 0.5), guide)


def propose(
    planner: ReturnPlanner, space: ActionSpace, population: Population, key: PRNGKeyArray
) -> Float[Array, "K H A"]:
    """Candidates of one round; the elites are among them, first."""
    num_fresh = max(1, int(planner.fresh * planner.samples))
    num_drawn = 0 if space.kind == "discrete" else int(planner.drawn * planner.samples)
    num_changed = max(1, planner.samples - planner.elites - num_fresh - num_drawn)
    chance = _chance(planner, space, key, num_changed + num_fresh + num_drawn)
    changed, fresh, drawn = (
        Chance(*(part[start:end] for part in chance))
        for start, end in ((0, num_changed), (num_changed, num_changed + num_fresh), (num_changed + num_fresh, None))
    )
    parts = [population.elites, _changed(space, population.elites, changed), _fresh(space, fresh)]
    if num_drawn:
        parts.append(_drawn(population, drawn))
    return jnp.concatenate(parts)


def refit(
    planner: ReturnPlanner, population: Population, candidates: Float[Array, "K H A"], returns: Float[Array, " K"]
) -> tuple[Population, Float[Array, ""]]:
    """The best candidates and where they lie, and the best return; a return that is not a number is the worst."""
    returns = jnp.where(jnp.isfinite(returns), returns, -jnp.inf)
    order = jnp.argsort(-returns, stable=True)[: planner.elites]
    elites = candidates[order]
    best = elites[: max(2, planner.elites // 2)]
    mean = 0.9 * best.mean(0) + 0.1 * population.mean
    std = jnp.maximum(0.9 * best.std(0) + 0.1 * population.std, planner.least_std)
    return Population(elites, mean, std, population.guide), returns[order[0]]


class Chance(NamedTuple):
    """Even random numbers for N candidates: one per step, and a few per sequence.

    Drawn in two calls, which compile in seconds.
    """

    steps: Float[Array, "N H A"]
    whole: Float[Array, "N 6 A"]


def _chance(planner: ReturnPlanner, space: ActionSpace, key: PRNGKeyArray, count: int) -> Chance:
    keys = jax.random.split(key)
    steps = jax.random.uniform(keys[0], (count, planner.horizon, len(space)), minval=1e-6, maxval=1 - 1e-6)
    return jax.lax.optimization_barrier(Chance(steps, jax.random.uniform(keys[1], (count, 6, len(space)))))


def _held(
    values: Float[Array, "N H A"], length: Float[Array, "N 1 A"], other: Float[Array, "N 1 A"], phase: Array
) -> Array:
    """Each value kept for about a length: switches lie on two combs, so that times between them vary."""
    time = jnp.arange(values.shape[1])[None, :, None]
    index = jnp.floor(time / length + phase) + jnp.floor(time / other + phase)
    return jnp.take_along_axis(values, jnp.minimum(index.astype(int), values.shape[1] - 1), axis=1)


def _lengths(even: Float[Array, "N A"], longest: float) -> Float[Array, "N 1 A"]:
    """Lengths up to the longest, even over their logarithm."""
    return jnp.exp(even * jnp.log(max(longest, 2.0)))[:, None]


def _values(space: ActionSpace, even: Float[Array, "*B A"]) -> Float[Array, "*B A"]:
    """Units from even random numbers: all choices alike, or all numbers alike."""
    return jnp.floor(even * jnp.asarray(space.counts, jnp.float32)) if space.kind == "discrete" else 2 * even - 1


def _fresh(space: ActionSpace, chance: Chance) -> Float[Array, "N H A"]:
    """Held sequences of any pace: of any values, of extreme ones, or to and fro between two."""
    count, horizon, _ = chance.steps.shape
    length, other = (_lengths(chance.whole[:, i], horizon / 2) for i in (0, 1))
    values = _values(space, chance.steps)
    if space.kind == "continuous":
        values = jnp.where(chance.whole[:, 2, None] < 0.5, jnp.sign(values), values)
    time = jnp.arange(horizon)[None, :, None]
    swing = jnp.floor(time / length + chance.whole[:, 3, None]).astype(int) % 2
    two = jnp.where(swing == 0, values[:, :1], values[:, 1:2] if horizon > 1 else values[:, :1])
    return jnp.where(
        (jnp.arange(count) % 3 == 0)[:, None, None], two, _held(values, length, other, chance.whole[:, 3, None])
    )


def _changed(space: ActionSpace, elites: Float[Array, "E H A"], chance: Chance) -> Float[Array, "N H A"]:
    """Copies of elites with one stretch changed: another value, a shift
    of the value, or everything after a moment earlier or later.
    """
    count, horizon, width = chance.steps.shape
    whole, scalar = chance.whole, chance.whole[:, :, 0]
    parents = elites[(scalar[:, 0] ** 2 * len(elites)).astype(int)]  # the better ones more often
    time = jnp.arange(horizon)[None, :]
    start = (scalar[:, 1:2] * horizon).astype(int)
    length = jnp.exp(scalar[:, 2:3] * jnp.log(max(horizon / 2, 2.0)))
    inside = ((time >= start) & (time < start + length))[:, :, None]
    column = (scalar[:, 3] * width).astype(int)[:, None, None] == jnp.arange(width)
    value = _values(space, whole[:, 4])[:, None]
    if space.kind == "continuous":
        size = jnp.exp(-4 * whole[:, 5])[:, None]
        value = jnp.where((jnp.arange(count) % 2 == 0)[:, None, None], value, jnp.clip(parents + value * size, -1, 1))
    by = (whole[:, 4, 0] * 7).astype(int)[:, None] - 3
    at = jnp.where(time >= start, jnp.clip(time + by, 0, horizon - 1), time)
    moved = jnp.take_along_axis(parents, jnp.broadcast_to(at[:, :, None], parents.shape), axis=1)
    return jnp.where((jnp.arange(count) % 4 == 3)[:, None, None], moved, jnp.where(inside & column, value, parents))


def _drawn(population: Population, chance: Chance) -> Float[Array, "N H A"]:
    """Draws around the mean, the mean itself first; noise is held for
    a while in most of them, since single steps hardly move a world.
    """
    horizon = population.mean.shape[0]
    noise = 0.55 * jnp.log(chance.steps / (1 - chance.steps))  # logistic: bell-shaped with a spread of one
    length, other = (_lengths(chance.whole[:, i], min(horizon / 2, 20.0)) for i in (0, 1))
    noise = _held(noise, length, other, chance.whole[:, 2, None])
    return jnp.clip(population.mean + population.std * noise, -1, 1).at[0].set(population.mean)


class Plan(NamedTuple):
    """What a search found: actions as the world takes them, the return
    that is expected of them, and what the next search begins with.
    """

    actions: Float[Array, "H A"]
    expected: Float[Array, ""]
    population: Population
    guide: Guide | None = None  # answers to what goes otherwise than planned, where the planner has feedback


def begun(
    planner: ReturnPlanner, space: ActionSpace, world: Imagined, state: Float[Array, " S"], key: PRNGKeyArray
) -> Population:
    """What the first search of an episode begins with."""
    population = first_population(planner, space, key)
    if not planner.feedback:
        return population
    rest = jnp.asarray(rest_units(space), jnp.float32)
    return population._replace(
        guide=first_guide(world, planner.horizon, lambda units: to_actions(space, units), rest, state)
    )


def action_of(plan: Plan, space: ActionSpace, at: Any, state: Float[Array, " S"]) -> Float[Array, " A"]:
    """The action of a plan's step in the state that the world is in by then."""
    return plan.actions[at] if plan.guide is None else to_actions(space, guided(plan.guide, at, state))


def returns(
    world: Imagined, state: Float[Array, " S"], actions: Float[Array, "K H A"], remaining: Int[Array, ""]
) -> Float[Array, " K"]:
    """What each sequence earns from a state up to an end, or for as many steps as remain.

    Where a program is not known to hold, nothing that it promises counts: any plan that stays inside is better than one
    that does not. Where no plan earns anything and all earn the same, those count for more that lead farther away:
    there may be something to earn there. Otherwise, of plans that earn the same, one that stays near counts for more:
    a drift that costs nothing up to the horizon may cost the rest of an episode.
    """

    def advance(carry: Any, inputs: Any) -> tuple[Any, None]:
        states, alive, earned, outside = carry
        acted, time = inputs
        after = jax.vmap(world.step)(states, acted)
        reward = jax.vmap(world.reward)(states, acted, after)
        counted = alive & (time < remaining)
        earned = earned + jnp.where(counted, reward, 0.0)
        outside = outside + jnp.where(counted & ~jax.vmap(world.valid)(after), 1.0, 0.0)
        # Those that are over stay where they were, so that nothing runs off to infinity and poisons the rest.
        states = jnp.where(alive[:, None], after, states)
        return (states, alive & ~jax.vmap(world.terminated)(after), earned, outside), None

    count, horizon = actions.shape[:2]
    nothing = jnp.zeros(count, jnp.float32)
    start = (jnp.broadcast_to(state, (count, *state.shape)), jnp.ones(count, bool), nothing, nothing)
    last, _, earned, outside = jax.lax.scan(advance, start, (actions.swapaxes(0, 1), jnp.arange(horizon)))[0]
    return ranked(state, last, earned, outside)


def ranked(
    state: Float[Array, " S"], last: Float[Array, "K S"], earned: Float[Array, " K"], outside: Float[Array, " K"]
) -> Float[Array, " K"]:
    """What sequences earned, told apart by where they lead: see `returns`.

    `outside` counts the steps for which the program is not known to hold.
    """
    most = jnp.max(jnp.where(jnp.isfinite(earned), jnp.abs(earned), 0.0)) + 1.0
    in_vain = (jnp.nanmax(earned) <= 0) & (jnp.nanmax(earned) - jnp.nanmin(earned) <= 1e-6 * most)
    moved = jnp.where(jnp.isfinite(last), last - state, 0.0)
    away = jnp.sqrt(jnp.mean((moved / jnp.maximum(jnp.std(moved, axis=0), 1e-6)) ** 2, axis=-1))
    apart = jnp.where(in_vain, 1.0, -TELLS_APART * most) * away / (1.0 + jnp.max(away))
    return earned + apart - 2 * most * outside


def search(
    planner: ReturnPlanner,
    space: ActionSpace,
    world: Imagined,
    state: Float[Array, " S"],
    population: Population,
    remaining: Int[Array, ""],
    key: PRNGKeyArray,
    reach: Int[Array, ""] | None = None,
) -> Plan:
    """The best plan under a program, for JAX to trace; it reaches as
    far as the planner's horizon, or less far where that is said.
    """
    reach = jnp.asarray(planner.horizon) if reach is None else reach
    counted = jnp.minimum(remaining, reach + tail_of(reach))

    def advance(population: Population, key: PRNGKeyArray) -> tuple[Population, Float[Array, ""]]:
        keys = jax.random.split(key)
        candidates = propose(planner, space, population, keys[0])
        actions = to_actions(space, with_tail(planner, space, candidates, reach, keys[1]))
        return refit(planner, population, candidates, returns(world, state, actions, counted))

    population, best = jax.lax.scan(advance, population, jax.random.split(key, planner.rounds))
    if population.guide is None:
        return Plan(to_actions(space, population.elites[0]), best[-1], population)
    guide, earned = improved(
        world,
        lambda units: to_actions(space, units),
        planner.feedback,
        state,
        population.guide,
        population.elites[:1],
        jnp.minimum(remaining, reach),
    )
    population = population._replace(elites=population.elites.at[-1].set(guide.units), guide=guide)
    return Plan(to_actions(space, guide.units), earned, population, guide)


Search = Callable[[Float[np.ndarray, " S"], Population, int, PRNGKeyArray], Plan]


def compiled_search(planner: ReturnPlanner, space: ActionSpace, world: Imagined) -> Search:
    """`search` compiled once, from numpy."""
    run = jax.jit(
        lambda state, population, remaining, key: search(planner, space, world, state, population, remaining, key)
    )
    return lambda state, population, remaining, key: run(
        jnp.asarray(state, jnp.float32), population, jnp.asarray(remaining), key
    )


# State, candidates as the world takes them, steps that remain -> returns.
Outcomes = Callable[[Float[np.ndarray, " S"], Float[np.ndarray, "K H A"], int], Float[np.ndarray, " K"]]


def stepwise_search(planner: ReturnPlanner, space: ActionSpace, outcomes: Outcomes) -> Search:
    """The same search where the returns of candidates come from elsewhere, round by round."""

    @jax.jit
    def suggest(population: Population, key: PRNGKeyArray) -> tuple[Array, Array]:
        keys = jax.random.split(key)
        candidates = propose(planner, space, population, keys[0])
        return candidates, to_actions(
            space, with_tail(planner, space, candidates, jnp.asarray(planner.horizon), keys[1])
        )

    sort = jax.jit(lambda population, candidates, earned: refit(planner, population, candidates, earned))

    def run(state: Float[np.ndarray, " S"], population: Population, remaining: int, key: PRNGKeyArray) -> Plan:
        best = jnp.asarray(-jnp.inf)
        for round_key in jax.random.split(key, planner.rounds):
            candidates, actions = suggest(population, round_key)
            earned = outcomes(state, np.asarray(actions, dtype=float), remaining)
            population, best = sort(population, candidates, jnp.asarray(earned, jnp.float32))
        return Plan(to_actions(space, population.elites[0]), best, population)

    return run


def search_in_world(planner: ReturnPlanner, space: ActionSpace, world: World, live: Live) -> Search:
    """The search with the true world in place of a program: every candidate is lived through from a snapshot.

    Slow by its nature.
    """

    def outcomes(_: Any, actions: Float[np.ndarray, "K H A"], remaining: int) -> Float[np.ndarray, " K"]:
        here = world.snapshot()
        earned = live(here, actions, remaining)
        world.restore(here)
        return earned

    return stepwise_search(planner, space, outcomes)


def search_in_sandbox(planner: ReturnPlanner, space: ActionSpace, world: SandboxedWorld) -> Search:
    """The search with a program that runs in the sandbox: every round of candidates is one call of it."""
    rank = jax.jit(ranked)

    def outcomes(
        state: Float[np.ndarray, " S"], actions: Float[np.ndarray, "K H A"], remaining: int
    ) -> Float[np.ndarray, " K"]:
        starts = np.repeat(np.asarray(state, float)[None], len(actions), axis=0)
        lived = world.live(starts, actions.swapaxes(0, 1))
        over = np.logical_or.accumulate(lived.ended, axis=0)
        alive = np.concatenate([np.ones_like(over[:1]), ~over[:-1]])
        counted = alive & (np.arange(len(over)) < remaining)[:, None]
        last = lived.states[alive.sum(axis=0) - 1, np.arange(len(actions))]
        earned = np.where(counted, lived.rewards, 0.0).sum(axis=0)
        outside = (counted & ~lived.valid).sum(axis=0)
        return np.asarray(rank(*(jnp.asarray(part, jnp.float32) for part in (state, last, earned, outside))))

    return stepwise_search(planner, space, outcomes)


def imagined_return(
    planner: ReturnPlanner,
    space: ActionSpace,
    world: Imagined,
    *,
    steps: int,
) -> Callable[[Float[Array, " S"], Int[Array, ""], PRNGKeyArray], Float[Array, ""]]:
    """A compiled function from a start, a horizon (at most the planner's)
    and a key to the return of a planned episode, all imagined.
    """
    plans = -(-steps // planner.execute)

    def live(plan: Plan, carry: Any, at: Int[Array, ""]) -> tuple[Any, None]:
        state, alive, inside, worst, earned = carry
        action = action_of(plan, space, at, state)
        after = world.step(state, action)
        reward = world.reward(state, action, after)
        worst = jnp.minimum(worst, reward)
        # Once a program is not known to hold, the rest of the episode is thought of as the worst of it so far.
        inside = inside & world.valid(after)
        earned = earned + jnp.where(alive, jnp.where(inside, reward, worst), 0.0)
        return (jnp.where(alive, after, state), alive & ~world.terminated(after), inside, worst, earned), None

    def advance(horizon: Int[Array, ""], keys: Any, carry: Any) -> Any:
        number, life, population = carry
        plan = search(planner, space, world, life[0], population, jnp.asarray(1 << 20), keys[number], horizon)
        life = jax.lax.scan(lambda life, at: live(plan, life, at), life, jnp.arange(planner.execute))[0]
        return number + 1, life, shifted(planner, plan.population, planner.execute)

    @jax.jit
    def run(state: Float[Array, " S"], horizon: Int[Array, ""], key: PRNGKeyArray) -> Float[Array, ""]:
        first, *keys = jax.random.split(key, plans + 1)
        life = (
            state,
            jnp.asarray(True),
            jnp.asarray(True),
            jnp.asarray(0.0, jnp.float32),
            jnp.asarray(0.0, jnp.float32),
        )
        begin = (jnp.asarray(0), life, begun(planner, space, world, state, first))
        going = jnp.stack(keys)
        # Nothing is searched for after an end.
        last = jax.lax.while_loop(
            lambda carry: (carry[0] < plans) & carry[1][1], lambda carry: advance(horizon, going, carry), begin
        )
        return last[1][4]

    return run
