"""Scorers: what the futures of candidate plans cost, predicted by a program, by the engine, or by both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from visualpatchworld.plan.planner import Scorer, Scores, Situation
from visualpatchworld.program.batch import batch_costs
from visualpatchworld.program.program import Program

if TYPE_CHECKING:  # a program plans where no engine is installed, too
    from visualpatchworld.domain import Cost
    from visualpatchworld.simulator import Simulator


@dataclass(frozen=True)
class InducedScorer(Scorer):
    """The program alone; there is no simulator here that could be called."""

    program: Program
    cost: Cost

    @cached_property
    def costs(self) -> Callable[[Float[Array, " S"], Float[Array, " S"], Float[Array, "K H A"]], Float[Array, " K"]]:
        """Costs of candidates as a function that JAX can trace into a larger one."""
        return batch_costs(self.program, self.cost)

    @cached_property
    def _compiled(self) -> Any:
        return jax.jit(self.costs)

    def score(self, situation: Situation, actions: Float[np.ndarray, "K H A"]) -> Scores:
        costs = self._compiled(jnp.asarray(situation.state, jnp.float32), jnp.asarray(situation.goal, jnp.float32), jnp.asarray(actions))
        return _ranked(np.asarray(costs), 0)


@dataclass(frozen=True)
class RolloutScorer(Scorer):
    """A model that is only known by its rollouts, such as a program in a sandbox."""

    rollouts: Callable[[Float[np.ndarray, " S"], Float[np.ndarray, "K H A"]], Float[np.ndarray, "K H S"]]
    cost: Cost

    def score(self, situation: Situation, actions: Float[np.ndarray, "K H A"]) -> Scores:
        states = self.rollouts(situation.state, np.asarray(actions, np.float64))
        return _ranked(np.asarray(self.cost(states, situation.goal)), 0)


@dataclass(frozen=True)
class EngineScorer(Scorer):
    """The physics engine itself: the ceiling."""

    engine: Simulator
    cost: Cost

    def score(self, situation: Situation, actions: Float[np.ndarray, "K H A"]) -> Scores:
        assert situation.engine_state is not None
        states = self.engine.rollout(situation.engine_state, np.asarray(actions, np.float64))
        return _ranked(np.asarray(self.cost(states, situation.goal)), len(actions))


@dataclass(frozen=True)
class HybridScorer(Scorer):
    """A cheap scorer for all candidates, the engine for the best share of them; only those stay in the running."""

    cheap: Scorer
    engine: EngineScorer
    share: float = 0.3

    def score(self, situation: Situation, actions: Float[np.ndarray, "K H A"]) -> Scores:
        first = self.cheap.score(situation, actions)
        shortlist = np.argsort(first.costs, kind="stable")[: max(1, round(self.share * len(actions)))]
        second = self.engine.score(situation, np.asarray(actions)[shortlist])
        costs = np.full(len(actions), np.inf)
        costs[shortlist] = second.costs
        return Scores(costs, second.engine_rollouts, first.non_finite + second.non_finite)


def _ranked(costs: Float[np.ndarray, " K"], engine_rollouts: int) -> Scores:
    finite = np.isfinite(costs)
    return Scores(np.where(finite, costs, np.inf), engine_rollouts, int((~finite).sum()))
