"""Observers: what a planner is told of the world when it plans."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from jaxtyping import Float

from visualpatchworld.plan.scorer import Situation
from visualpatchworld.simulator import Simulator


class Observer(ABC):
    """Watches a world between plans and describes the situation when the next plan is due."""

    @abstractmethod
    def begin(self, world: Simulator, goal: Float[np.ndarray, " S"]) -> None:
        """An episode begins, with the world at its start."""

    @abstractmethod
    def watch(self, world: Simulator, steps_to_plan: int) -> None:
        """The world has made a step; so many more follow before the next plan."""

    @abstractmethod
    def situation(self, world: Simulator) -> Situation:
        """Where the world is now, and where it should be."""


class Oracle(Observer):
    """Is told the simulator's own state, and the goal's."""

    def begin(self, world: Simulator, goal: Float[np.ndarray, " S"]) -> None:
        self._goal = goal

    def watch(self, world: Simulator, steps_to_plan: int) -> None:
        pass

    def situation(self, world: Simulator) -> Situation:
        return Situation(world.observe(), self._goal, world.get_state())
