"""Searches that draw action sequences in rounds, learn where the cheap
ones lie and draw anew; with a program, all in one compiled call.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from visualpatchworld.plan.planner import Plan, Planner, Scorer, Scores, Search, Situation
from visualpatchworld.plan.scorer import InducedScorer

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


def fine_rounds(
    sampler: Sampler, coarse: Round, start: Float[Array, "H A"], start_cost: Float[Array, ""] | float
) -> Round:
    """What the rounds with actions held hand to those without: every restart goes on around its best plan.

    The first one goes on around what is left of the plan before, whose actions were not held, where there is one. Every
    second one draws twice as widely: a motion that is missing lies farther away than one that is not yet right.
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
    # As a matrix: plans are short.
    filtering = np.fft.irfft(np.fft.rfft(np.eye(count), axis=0) * scale[:, None], n=count, axis=0)
    return jnp.einsum("mn,kna->kma", jnp.asarray(filtering, jnp.float32), white)


def refit_all(sampler: Sampler, rounds: Round, actions: Float[Array, "RK N A"], costs: Float[Array, " RK"]) -> Round:
    """What every restart learned from its candidates; a cost
    that is not a number is the worst there is, and counted.
    """
    finite = jnp.isfinite(costs).reshape(sampler.restarts, -1)
    costs = jnp.where(finite, costs.reshape(finite.shape), jnp.inf)
    after = jax.vmap(sampler.refit)(rounds, actions.reshape(*finite.shape, *actions.shape[1:]), costs)
    return after._replace(non_finite=rounds.non_finite + (~finite).sum(axis=1))


def for_whole_goal(sampler: Sampler, rounds: Round, number: Int[Array, ""] | int) -> Round:
    """What is known after so many rounds: the cost of a plan for a part of the goal says nothing.

    Where to draw stays: what comes after the place where a part was met never mattered, so it is still drawn as widely
    as at first.
    """
    return rounds._replace(
        best_cost=jnp.where(sampler.is_loose & (number <= sampler.loose_iterations), jnp.inf, rounds.best_cost)
    )


def with_best(earlier: Round, actions: Float[Array, "K N A"], costs: Float[Array, " K"]) -> Round:
    """The round with the cheapest candidate in place of the best so far, if it is cheaper."""
    cheapest = costs.argmin()
    better = costs[cheapest] < earlier.best_cost
    return earlier._replace(
        best=jnp.where(better, actions[cheapest], earlier.best),
        best_cost=jnp.where(better, costs[cheapest], earlier.best_cost),
    )


