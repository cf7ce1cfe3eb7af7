"""Searching for the best return: under a program the whole search is one compiled call, in a world it steps copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from visualpatchworld.plan.candidates import (
    Population,
    ReturnPlanner,
    first_population,
    propose,
    refit,
    shifted,
    tail_of,
    to_actions,
    with_tail,
)
from visualpatchworld.program.env import Imagined
from visualpatchworld.world.world import ActionSpace, World


class Plan(NamedTuple):
    """What a search found: actions as the world takes them, the return that is expected of them, and what the next search begins with."""

    actions: Float[Array, "H A"]
    expected: Float[Array, ""]
    population: Population


def returns(world: Imagined, state: Float[Array, " S"], actions: Float[Array, "K H A"], remaining: Int[Array, ""]) -> Float[Array, " K"]:
    """What each sequence earns from a state up to an end, or for as many steps as remain.

    Where a program is not known to hold, nothing that it promises counts: any plan that stays inside is better than one that does not.
    Where no plan earns anything and all earn the same, those count for more that lead farther away: there may be something to earn there.
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
    most = jnp.max(jnp.where(jnp.isfinite(earned), jnp.abs(earned), 0.0)) + 1.0
    in_vain = (jnp.nanmax(earned) <= 0) & (jnp.nanmax(earned) - jnp.nanmin(earned) <= 1e-6 * most)
    away = jnp.sqrt(jnp.mean(((last - state) / jnp.maximum(jnp.std(last, axis=0), 1e-6)) ** 2, axis=-1))
    return earned + jnp.where(in_vain, away / (1.0 + jnp.max(away)), 0.0) - 2 * most * outside


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
    """The best plan under a program, for JAX to trace; it reaches as far as the planner's horizon, or less far where that is said."""
    reach = jnp.asarray(planner.horizon) if reach is None else reach
    counted = jnp.minimum(remaining, reach + tail_of(reach))

    def advance(population: Population, key: PRNGKeyArray) -> tuple[Population, Float[Array, ""]]:
        keys = jax.random.split(key)
        candidates = propose(planner, space, population, keys[0])
        actions = to_actions(space, with_tail(planner, space, candidates, reach, keys[1]))
        return refit(planner, population, candidates, returns(world, state, actions, counted))

    population, best = jax.lax.scan(advance, population, jax.random.split(key, planner.rounds))
    return Plan(to_actions(space, population.elites[0]), best[-1], population)


Search = Callable[[Float[np.ndarray, " S"], Population, int, PRNGKeyArray], Plan]


def compiled_search(planner: ReturnPlanner, space: ActionSpace, world: Imagined) -> Search:
    """`search` compiled once, from numpy."""
    run = jax.jit(lambda state, population, remaining, key: search(planner, space, world, state, population, remaining, key))
    return lambda state, population, remaining, key: run(jnp.asarray(state, jnp.float32), population, jnp.asarray(remaining), key)


def search_in_world(planner: ReturnPlanner, space: ActionSpace, world: World) -> Search:
    """The same search with the true world in place of a program: every candidate is lived through from a snapshot. Slow by its nature."""

    @jax.jit
    def suggest(population: Population, key: PRNGKeyArray) -> tuple[Array, Array]:
        keys = jax.random.split(key)
        candidates = propose(planner, space, population, keys[0])
        return candidates, to_actions(space, with_tail(planner, space, candidates, jnp.asarray(planner.horizon), keys[1]))

    sort = jax.jit(lambda population, candidates, earned: refit(planner, population, candidates, earned))

    def run(_: Any, population: Population, remaining: int, key: PRNGKeyArray) -> Plan:
        here, best = world.snapshot(), jnp.asarray(-jnp.inf)
        for round_key in jax.random.split(key, planner.rounds):
            candidates, actions = suggest(population, round_key)
            earned = [_lived(world, here, sequence, remaining) for sequence in np.asarray(actions, dtype=float)]
            population, best = sort(population, candidates, jnp.asarray(earned, jnp.float32))
        world.restore(here)
        return Plan(to_actions(space, population.elites[0]), best, population)

    return run


def _lived(world: World, here: Any, actions: Float[np.ndarray, "H A"], remaining: int) -> float:
    world.restore(here)
    earned = 0.0
    for action in actions[:remaining]:
        outcome = world.step(action)
        earned += outcome.reward
        if outcome.terminated or outcome.truncated:
            break
    return earned


def imagined_return(
    planner: ReturnPlanner,
    space: ActionSpace,
    world: Imagined,
    *,
    steps: int,
) -> Callable[[Float[Array, " S"], Int[Array, ""], PRNGKeyArray], Float[Array, ""]]:
    """A compiled function from a start, a horizon (at most the planner's) and a key to the return of a planned episode, all imagined."""
    plans = -(-steps // planner.execute)

    def live(carry: Any, action: Float[Array, " A"]) -> tuple[Any, None]:
        state, alive, inside, worst, earned = carry
        after = world.step(state, action)
        reward = world.reward(state, action, after)
        worst = jnp.minimum(worst, reward)
        # Once a program is not known to hold, the rest of the episode is thought of as the worst of it so far.
        inside = inside & world.valid(after)
        earned = earned + jnp.where(alive, jnp.where(inside, reward, worst), 0.0)
        return (jnp.where(alive, after, state), alive & ~world.terminated(after), inside, worst, earned), None

    def advance(horizon: Int[Array, ""], carry: Any, key: PRNGKeyArray) -> tuple[Any, None]:
        life, population = carry
        plan = search(planner, space, world, life[0], population, jnp.asarray(1 << 20), key, horizon)
        life = jax.lax.scan(live, life, plan.actions[: planner.execute])[0]
        return (life, shifted(planner, plan.population, planner.execute)), None

    @jax.jit
    def run(state: Float[Array, " S"], horizon: Int[Array, ""], key: PRNGKeyArray) -> Float[Array, ""]:
        first, *keys = jax.random.split(key, plans + 1)
        life = (state, jnp.asarray(True), jnp.asarray(True), jnp.asarray(0.0, jnp.float32), jnp.asarray(0.0, jnp.float32))
        begin = (life, first_population(planner, space, first))
        return jax.lax.scan(lambda carry, k: advance(horizon, carry, k), begin, jnp.stack(keys))[0][0][4]

    return run
