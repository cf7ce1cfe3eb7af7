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
    rest_units,
    shifted,
    tail_of,
    to_actions,
    with_tail,
)
from visualpatchworld.plan.feedback import Guide, first_guide, guided, improved
from visualpatchworld.program.env import Imagined
from visualpatchworld.world.open import Live
from visualpatchworld.world.world import ActionSpace, World

TELLS_APART = 1e-5  # of the largest return: what nearness counts among plans that earn the same


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


def search_in_world(planner: ReturnPlanner, space: ActionSpace, world: World, live: Live) -> Search:
    """The same search with the true world in place of a program: every candidate is lived through from a snapshot.

    Slow by its nature.
    """

    @jax.jit
    def suggest(population: Population, key: PRNGKeyArray) -> tuple[Array, Array]:
        keys = jax.random.split(key)
        candidates = propose(planner, space, population, keys[0])
        return candidates, to_actions(
            space, with_tail(planner, space, candidates, jnp.asarray(planner.horizon), keys[1])
        )

    sort = jax.jit(lambda population, candidates, earned: refit(planner, population, candidates, earned))

    def run(_: Any, population: Population, remaining: int, key: PRNGKeyArray) -> Plan:
        here, best = world.snapshot(), jnp.asarray(-jnp.inf)
        for round_key in jax.random.split(key, planner.rounds):
            candidates, actions = suggest(population, round_key)
            earned = live(here, np.asarray(actions, dtype=float), remaining)
            population, best = sort(population, candidates, jnp.asarray(earned, jnp.float32))
        world.restore(here)
        return Plan(to_actions(space, population.elites[0]), best, population)

    return run


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