@dataclass(frozen=True, kw_only=True)
class Sampler(Planner):
    """Rounds of draws around what was cheap before; a subclass says what a round learns from its candidates.

    Restarts search side by side and the best of them wins. With a warm start every second one begins around what is
    left of the plan before, the others around zero actions, so that a plan that led astray is not followed for ever.
    """

    samples: int  # candidates of a round, in each restart
    iterations: int
    init_std: float  # of an action in the first draw
    hold: int = 1  # steps for which an action is held
    restarts: int = 1
    # In place of init_std, where a restart begins around the plan before: that one is to be made better; 0 for none.
    warm_std: float = 0.0
    colour: float = 0.0  # of the noise: power falls with frequency to this exponent; 0 is white
    # The search ends with a plan that costs less; a cost below 1 meets the goal where costs are in success radii.
    enough: float = 0.0
    heeds_budget: bool = False  # futures count only as far as steps are left
    fine_iterations: int = 0  # further rounds, in which no action is held: around the best plan of each restart
    fine_std: float = 0.2  # of an action in the first of these
    moved_at_will: tuple[int, ...] = ()  # numbers of a state that actions bring to their goal whatever the others are
    # Rounds before all others, in which every second restart leaves these numbers out of its goal.
    loose_iterations: int = 0

    def __post_init__(self):
        super().__post_init__()
        if self.samples < 1 or self.iterations < 1 or self.restarts < 1 or self.init_std <= 0:
            raise ValueError("samples, iterations, restarts and init_std must be positive")
        if self.hold < 1 or self.horizon % self.hold:
            raise ValueError(f"hold must divide the horizon of {self.horizon} steps, {self.hold} does not")
        if self.colour < 0 or self.enough < 0 or self.warm_std < 0 or self.fine_iterations < 0:
            raise ValueError("colour, enough, warm_std and fine_iterations must not be negative")
        if self.fine_std <= 0 or self.loose_iterations < 0:
            raise ValueError("fine_std must be positive, and loose_iterations must not be negative")

    def looking(self, steps: int) -> Self:
        return replace(self, horizon=steps, replan_every=steps, hold=math.gcd(self.hold, steps))

    def within(self, tolerance: float) -> Self:
        scaled = replace(self, enough=tolerance * self.enough)
        if tolerance >= 1 or self.hold == 1:
            return replace(scaled, moved_at_will=())
        # Held actions come near a goal and seldom meet it closely: each moves the world for several steps. The oftener
        # a plan is made, the better it is refined. What is moved at will keeps a search from leaving its place for
        # something else that is nearly right.
        return replace(
            scaled,
            replan_every=min(self.replan_every, self.hold),
            fine_iterations=self.fine_iterations or 2 * self.iterations,
            loose_iterations=self.iterations if self.moved_at_will else 0,
        )

    @property
    def unheld(self) -> Self:
        """The search of the further rounds, in which no action is held."""
        return replace(
            self, hold=1, iterations=self.fine_iterations, init_std=self.fine_std, fine_iterations=0, loose_iterations=0
        )

    @property
    def is_loose(self) -> Bool[np.ndarray, " R"]:
        """The restarts that first leave something out of their goal: those that do not go on with the plan before."""
        return (np.arange(self.restarts) % 2 == 1) & (self.loose_iterations > 0)

    def loosened(self, goal: Float[Array, "*H S"]) -> Float[Array, "*H S"]:
        """The goal without what is moved at will."""
        return jnp.where(np.isin(np.arange(goal.shape[-1]), self.moved_at_will), jnp.nan, goal)

    @property
    @abstractmethod
    def kind(self) -> str:
        """The method's name, in its title."""

    @property
    def num_kept(self) -> int:
        """How many candidates a round hands to the next."""
        return 0

    @abstractmethod
    def refit(self, earlier: Round, actions: Float[Array, "K N A"], costs: Float[Array, " K"]) -> Round:
        """What a round has learned; costs that are not numbers have become infinite."""

    def polish(
        self, scorer: InducedScorer, objective: Objective, plans: Float[Array, "R N A"]
    ) -> Float[Array, "R N A"]:
        """The best plan of each restart made better by other means; as it is, unless a subclass knows some."""
        return plans

    @property
    def polishes(self) -> bool:
        return False

    @property
    def title(self) -> str:
        budget = f"{self.restarts} x " * (self.restarts > 1) + f"{self.samples} x {self.iterations}"
        further = [f"actions held for {self.hold}"] * (self.hold > 1) + ["warm start"] * (
            self.warm_start and self.hold > 1
        )
        further += [f"{self.loose_iterations} rounds before for a part of the goal"] * (self.loose_iterations > 0)
        further += [f"{self.fine_iterations} rounds more with none held"] * (self.fine_iterations > 0)
        return ", ".join(
            [f"{self.kind} {budget}", f"{self.horizon} steps ahead", f"{self.replan_every} executed", *further]
        )

    @property
    def rollouts_per_plan(self) -> int:
        return self.samples * (self.loose_iterations + self.iterations + self.fine_iterations) * self.restarts

    def prepare(
        self, scorer: Scorer, training_actions: Sequence[Float[np.ndarray, "T A"]], rng: np.random.Generator
    ) -> Search:
        return sampling_search(self, scorer)


class Objective(NamedTuple):
    """What candidates are scored with, as JAX sees it."""

    state: Float[Array, " S"]
    goal: Float[Array, "*H S"]
    steps_left: Int[Array, ""] | None


def sampling_search(sampler: Sampler, scorer: Scorer) -> Search:
    """A function from a situation, a plan to begin around and a key to the best plan found."""
    return _compiled_search(sampler, scorer) if isinstance(scorer, InducedScorer) else _stepwise_search(sampler, scorer)


def _compiled_search(sampler: Sampler, scorer: InducedScorer) -> Search:
    @jax.jit
    def search(objective: Objective, start: Float[Array, "H A"], key: PRNGKeyArray) -> tuple[Array, Array, Array]:
        def costs(actions: Float[Array, "K H A"]) -> Float[Array, " K"]:
            return scorer.costs(objective.state, objective.goal, actions, objective.steps_left)

        def improved(
            stage: Sampler, rounds: Round, key: PRNGKeyArray, known: Float[Array, ""] | float = jnp.inf
        ) -> Round:
            count = stage.loose_iterations + stage.iterations
            keys = jax.random.split(key, count)

            def advance(rounds: Round, number: Int[Array, ""]) -> Round:
                actions = draw_all(stage, rounds, keys[number])
                if not stage.loose_iterations:
                    return refit_all(stage, rounds, actions, costs(held(stage, actions)))
                loose = stage.is_loose & (number < stage.loose_iterations)
                goals = jnp.stack([objective.goal, stage.loosened(objective.goal)])
                both = scorer.costs_for(objective.state, goals, held(stage, actions), objective.steps_left)
                begun = for_whole_goal(stage, rounds, number).best_cost
                rounds = rounds._replace(best_cost=jnp.where(number == stage.loose_iterations, begun, rounds.best_cost))
                return refit_all(
                    stage, rounds, actions, jnp.where(jnp.repeat(loose, stage.samples), both[:, 1], both[:, 0])
                )

            if not stage.enough:
                return jax.lax.scan(lambda rounds, number: (advance(rounds, number), None), rounds, jnp.arange(count))[
                    0
                ]

            def more(carry: tuple[Int[Array, ""], Round]) -> Bool[Array, ""]:
                number, rounds = carry
                return (number < count) & (
                    jnp.minimum(for_whole_goal(stage, rounds, number).best_cost.min(), known) >= stage.enough
                )

            number, rounds = jax.lax.while_loop(
                more, lambda carry: (carry[0] + 1, advance(carry[1], carry[0])), (jnp.asarray(0), rounds)
            )
            return for_whole_goal(stage, rounds, number)

        if sampler.fine_iterations:
            start_cost = costs(start[None])[0]
            rounds = improved(sampler, first_rounds(sampler, start), key, known=start_cost)
            stage = sampler.unheld
            rounds = improved(stage, fine_rounds(sampler, rounds, start, start_cost), jax.random.fold_in(key, 1))
        else:
            stage, rounds = sampler, improved(sampler, first_rounds(sampler, start), key)
        if sampler.polishes:
            polished = stage.polish(scorer, objective, rounds.best)
            after = costs(held(stage, polished))
            better = after < rounds.best_cost  # never so where the cost is not a number
            rounds = rounds._replace(
                best=jnp.where(better[:, None, None], polished, rounds.best),
                best_cost=jnp.where(better, after, rounds.best_cost),
            )
        best = rounds.best_cost.argmin()
        return held(stage, rounds.best[best]), rounds.best_cost[best], rounds.non_finite.sum()

    def run(situation: Situation, start: Float[np.ndarray, "H A"], key: PRNGKeyArray) -> Plan:
        actions, cost, non_finite = search(_objective(sampler, situation), jnp.asarray(start, jnp.float32), key)
        return Plan(np.asarray(actions, np.float64), float(cost), 0, int(non_finite))

    return run


