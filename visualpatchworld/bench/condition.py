"""Conditions: who observes and who scores, put together into attempts at tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from visualpatchworld.bench.cell import Observe, Score
from visualpatchworld.bench.evaluate import Try
from visualpatchworld.domain import Domain, Metric
from visualpatchworld.plan.control import Attempt, control
from visualpatchworld.plan.observer import Observer, Oracle, Pixels
from visualpatchworld.plan.planner import Scorer
from visualpatchworld.plan.scorer import EngineScorer, HybridScorer
from visualpatchworld.plan.task import Task
from visualpatchworld.scene.calibrate import extractor
from visualpatchworld.simulator import Constants, Simulator


@dataclass(frozen=True, kw_only=True)
class Condition:
    """An observation path and a scoring model for one domain and its frozen planner."""

    domain: Domain
    constants: Constants  # of the true world, and of the engine where that scores
    model: Scorer | None  # the program's; none is needed where the engine scores alone
    observe: Observe
    score: Score

    def observer(self) -> Observer:
        if self.observe == "oracle":
            return Oracle()
        return Pixels(extractor(self.domain, self.constants), self.domain.simulator(self.constants))

    def scorer(self) -> Scorer:
        """An induced scorer holds no simulator; the others get an engine of their own, apart from the true world."""
        if self.score == "induced":
            assert self.model is not None
            return self.model
        engine = EngineScorer(self.domain.simulator(self.constants), self.domain.cost)
        if self.score == "simulator":
            return engine
        assert self.model is not None
        return HybridScorer(self.model, engine)


def planning(condition: Condition, meets: Metric, budget: int, seed: int, training_actions: Sequence[Float[np.ndarray, "T A"]]) -> Try:
    """Attempts by receding-horizon control; a task's draws depend on the seed and its number alone."""
    planner = condition.domain.planner
    search = planner.prepare(condition.scorer(), training_actions, np.random.default_rng(seed))
    observer = condition.observer()

    def attempt(task: Task, world: Simulator) -> Attempt:
        return control(world, task, meets, budget, observer, planner, search, seed=1000 * seed + task.number)

    return attempt
