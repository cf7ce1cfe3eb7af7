"""The cross-entropy method, iCEM, which adds noise of a colour
and elites that stay, both polished by gradients, and MPPI.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from visualpatchworld.plan.planner import Planner
from visualpatchworld.plan.sampling import ACTION_LIMIT, Objective, Round, Sampler, held, with_best
from visualpatchworld.plan.scorer import InducedScorer


@dataclass(frozen=True, kw_only=True)
class CEM(Sampler):
    """Cross-entropy search: draw action sequences, keep the best of them, draw anew around those."""

    elites: int
    smoothing: float = 0.0  # share of the earlier mean and standard deviation that stays in the next ones

    def __post_init__(self):
        super().__post_init__()
        if not 1 <= self.elites <= self.samples:
            raise ValueError(f"elites must lie between 1 and {self.samples} samples, not {self.elites}")
        if not 0 <= self.smoothing < 1:
            raise ValueError("smoothing must lie between 0 and 1")

    @property
    def kind(self) -> str:
        return "CEM"

    def refit(self, earlier: Round, actions: Float[Array, "K N A"], costs: Float[Array, " K"]) -> Round:
        """Where the best candidates lie; those of infinite cost teach nothing."""
        order = jnp.argsort(costs)[: self.elites]
        elites, weights = actions[order], jnp.isfinite(costs[order]).astype(actions.dtype)[:, None, None]
        count = weights.sum()
        mean = (weights * elites).sum(0) / jnp.maximum(count, 1)
        std = jnp.sqrt((weights * (elites - mean) ** 2).sum(0) / jnp.maximum(count, 1))
        return with_best(earlier, actions, costs)._replace(
            mean=jnp.where(count > 0, self.smoothing * earlier.mean + (1 - self.smoothing) * mean, earlier.mean),
            std=jnp.where(count > 0, self.smoothing * earlier.std + (1 - self.smoothing) * std, earlier.std),
            kept=jnp.where(count > 0, elites[: self.num_kept], earlier.kept),
        )


@dataclass(frozen=True, kw_only=True)
class ICEM(CEM):
    """CEM whose noise is coloured, so that candidates go somewhere,
    and in which a share of the elites stays for the next round.
    """

    colour: float = 2.0
    kept_share: float = 0.3  # of the elites

    @property
    def kind(self) -> str:
        return "iCEM"

    @property
    def num_kept(self) -> int:
        return min(round(self.kept_share * self.elites), self.samples - 2)


@dataclass(frozen=True, kw_only=True)
class Polished(CEM):
    """CEM whose best plans are then improved by the gradient of
    their cost through the program; an engine has none to offer.
    """

    polish_steps: int = 30
    polish_rate: float = 0.02  # change of an action in a step, at most about this

    @property
    def kind(self) -> str:
        return f"CEM + {self.polish_steps} gradient steps,"

    @property
    def polishes(self) -> bool:
        return True

    def polish(
        self, scorer: InducedScorer, objective: Objective, plans: Float[Array, "R N A"]
    ) -> Float[Array, "R N A"]:
        """Adam on the actions of each restart's best plan; the best plan on the way is what counts."""

        def total(plans: Float[Array, "R N A"]) -> tuple[Array, Array]:
            costs = scorer.costs(objective.state, objective.goal, held(self, plans), objective.steps_left)
            return costs.sum(), costs

        def improve(carry, step):
            plans, first, second, best, best_cost = carry
            slope, costs = jax.grad(total, has_aux=True)(plans)
            slope = jnp.nan_to_num(slope, posinf=0.0, neginf=0.0)
            better = costs < best_cost
            best, best_cost = jnp.where(better[:, None, None], plans, best), jnp.where(better, costs, best_cost)
            first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
            change = (first / (1 - 0.9 ** (step + 1))) / (jnp.sqrt(second / (1 - 0.99 ** (step + 1))) + 1e-8)
            plans = jnp.clip(plans - self.polish_rate * change, -ACTION_LIMIT, ACTION_LIMIT)
            return (plans, first, second, best, best_cost), None

        begin = (plans, jnp.zeros_like(plans), jnp.zeros_like(plans), plans, jnp.full(len(plans), jnp.inf, plans.dtype))
        return jax.lax.scan(improve, begin, jnp.arange(self.polish_steps, dtype=plans.dtype))[0][3]


@dataclass(frozen=True, kw_only=True)
class MPPI(Sampler):
    """The mean moves to the average of all candidates, weighted by
    how cheap they are; the noise shrinks from round to round.
    """

    # A candidate this much dearer than the cheapest, in spreads of the round's costs, weighs a third of it.
    temperature: float
    shrink: float = 0.85  # standard deviation of a round over that of the round before

    def __post_init__(self):
        super().__post_init__()
        if self.temperature <= 0 or not 0 < self.shrink <= 1:
            raise ValueError("temperature must be positive, and shrink must lie between 0 and 1")

    @property
    def kind(self) -> str:
        return "MPPI"

    def refit(self, earlier: Round, actions: Float[Array, "K N A"], costs: Float[Array, " K"]) -> Round:
        finite = jnp.isfinite(costs)
        known = jnp.where(finite, costs, 0.0)
        mean_cost = known.sum() / jnp.maximum(finite.sum(), 1)
        spread = jnp.sqrt((jnp.where(finite, costs - mean_cost, 0.0) ** 2).sum() / jnp.maximum(finite.sum(), 1)) + 1e-9
        weights = jax.nn.softmax(jnp.where(finite, -costs / (self.temperature * spread), -jnp.inf))
        mean = jnp.einsum("k,kna->na", jnp.nan_to_num(weights), actions)
        return with_best(earlier, actions, costs)._replace(
            mean=jnp.where(finite.any(), mean, earlier.mean), std=self.shrink * earlier.std
        )


MPPI_TEMPERATURE = 0.1


def siblings(cem: CEM) -> dict[str, Planner]:
    """This search and others like it, by name."""
    fields: dict[str, Any] = asdict(cem)
    shared = {name: value for name, value in fields.items() if name not in ("elites", "smoothing")}
    return {
        "cem": cem,
        "icem": ICEM(**{**fields, "colour": max(cem.colour, ICEM.colour)}),
        "mppi": MPPI(**shared, temperature=MPPI_TEMPERATURE),
        "gradient": Polished(**fields),
    }
