"""Action sequences to try: fresh ones that are held for varied times, changed copies of good ones, and draws around their mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from visualpatchworld.world.world import ActionSpace


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

    def __post_init__(self):
        if not 2 <= self.elites < self.samples or self.horizon < 1 or self.rounds < 1:
            raise ValueError("there must be a horizon, a round, two elites and more samples than elites")
        if not 1 <= self.execute <= self.horizon:
            raise ValueError(f"execute must lie between 1 and the horizon of {self.horizon}, not {self.execute}")

    @property
    def title(self) -> str:
        return f"CEM with held actions, {self.samples} x {self.rounds}, {self.horizon} steps ahead, {self.execute} executed"


class Population(NamedTuple):
    """What one round hands to the next, in units: -1 to 1 for numbers, whole numbers for choices."""

    elites: Float[Array, "E H A"]
    mean: Float[Array, "H A"]
    std: Float[Array, "H A"]


def to_actions(space: ActionSpace, units: Float[Array, "*B A"]) -> Float[Array, "*B A"]:
    """Actions as the world takes them."""
    if space.kind == "discrete":
        return units
    low, high = (jnp.asarray(side, jnp.float32) for side in (space.low, space.high))
    return low + (jnp.clip(units, -1, 1) + 1) / 2 * (high - low)


def rest_units(space: ActionSpace) -> Float[np.ndarray, " A"]:
    """The units of the action nearest to zero."""
    if space.kind == "discrete":
        return np.zeros(len(space))
    low, high = np.array(space.low), np.array(space.high)
    return 2 * (np.clip(0.0, low, high) - low) / np.maximum(high - low, 1e-12) - 1


def first_population(planner: ReturnPlanner, space: ActionSpace, key: PRNGKeyArray) -> Population:
    """Nothing is known: elites are fresh, and the first of them rests."""
    elites = _fresh(planner, space, key, planner.elites)
    elites = elites.at[0].set(jnp.asarray(rest_units(space), jnp.float32))
    return Population(elites, elites[0], jnp.ones_like(elites[0]))


def shifted(planner: ReturnPlanner, population: Population, steps: int) -> Population:
    """The population some steps later: what is left of each sequence, its last action held on; draws are wide again."""
    at = jnp.minimum(jnp.arange(planner.horizon) + steps, planner.horizon - 1)
    return Population(population.elites[:, at], population.mean[at], jnp.full_like(population.std, 0.5))


def propose(planner: ReturnPlanner, space: ActionSpace, population: Population, key: PRNGKeyArray) -> Float[Array, "K H A"]:
    """Candidates of one round; the elites are among them, first."""
    keys = jax.random.split(key, 3)
    num_fresh = max(1, int(planner.fresh * planner.samples))
    num_drawn = 0 if space.kind == "discrete" else int(planner.drawn * planner.samples)
    num_changed = max(1, planner.samples - planner.elites - num_fresh - num_drawn)
    parts = [population.elites, _changed(space, population.elites, keys[0], num_changed), _fresh(planner, space, keys[1], num_fresh)]
    if num_drawn:
        parts.append(_drawn(population, keys[2], num_drawn))
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
    return Population(elites, mean, std), returns[order[0]]


def _fresh(planner: ReturnPlanner, space: ActionSpace, key: PRNGKeyArray, count: int) -> Float[Array, "N H A"]:
    """Held sequences: values kept for times around a length that is drawn evenly over its logarithm; some swing between two values."""
    keys = jax.random.split(key, 6)
    shape = (count, planner.horizon, len(space))
    longest = jnp.log(jnp.maximum(planner.horizon / 2, 2.0))
    length = jnp.exp(jax.random.uniform(keys[0], (count, 1, len(space))) * longest)
    phase = jax.random.uniform(keys[1], length.shape) * length
    even = jnp.floor((jnp.arange(planner.horizon)[None, :, None] + phase) / length).astype(int)
    uneven = jnp.cumsum(jax.random.uniform(keys[2], shape) < 1 / length, axis=1)
    kind = jnp.arange(count)[:, None, None] % 3
    index = jnp.where(kind == 0, uneven, jnp.where(kind == 1, even, even % 2))
    if space.kind == "discrete":
        values = jnp.floor(jax.random.uniform(keys[3], shape) * jnp.asarray(space.counts)).astype(jnp.float32)
    else:
        values = jax.random.uniform(keys[3], shape, minval=-1.0, maxval=1.0)
        extreme = jax.random.uniform(keys[4], (count, 1, 1)) < 0.5
        values = jnp.where(extreme, jnp.sign(values), values)
    return jnp.take_along_axis(values, jnp.minimum(index, planner.horizon - 1), axis=1)


def _changed(space: ActionSpace, elites: Float[Array, "E H A"], key: PRNGKeyArray, count: int) -> Float[Array, "N H A"]:
    """Copies of elites with one stretch changed: another value, a shift of the value, or everything after a moment earlier or later."""
    horizon = elites.shape[1]
    keys = jax.random.split(key, 8)
    parents = elites[jax.random.randint(keys[0], (count,), 0, len(elites))]
    time = jnp.arange(horizon)[None, :]
    start = jax.random.randint(keys[1], (count, 1), 0, horizon)
    length = jnp.exp(jax.random.uniform(keys[2], (count, 1)) * jnp.log(max(horizon / 2, 2.0)))
    inside = ((time >= start) & (time < start + length))[:, :, None]
    column = jax.random.randint(keys[3], (count, 1, 1), 0, len(space)) == jnp.arange(len(space))
    if space.kind == "discrete":
        value = jnp.floor(jax.random.uniform(keys[4], (count, 1, len(space))) * jnp.asarray(space.counts))
        other = jnp.where(inside & column, value, parents)
    else:
        value = jax.random.uniform(keys[4], (count, 1, len(space)), minval=-1.0, maxval=1.0)
        size = jnp.exp(jax.random.uniform(keys[5], (count, 1, 1), minval=-4.0, maxval=0.0))
        nudged = jnp.clip(parents + value * size, -1, 1)
        kept = (jnp.arange(count) % 2 == 0)[:, None, None]
        other = jnp.where(inside & column, jnp.where(kept, value, nudged), parents)
    by = jax.random.randint(keys[6], (count, 1), -3, 4)
    at = jnp.where(time >= start, jnp.clip(time + by, 0, horizon - 1), time)
    moved = jnp.take_along_axis(parents, at[:, :, None], axis=1)
    return jnp.where((jnp.arange(count) % 4 == 3)[:, None, None], moved, other)


def _drawn(population: Population, key: PRNGKeyArray, count: int) -> Float[Array, "N H A"]:
    """Draws around the mean, the mean itself first; noise is held for a while in most of them, since single steps hardly move a world."""
    horizon, width = population.mean.shape
    keys = jax.random.split(key, 3)
    length = jnp.exp(jax.random.uniform(keys[0], (count, 1, 1)) * jnp.log(max(min(horizon / 2, 10.0), 2.0)))
    phase = jax.random.uniform(keys[1], length.shape) * length
    index: Int[Array, "N H 1"] = jnp.floor((jnp.arange(horizon)[None, :, None] + phase) / length).astype(int)
    noise = jax.random.normal(keys[2], (count, horizon, width))
    noise = jnp.take_along_axis(noise, jnp.broadcast_to(jnp.minimum(index, horizon - 1), noise.shape), axis=1)
    return jnp.clip(population.mean + population.std * noise, -1, 1).at[0].set(population.mean)