def _objective(sampler: Sampler, situation: Situation) -> Objective:
    left = situation.steps_left if sampler.heeds_budget else None
    return Objective(
        jnp.asarray(situation.state, jnp.float32),
        jnp.asarray(situation.goal_ahead(sampler.horizon), jnp.float32),
        None if left is None else jnp.asarray(min(left, sampler.horizon), jnp.int32),
    )


def _stepwise_search(sampler: Sampler, scorer: Scorer) -> Search:
    stages = [_Stage(sampler), *([_Stage(sampler.unheld)] if sampler.fine_iterations else [])]

    def run(situation: Situation, start: Float[np.ndarray, "H A"], key: PRNGKeyArray) -> Plan:
        situation = situation if sampler.heeds_budget else situation._replace(steps_left=None)
        begin = jnp.asarray(start, jnp.float32)
        rounds, start_cost, engine_rollouts, non_finite = stages[0].first(begin), np.inf, 0, 0
        if sampler.fine_iterations:
            known = scorer.score(situation, np.asarray(begin)[None])
            start_cost, engine_rollouts = known.costs[0], known.engine_rollouts
        for number, stage in enumerate(stages):
            if number:
                rounds, key = fine_rounds(sampler, rounds, begin, start_cost), jax.random.fold_in(key, number)
            for turn, round_key in enumerate(
                jax.random.split(key, stage.sampler.loose_iterations + stage.sampler.iterations)
            ):
                whole = for_whole_goal(stage.sampler, rounds, turn)
                if min(float(whole.best_cost.min()), start_cost) < sampler.enough:
                    rounds = whole
                    break
                actions = stage.draw(rounds, round_key)
                scores = _scores(stage.sampler, scorer, situation, np.asarray(held(stage.sampler, actions)), turn)
                begun = whole if turn == stage.sampler.loose_iterations else rounds
                rounds = stage.refit(begun, actions, jnp.asarray(scores.costs, jnp.float32))
                engine_rollouts, non_finite = engine_rollouts + scores.engine_rollouts, non_finite + scores.non_finite
        best = int(rounds.best_cost.argmin())
        plan = np.asarray(held(stages[-1].sampler, rounds.best[best]), np.float64)
        return Plan(plan, float(rounds.best_cost[best]), engine_rollouts, non_finite)

    return run


def _scores(
    sampler: Sampler, scorer: Scorer, situation: Situation, actions: Float[np.ndarray, "RK H A"], number: int
) -> Scores:
    """What the candidates of a round cost, those of each restart for its own goal."""
    loose = np.repeat(sampler.is_loose & (number < sampler.loose_iterations), sampler.samples)
    if not loose.any():
        return scorer.score(situation, actions)
    goal = np.asarray(sampler.loosened(jnp.asarray(situation.goal)), np.float64)
    whole, part = scorer.score(situation, actions[~loose]), scorer.score(situation._replace(goal=goal), actions[loose])
    costs = np.empty(len(actions))
    costs[~loose], costs[loose] = whole.costs, part.costs
    return Scores(costs, whole.engine_rollouts + part.engine_rollouts, whole.non_finite + part.non_finite)


class _Stage:
    """The functions of one search, compiled."""

    def __init__(self, sampler: Sampler):
        self.sampler = sampler
        self.first, self.draw, self.refit = (
            jax.jit(partial(function, sampler)) for function in (first_rounds, draw_all, refit_all)
        )
