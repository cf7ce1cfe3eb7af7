"""What planning is made of: a situation, scorers that say what futures cost, and planners that look for cheap ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from jaxtyping import Float

from visualpatchworld.errors import VpwError

if TYPE_CHECKING:  # the name alone loads JAX
    from jaxtyping import PRNGKeyArray


class Situation(NamedTuple):
    """Where the world is, as the planner was told, and where it should be."""

    state: Float[np.ndarray, " S"]
    # One for all time, or one for each step ahead; what is not a number there does not matter.
    goal: Float[np.ndarray, "*T S"]
    engine_state: Float[np.ndarray, " E"] | None = None  # of an engine put there; an induced scorer needs none
    steps_left: int | None = None  # before time is up; none where nobody counts

    def goal_ahead(self, horizon: int) -> Float[np.ndarray, "*H S"]:
        """The goal as it is where it is whole and rests, otherwise a row for each step ahead; the last one stays."""
        goal = np.asarray(self.goal, np.float64)
        if goal.ndim == 1 and not np.isnan(goal).any():
            return goal
        return np.atleast_2d(goal)[np.minimum(np.arange(horizon), len(np.atleast_2d(goal)) - 1)]


class Scores(NamedTuple):
    """Costs of candidates; what is not finite, or was not looked at closely enough, is infinitely bad."""

    costs: Float[np.ndarray, " K"]
    engine_rollouts: int
    non_finite: int


class Scorer(ABC):
    """Predicts candidate action sequences and says what each future costs."""

    @abstractmethod
    def score(self, situation: Situation, actions: Float[np.ndarray, "K H A"]) -> Scores:
        """The cost of each candidate."""


class Plan(NamedTuple):
    """The best plan of a search, and what the search took."""

    actions: Float[np.ndarray, "H A"]
    cost: float
    engine_rollouts: int
    non_finite: int


# The last is a key of JAX, which this module does not load.
Search = Callable[[Situation, Float[np.ndarray, "H A"], Any], Plan]


@dataclass(frozen=True, kw_only=True)
class Planner(ABC):
    """How plans are searched for, as a frozen value: a subclass is its own configuration, and one more planner.

    `prepare` makes it ready for one scorer: what it returns is called with a situation, a plan to begin around and a
    key.
    """

    horizon: int  # steps predicted
    replan_every: int  # steps of a plan that are executed before the next one is made
    warm_start: bool = False  # begin around what is left of the plan before, instead of around zero actions

    def __post_init__(self):
        if not 1 <= self.replan_every <= self.horizon:
            raise ValueError(
                f"replan_every must lie between 1 and the horizon of {self.horizon}, not {self.replan_every}"
            )

    def looking(self, steps: int) -> Self:
        """The same planner, which predicts and executes so many steps at a time."""
        return replace(self, horizon=steps, replan_every=steps)

    def within(self, tolerance: float) -> Self:
        """The same planner for goals whose success radius is
        scaled; one that does not know of success stays as it is.
        """
        return self

    @property
    @abstractmethod
    def title(self) -> str:
        """What it does in a few words, for people; `values` tells planners apart."""

    @property
    def values(self) -> str:
        """All that decides what it finds, so that results of unequal
        planners never mix: every value that is not its field's default.
        """
        own = [
            (each.name, getattr(self, each.name))
            for each in fields(self)
            if each.default is MISSING or getattr(self, each.name) != each.default
        ]
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in sorted(own))})"

    @property
    @abstractmethod
    def rollouts_per_plan(self) -> int:
        """How many candidates it looks at for one plan."""

    @abstractmethod
    def prepare(
        self, scorer: Scorer, training_actions: Sequence[Float[np.ndarray, "T A"]], rng: np.random.Generator
    ) -> Search:
        """The search, compiled once; a planner that has a library cuts it from the actions of training episodes."""


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

    def prepare(
        self, scorer: Scorer, training_actions: Sequence[Float[np.ndarray, "T A"]], rng: np.random.Generator
    ) -> Search:
        return shooting_search(cut_macros(training_actions, self, rng), scorer)


def cut_macros(
    actions: Sequence[Float[np.ndarray, "T A"]], shooting: Shooting, rng: np.random.Generator
) -> Float[np.ndarray, "K H A"]:
    """A library of macros drawn from the action sequences of episodes, without replacement."""
    places = [(run, t) for run, taken in enumerate(actions) for t in range(len(taken) - shooting.horizon + 1)]
    if not places:
        raise NoMacros(
            f"A library of macros needs training episodes of at least {shooting.horizon} steps; there are none."
        )
    chosen = np.sort(rng.choice(len(places), min(shooting.macros, len(places)), replace=False))
    return np.stack([actions[run][t : t + shooting.horizon] for run, t in (places[i] for i in chosen)])


def shooting_search(macros: Float[np.ndarray, "K H A"], scorer: Scorer) -> Search:
    """A function from a situation to the cheapest macro; there is nothing random in it."""

    def run(situation: Situation, start: Float[np.ndarray, "H A"], key: PRNGKeyArray) -> Plan:
        scores = scorer.score(situation._replace(steps_left=None), macros)
        best = int(np.argmin(scores.costs))
        return Plan(macros[best], float(scores.costs[best]), scores.engine_rollouts, scores.non_finite)

    return run
