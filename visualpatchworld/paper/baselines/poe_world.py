"""PoE-World: small experts that each foresee one number, written where the others are surprised, weighted by likelihood and multiplied."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from visualpatchworld.llm.client import Reply
from visualpatchworld.paper.baselines.answer import code_of, kept
from visualpatchworld.paper.baselines.product import Expert, Product, experts_of, fit_weights, opinions, surprise, wrapped
from visualpatchworld.paper.baselines.study import Candidate, Method, Study


@dataclass(frozen=True)
class PoeWorld(Method):
    """Expert synthesis, weight fitting, pruning and wrapping."""

    name: str = "poe-world"
    surprise_nats: float = 0.2  # -log p above which a transition calls for experts
    batch_size: int = 10
    kinds: tuple[str, ...] = ("action", "momentum", "contact", "constraint")
    penalty: float = 1.0  # L1, on the weights
    first_weight: float = 0.5
    least_weight: float = 0.01  # experts below are pruned
    most_transitions: int = 400  # that weights are fitted to

    def search(self, study: Study) -> Candidate | None:
        """Experts for a batch of surprising transitions, new weights, a new product; until nothing surprises or the budget is spent."""
        seen = study.train.thinned(self.most_transitions)
        product, newest = Product.empty(study.domain, seen), None
        for kind in itertools.cycle(self.kinds):
            surprising = np.flatnonzero(surprise(product) > self.surprise_nats)
            if not len(surprising) or not study.calls_left:
                break
            reply = study.client.ask(experts_prompt(self, study, product, surprising, kind))
            grown = with_experts(self, study, product, reply)
            if not grown.experts:
                # Nothing to multiply yet: the answer is written down, but it is no program.
                study.judged(kept(code_of(reply.text)), f"no expert: {kind}", newest, (reply.call,))
                continue
            product = grown
            newest = study.judged(wrapped(study, product), f"experts: {kind}", newest, (reply.call,))
            if newest.score == 1.0:
                break
        return study.best()


def with_experts(method: PoeWorld, study: Study, product: Product, reply: Reply) -> Product:
    """The product with what one answer adds to it, weighted anew and pruned."""
    new = [expert for expert in experts_of(reply, study.domain.scene.state_space) if expert.text not in _texts(product.experts)]
    heard = [opinions(expert, product.transitions, study.domain) for expert in new]
    speaking = [(expert, values) for expert, values in zip(new, heard, strict=True) if np.isfinite(values).any()]
    grown = product.with_experts(speaking, method.first_weight)
    return fit_weights(grown, method.penalty).pruned(method.least_weight)


def experts_prompt(method: PoeWorld, study: Study, product: Product, surprising: np.ndarray, kind: str) -> str:
    """A batch of surprising transitions, and what kind of cause to look for."""
    rows = study.rng.choice(surprising, min(method.batch_size, len(surprising)), replace=False).tolist()
    return study.prompt(f"poe_world_{kind}", study.examples(rows, product.transitions), field=study.domain.scene.state_space.names[0])


def _texts(experts: tuple[Expert, ...]) -> set[str]:
    return {expert.text for expert in experts}


METHOD = PoeWorld()
