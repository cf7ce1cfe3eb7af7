"""Library shooting: the best of a fixed library of short action sequences that somebody has executed before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from visualpatchworld.errors import VpwError
from visualpatchworld.plan.planner import Plan, Planner, Scorer, Search, Situation


class NoMacros(VpwError):
    """There are no training episodes to cut a library from."""


@dataclass(frozen=True, kw_only=True)
class Shooting(Planner):
    """Library shooting: score action sequences cut from training episodes, and execute the best."""

    macros: int

    def __post_init__(self):
        super().__post_init__()
        if self.macros < 1:
            raise ValueError("there must be a macro")

    @property
    def title(self) -> str:
        return f"library of {self.macros} macros, {self.horizon} steps ahead, {self.replan_every} executed"

    @property
    def rollouts_per_plan(self) -> int:
        return self.macros

    def prepare(self, scorer: Scorer, training_actions: Sequence[Float[np.ndarray, "T A"]], rng: np.random.Generator) -> Search:
        return shooting_search(cut_macros(training_actions, self, rng), scorer)


def cut_macros(actions: Sequence[Float[np.ndarray, "T A"]], shooting: Shooting, rng: np.random.Generator) -> Float[np.ndarray, "K H A"]:
    """A library of macros drawn from the action sequences of episodes, without replacement."""
    places = [(run, t) for run, taken in enumerate(actions) for t in range(len(taken) - shooting.horizon + 1)]
    if not places:
        raise NoMacros(f"A library of macros needs training episodes of at least {shooting.horizon} steps; there are none.")
    chosen = np.sort(rng.choice(len(places), min(shooting.macros, len(places)), replace=False))
    return np.stack([actions[run][t : t + shooting.horizon] for run, t in (places[i] for i in chosen)])


def shooting_search(macros: Float[np.ndarray, "K H A"], scorer: Scorer) -> Search:
    """A function from a situation to the cheapest macro; there is nothing random in it."""

    def run(situation: Situation, start: Float[np.ndarray, "H A"], key: PRNGKeyArray) -> Plan:
        scores = scorer.score(situation._replace(steps_left=None), macros)
        best = int(np.argmin(scores.costs))
        return Plan(macros[best], float(scores.costs[best]), scores.engine_rollouts, scores.non_finite)

    return run
