"""Model-predictive path integral control: every candidate counts, the cheaper the more."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from visualpatchworld.plan.rounds import Round, with_best
from visualpatchworld.plan.sampling import Sampler


@dataclass(frozen=True, kw_only=True)
class MPPI(Sampler):
    """The mean moves to the average of all candidates, weighted by how cheap they are; the noise shrinks from round to round."""

    temperature: float  # a candidate this much dearer than the cheapest, in spreads of the round's costs, weighs a third of it
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
        return with_best(earlier, actions, costs)._replace(mean=jnp.where(finite.any(), mean, earlier.mean), std=self.shrink * earlier.std)
