"""The cross-entropy method: under a program the whole search is one compiled call, under an engine each round of it is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from visualpatchworld.plan.planner import Plan, Planner, Scorer, Search, Situation
from visualpatchworld.plan.scorer import InducedScorer

ACTION_LIMIT = 1.0


@dataclass(frozen=True, kw_only=True)
class CEM(Planner):
    """Cross-entropy search: draw action sequences, keep the best of them, draw anew around those."""

    samples: int
    iterations: int
    elites: int
    init_std: float  # of an action in the first draw
    smoothing: float = 0.0  # share of the earlier mean and standard deviation that stays in the next ones

    def __post_init__(self):
        super().__post_init__()
        if not 1 <= self.elites <= self.samples:
            raise ValueError(f"elites must lie between 1 and {self.samples} samples, not {self.elites}")
        if self.iterations < 1 or self.init_std <= 0 or not 0 <= self.smoothing < 1:
            raise ValueError("iterations and init_std must be positive, and smoothing must lie between 0 and 1")

    @property
    def title(self) -> str:
        return f"CEM {self.samples} x {self.iterations}, {self.horizon} steps ahead, {self.replan_every} executed"

    @property
    def rollouts_per_plan(self) -> int:
        return self.samples * self.iterations

    def prepare(self, scorer: Scorer, training_actions: Sequence[Float[np.ndarray, "T A"]], rng: np.random.Generator) -> Search:
        return cem_search(self, scorer)


class Round(NamedTuple):
    """What one round of the search hands to the next: where to draw, and the best plan so far."""

    mean: Float[Array, "H A"]
    std: Float[Array, "H A"]
    best: Float[Array, "H A"]
    best_cost: Float[Array, ""]
    non_finite: Int[Array, ""]


def cem_search(cem: CEM, scorer: Scorer) -> Search:
    """A function from a situation, a plan to begin around and a key to the best plan found."""
    return _compiled_search(cem, scorer) if isinstance(scorer, InducedScorer) else _stepwise_search(cem, scorer)


def _compiled_search(cem: CEM, scorer: InducedScorer) -> Search:
    @jax.jit
    def search(state: Float[Array, " S"], goal: Float[Array, " S"], start: Float[Array, "H A"], key: PRNGKeyArray) -> Round:
        def advance(earlier: Round, key: PRNGKeyArray) -> tuple[Round, None]:
            actions = draw(cem, earlier, key)
            return refit(cem, earlier, actions, scorer.costs(state, goal, actions)), None

        return jax.lax.scan(advance, first_round(cem, start), jax.random.split(key, cem.iterations))[0]

    def run(situation: Situation, start: Float[np.ndarray, "H A"], key: PRNGKeyArray) -> Plan:
        found = search(*(jnp.asarray(values, jnp.float32) for values in (situation.state, situation.goal, start)), key)
        return Plan(np.asarray(found.best, np.float64), float(found.best_cost), 0, int(found.non_finite))

    return run


def _stepwise_search(cem: CEM, scorer: Scorer) -> Search:
    first, draw_round, refit_round = (jax.jit(partial(function, cem)) for function in (first_round, draw, refit))

    def run(situation: Situation, start: Float[np.ndarray, "H A"], key: PRNGKeyArray) -> Plan:
        current, engine_rollouts, non_finite = first(jnp.asarray(start, jnp.float32)), 0, 0
        for round_key in jax.random.split(key, cem.iterations):
            actions = draw_round(current, round_key)
            scores = scorer.score(situation, np.asarray(actions))
            current = refit_round(current, actions, jnp.asarray(scores.costs, jnp.float32))
            engine_rollouts, non_finite = engine_rollouts + scores.engine_rollouts, non_finite + scores.non_finite
        return Plan(np.asarray(current.best, np.float64), float(current.best_cost), engine_rollouts, non_finite)

    return run


def first_round(cem: CEM, start: Float[Array, "H A"]) -> Round:
    """Nothing is known yet but where to begin."""
    return Round(start, jnp.full_like(start, cem.init_std), start, jnp.asarray(jnp.inf, start.dtype), jnp.asarray(0))


def draw(cem: CEM, earlier: Round, key: PRNGKeyArray) -> Float[Array, "K H A"]:
    """Candidates around the mean; the mean itself and the best so far are among them."""
    noise = jax.random.normal(key, (cem.samples, *earlier.mean.shape), earlier.mean.dtype)
    actions = jnp.clip(earlier.mean + earlier.std * noise, -ACTION_LIMIT, ACTION_LIMIT)
    return actions.at[0].set(earlier.mean).at[1 % cem.samples].set(earlier.best)


def refit(cem: CEM, earlier: Round, actions: Float[Array, "K H A"], costs: Float[Array, " K"]) -> Round:
    """Where the best candidates lie; a cost that is not a number is the worst there is, and candidates of such cost teach nothing."""
    finite = jnp.isfinite(costs)
    costs = jnp.where(finite, costs, jnp.inf)
    order = jnp.argsort(costs)[: cem.elites]
    elites, weights = actions[order], finite[order].astype(actions.dtype)[:, None, None]
    count = weights.sum()
    mean = (weights * elites).sum(0) / jnp.maximum(count, 1)
    std = jnp.sqrt((weights * (elites - mean) ** 2).sum(0) / jnp.maximum(count, 1))
    better = costs[order[0]] < earlier.best_cost
    return Round(
        mean=jnp.where(count > 0, cem.smoothing * earlier.mean + (1 - cem.smoothing) * mean, earlier.mean),
        std=jnp.where(count > 0, cem.smoothing * earlier.std + (1 - cem.smoothing) * std, earlier.std),
        best=jnp.where(better, elites[0], earlier.best),
        best_cost=jnp.where(better, costs[order[0]], earlier.best_cost),
        non_finite=earlier.non_finite + (~finite).sum(),
    )
