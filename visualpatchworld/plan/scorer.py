"""Scorers: what the futures of candidate plans cost, predicted by a program, by the engine, or by both."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from visualpatchworld.plan.planner import Scorer, Scores, Situation
from visualpatchworld.program.program import Program
from visualpatchworld.program.rollout import BatchRollout, batch_costs, compile_rollouts

if TYPE_CHECKING:  # a program plans where no engine is installed, too
    from visualpatchworld.simulator import Simulator
    from visualpatchworld.task import Cost


@dataclass(frozen=True)
class InducedScorer(Scorer):
    """The program alone; there is no simulator here that could be called."""

    program: Program
    cost: Cost

    def costs(
        self,
        state: Float[Array, " S"],
        goal: Float[Array, "*H S"],
        actions: Float[Array, "K H A"],
        steps_left: Int[Array, ""] | None = None,
    ) -> Float[Array, " K"]:
        """Costs of candidates, for JAX to trace into a larger function."""
        return self._batch(actions, state, goal, steps_left)

    def costs_for(
        self,
        state: Float[Array, " S"],
        goals: Float[Array, "G *H S"],
        actions: Float[Array, "K H A"],
        steps_left: Int[Array, ""] | None = None,
    ) -> Float[Array, "K G"]:
        """Costs of candidates for each of several goals, of the same futures."""
        return self._batch_for(actions, state, goals, steps_left)

    @cached_property
    def rollouts(self) -> BatchRollout:
        """The program's own, compiled."""
        return compile_rollouts(self.program)

    @cached_property
    def _batch_for(self) -> Any:
        def costs(
            states: Float[Array, "H S"], goals: Float[Array, "G *H S"], steps_left: Int[Array, ""] | None
        ) -> Float[Array, " G"]:
            return jnp.stack(
                [cost_of(self.cost, states, jnp.broadcast_to(goal, states.shape), steps_left) for goal in goals]
            )

        return batch_costs(self.program, costs)

    @cached_property
    def _batch(self) -> Any:
        return batch_costs(self.program, partial(cost_of, self.cost))

    @cached_property
    def _compiled(self) -> Any:
        return jax.jit(self.costs)

    def score(self, situation: Situation, actions: Float[np.ndarray, "K H A"]) -> Scores:
        state, goal = (
            jnp.asarray(row, jnp.float32) for row in (situation.state, situation.goal_ahead(actions.shape[1]))
        )
        return _ranked(np.asarray(self._compiled(state, goal, jnp.asarray(actions), situation.steps_left)), 0)


@dataclass(frozen=True)
class RolloutScorer(Scorer):
    """A model that is only known by its rollouts, such as a program in a sandbox."""

    rollouts: Callable[[Float[np.ndarray, " S"], Float[np.ndarray, "K H A"]], Float[np.ndarray, "K H S"]]
    cost: Cost

    def score(self, situation: Situation, actions: Float[np.ndarray, "K H A"]) -> Scores:
        states = self.rollouts(situation.state, np.asarray(actions, np.float64))
        return _ranked(_cost_in(self.cost, states, situation), 0)


@dataclass(frozen=True)
class EngineScorer(Scorer):
    """The physics engine itself: the ceiling."""

    engine: Simulator
    cost: Cost

    def score(self, situation: Situation, actions: Float[np.ndarray, "K H A"]) -> Scores:
        assert situation.engine_state is not None
        states = self.engine.rollout(situation.engine_state, np.asarray(actions, np.float64))
        return _ranked(_cost_in(self.cost, states, situation), len(actions))


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


@dataclass(frozen=True)
class SparingScorer(Scorer):
    """The program for all candidates, and the engine only for promising ones of which the program itself is unsure.

    A program prints the standard errors of its constants. Where a future costs something else once they are off by that
    much, the program is near an event that its own errors decide: a touch, a grip, a wall.
    """

    cheap: InducedScorer
    engine: EngineScorer
    share: float = 0.03  # of candidates that the engine sees at most
    promising: float = 0.3  # share of the cheapest that is worth a doubt
    doubt: float = 0.05  # relative change of a cost from which on the program is unsure

    @cached_property
    def _doubter(self) -> InducedScorer:
        return InducedScorer(off_by_errors(self.cheap.program), self.cheap.cost)

    def score(self, situation: Situation, actions: Float[np.ndarray, "K H A"]) -> Scores:
        first, other = self.cheap.score(situation, actions), self._doubter.score(situation, actions)
        count = len(actions)
        order = np.argsort(first.costs, kind="stable")[: max(1, round(self.promising * count))]
        with np.errstate(invalid="ignore"):
            unsure = ~(np.abs(first.costs - other.costs) <= self.doubt * np.abs(first.costs))
        asked = order[unsure[order]][: int(self.share * count)]
        if not len(asked):
            return first
        second = self.engine.score(situation, np.asarray(actions)[asked])
        costs = first.costs.copy()
        costs[asked] = second.costs
        return Scores(costs, second.engine_rollouts, first.non_finite + second.non_finite)


def off_by_errors(program: Program) -> Program:
    """The program with every constant off by the standard error that stands beside it."""
    printed = re.findall(r"^([A-Z][A-Z0-9_]*) = \S+  #.*?\+- ([0-9.e+-]+)", program.text, re.MULTILINE)
    values = program.constants
    return program.edited(
        {name: values[name] + float(error) for name, error in printed if isinstance(values[name], float)}
    )


def cost_of(cost: Cost, states: Any, goal: Any, steps_left: Any = None) -> Any:
    """What futures (*B H S) cost: only as far as steps are left, and
    where a goal has no number the future's own counts as right.
    """
    xp = np if isinstance(states, np.ndarray) else jnp
    horizon = states.shape[-2]
    if steps_left is not None:
        counted = xp.minimum(xp.arange(horizon), steps_left - 1)
        states, goal = states[..., counted, :], goal if goal.ndim == 1 else goal[counted]
    return cost(states, goal if goal.ndim == 1 else xp.where(xp.isnan(goal), states, goal))


def _cost_in(cost: Cost, states: Float[np.ndarray, "K H S"], situation: Situation) -> Float[np.ndarray, " K"]:
    return np.asarray(cost_of(cost, states, situation.goal_ahead(states.shape[1]), situation.steps_left))


def _ranked(costs: Float[np.ndarray, " K"], engine_rollouts: int) -> Scores:
    finite = np.isfinite(costs)
    return Scores(np.where(finite, costs, np.inf), engine_rollouts, int((~finite).sum()))
