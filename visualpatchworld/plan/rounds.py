"""Rounds of a search that draws: what is known after one, the candidates of the next, and what they teach."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

if TYPE_CHECKING:
    from visualpatchworld.plan.sampling import Sampler

ACTION_LIMIT = 1.0
# Axes, besides those of the whole project: R restarts, N actions of a plan that are free (each is held for some steps).


class Round(NamedTuple):
    """What one round of one restart hands to the next: where to draw, and the best plans so far."""

    mean: Float[Array, "N A"]
    std: Float[Array, "N A"]
    best: Float[Array, "N A"]
    best_cost: Float[Array, ""]
    kept: Float[Array, "M N A"]  # further candidates of the next round
    non_finite: Int[Array, ""]


def held(sampler: Sampler, knots: Float[Array, "*B N A"]) -> Float[Array, "*B H A"]:
    """The actions of every step."""
    return jnp.repeat(knots, sampler.hold, axis=-2) if sampler.hold > 1 else knots


def first_rounds(sampler: Sampler, start: Float[Array, "H A"]) -> Round:
    """Of every restart: nothing is known yet but where to begin."""
    knots = start[:: sampler.hold]
    begin = jnp.stack([knots * (restart % 2 == 0) for restart in range(sampler.restarts)])
    warm = (begin != 0).any(axis=(1, 2), keepdims=True) & (sampler.warm_std > 0)
    return Round(
        mean=begin,
        std=jnp.where(warm, sampler.warm_std, jnp.full_like(begin, sampler.init_std)),
        best=begin,
        best_cost=jnp.full(sampler.restarts, jnp.inf, start.dtype),
        kept=jnp.repeat(begin[:, None], sampler.num_kept, axis=1),
        non_finite=jnp.zeros(sampler.restarts, int),
    )


def fine_rounds(sampler: Sampler, coarse: Round, start: Float[Array, "H A"], start_cost: Float[Array, ""] | float) -> Round:
    """What the rounds with actions held hand to those without: every restart goes on around its best plan.

    The first one goes on around what is left of the plan before, whose actions were not held, where there is one. Every second one draws
    twice as widely: a motion that is missing lies farther away than one that is not yet right.
    """
    best = held(sampler, coarse.best)
    first = (jnp.arange(sampler.restarts) == 0) & (start != 0).any()
    better = first & (start_cost < coarse.best_cost)
    return Round(
        mean=jnp.where(first[:, None, None], start, best),
        std=jnp.full_like(best, sampler.fine_std) * (1 + jnp.arange(sampler.restarts) % 2)[:, None, None],
        best=jnp.where(better[:, None, None], start, best),
        best_cost=jnp.where(better, start_cost, coarse.best_cost),
        kept=held(sampler, coarse.kept),
        non_finite=coarse.non_finite,
    )


def draw_all(sampler: Sampler, rounds: Round, key: PRNGKeyArray) -> Float[Array, "RK N A"]:
    """The candidates of all restarts, one restart after the other."""
    _, knots, width = rounds.mean.shape
    noise = coloured(key, (sampler.restarts * sampler.samples, knots, width), sampler.colour)
    drawn = jax.vmap(partial(draw, sampler))(rounds, noise.reshape(sampler.restarts, sampler.samples, knots, width))
    return drawn.reshape(-1, knots, width)


def draw(sampler: Sampler, earlier: Round, noise: Float[Array, "K N A"]) -> Float[Array, "K N A"]:
    """Candidates around the mean; the mean itself, the best so far and those kept are among them."""
    actions = jnp.clip(earlier.mean + earlier.std * noise, -ACTION_LIMIT, ACTION_LIMIT)
    actions = actions.at[0].set(earlier.mean).at[1 % sampler.samples].set(earlier.best)
    return actions.at[2 : 2 + sampler.num_kept].set(earlier.kept) if sampler.num_kept else actions


def coloured(key: PRNGKeyArray, shape: tuple[int, int, int], colour: float) -> Float[Array, "K N A"]:
    """Normal noise of unit variance whose power falls with frequency along the plan."""
    white = jax.random.normal(key, shape, jnp.float32)
    count = shape[1]
    if not colour or count < 2:
        return white
    frequencies = np.fft.rfftfreq(count)
    frequencies[0] = 1 / count  # what does not change at all counts as the slowest wave
    scale = frequencies ** (-colour / 2)
    weights = np.where((np.arange(len(scale)) == 0) | ((count % 2 == 0) & (np.arange(len(scale)) == count // 2)), 1, 2)
    scale = scale * np.sqrt(count / (weights * scale**2).sum())
    filtering = np.fft.irfft(np.fft.rfft(np.eye(count), axis=0) * scale[:, None], n=count, axis=0)  # as a matrix: plans are short
    return jnp.einsum("mn,kna->kma", jnp.asarray(filtering, jnp.float32), white)


def refit_all(sampler: Sampler, rounds: Round, actions: Float[Array, "RK N A"], costs: Float[Array, " RK"]) -> Round:
    """What every restart learned from its candidates; a cost that is not a number is the worst there is, and counted."""
    finite = jnp.isfinite(costs).reshape(sampler.restarts, -1)
    costs = jnp.where(finite, costs.reshape(finite.shape), jnp.inf)
    after = jax.vmap(sampler.refit)(rounds, actions.reshape(*finite.shape, *actions.shape[1:]), costs)
    return after._replace(non_finite=rounds.non_finite + (~finite).sum(axis=1))


def with_best(earlier: Round, actions: Float[Array, "K N A"], costs: Float[Array, " K"]) -> Round:
    """The round with the cheapest candidate in place of the best so far, if it is cheaper."""
    cheapest = costs.argmin()
    better = costs[cheapest] < earlier.best_cost
    return earlier._replace(
        best=jnp.where(better, actions[cheapest], earlier.best), best_cost=jnp.where(better, costs[cheapest], earlier.best_cost)
    )
