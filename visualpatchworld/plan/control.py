"""Receding-horizon control: observe the world, plan, execute
the first steps in the true world, look again, plan anew.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from visualpatchworld.errors import BadGraph, VpwError
from visualpatchworld.plan.planner import Planner, Search
from visualpatchworld.plan.scorer import Situation
from visualpatchworld.scene.extractor import ToolExtractor
from visualpatchworld.simulator import Simulator

NUM_FRAMES = 4  # of the last steps, of which velocities are read


@dataclass(frozen=True)
class Task:
    """A start and a goal, both as engine states (to be put into a world, or drawn) and as observed states."""

    number: int
    episode: int
    step: int
    start_engine_state: Float[np.ndarray, " E"]
    start: Float[np.ndarray, " S"]
    goal_engine_state: Float[np.ndarray, " E"]
    # One for all time, or one for each step if it moves; what is not a number does not matter.
    goal: Float[np.ndarray, "*T S"]
    earlier_engine_states: Float[np.ndarray, "B E"]  # the steps before the start, for whoever has to see motion
    earlier_actions: Float[np.ndarray, "B A"]  # the action taken in each of them


def goal_at(goal: Float[np.ndarray, "*T S"], step: int) -> Float[np.ndarray, " S"]:
    """The goal after so many steps; one that moves rests where its way ends."""
    return goal if goal.ndim == 1 else goal[min(step, len(goal) - 1)]


Rollouts = Callable[[Any, Any], Any]  # a state and K sequences of actions to the states after each action


class Observer(ABC):
    """Watches a world between plans and describes the situation when the next plan is due."""

    @abstractmethod
    def begin(self, task: Task) -> None:
        """A new task begins, with the world at its start."""

    @abstractmethod
    def watch(self, world: Simulator, action: Float[np.ndarray, " A"], steps_to_plan: int) -> None:
        """The world has made a step; so many more follow before the next plan."""

    @abstractmethod
    def situation(self, world: Simulator) -> Situation:
        """Where the world is now, and where it should be."""


class Oracle(Observer):
    """Is told the simulator's own state, and the goal's."""

    def begin(self, task: Task) -> None:
        self._goal, self._steps = task.goal, 0

    def watch(self, world: Simulator, action: Float[np.ndarray, " A"], steps_to_plan: int) -> None:
        self._steps += 1

    def situation(self, world: Simulator) -> Situation:
        ahead = self._goal if self._goal.ndim == 1 else self._goal[min(self._steps + 1, len(self._goal) - 1) :]
        return Situation(world.get_state(), ahead, world.get_engine_state())


class Pixels(Observer):
    """Sees pictures of the world and of its goal, and reads states off them.

    The stage is a world of the same kind, apart from the true one, for drawing what lies elsewhere in time: the goal,
    and the steps before the start. It also turns a state that was read into an engine state, for scorers that have an
    engine.

    What one of the two pictures hides is taken to be as the other shows it. What is hidden later is where a model's
    rollout of the actions since then brings it from the state that was read last; without a model, as it was read last.
    """

    def __init__(self, extractor: ToolExtractor, stage: Simulator, rollouts: Rollouts | None = None):
        self._extractor, self._stage, self._rollouts = extractor, stage, rollouts

    def begin(self, task: Task) -> None:
        if task.goal.ndim > 1:
            raise VpwError("A goal that moves cannot be seen in one picture; observe by the oracle.")
        goal = self._drawn(task.goal_engine_state)
        earlier = list(zip(task.earlier_engine_states, task.earlier_actions, strict=True))[1 - NUM_FRAMES :]
        self._frames = deque((self._drawn(state) for state, _ in earlier), maxlen=NUM_FRAMES)
        self._actions = deque((action for _, action in earlier), maxlen=NUM_FRAMES - 1)
        self._frames.append(self._drawn(task.start_engine_state))
        self._last, self._since = None, []
        try:
            start = self._extractor.observe(self._frames)
        except BadGraph:
            start = None
        # A picture shows no full turns: those are meant that lead from the start the short way.
        self._goal = self._extractor.observe([goal], near=start)
        self._counts = ~np.isnan(task.goal)

    def watch(self, world: Simulator, action: Float[np.ndarray, " A"], steps_to_plan: int) -> None:
        self._since.append(action)
        if steps_to_plan >= NUM_FRAMES:  # nobody will look at this one
            return
        self._actions.append(action)
        self._frames.append(world.render())

    def situation(self, world: Simulator) -> Situation:
        frames = list(self._frames)
        actions = np.array(list(self._actions)[-(len(frames) - 1) :]) if len(frames) > 1 else None
        expected = None
        if self._rollouts is not None and self._last is not None and self._since:
            expected = np.asarray(self._rollouts(self._last, np.array([self._since])), np.float64)[0, -1]
        try:
            self._last = self._extractor.observe(frames, actions, near=self._last, expected=expected)
        except BadGraph:
            self._last = self._extractor.observe(frames, actions, near=self._goal)
        self._since = []
        self._stage.set_state(self._last)
        return Situation(self._last, np.where(self._counts, self._goal, np.nan), self._stage.get_engine_state())

    def _drawn(self, engine_state: Float[np.ndarray, " E"]) -> np.ndarray:
        self._stage.set_engine_state(engine_state)
        return self._stage.render()


@dataclass(frozen=True)
class PlanMade:
    """One plan of an attempt: when, from what, what it was to cost, and what it took to make."""

    step: int
    state: Float[np.ndarray, " S"]  # as observed
    actions: Float[np.ndarray, "H A"]
    cost: float
    seconds: float
    engine_rollouts: int
    non_finite: int


@dataclass(frozen=True)
class Attempt:
    """What happened on the way from a start to a goal; the attempt ends at the first success."""

    success: bool
    solved_at_start: bool
    states: Float[np.ndarray, "T+1 S"]
    actions: Float[np.ndarray, "T A"]
    plans: tuple[PlanMade, ...]


def control(
    world: Simulator,
    task: Task,
    meets: Callable[[np.ndarray, np.ndarray], np.ndarray],
    budget: int,
    observer: Observer,
    planner: Planner,
    search: Search,
    seed: int,
) -> Attempt:
    """Act in `world`, which is at the task's start, until it meets the goal or the budget of steps is spent."""
    states, actions, plans = [world.get_state()], [], []
    success = solved_at_start = bool(meets(states[0], goal_at(task.goal, 0)))
    observer.begin(task)
    start = np.zeros((planner.horizon, world.action_dim))
    key = jax.random.key(seed)
    while not success and len(actions) < budget:
        key, plan_key = jax.random.split(key)
        began = time.perf_counter()
        situation = observer.situation(world)._replace(steps_left=budget - len(actions))
        found = search(situation, start, plan_key)
        seconds = time.perf_counter() - began
        made = PlanMade(
            len(actions), situation.state, found.actions, found.cost, seconds, found.engine_rollouts, found.non_finite
        )
        plans.append(made)
        executed = found.actions[: min(planner.replan_every, budget - len(actions))]
        for i, action in enumerate(executed):
            world.step(action)
            actions.append(action)
            states.append(world.get_state())
            success = bool(meets(states[-1], goal_at(task.goal, len(actions))))
            if success:
                break
            observer.watch(world, action, len(executed) - i - 1)
        if planner.warm_start:
            start = np.concatenate(
                [found.actions[planner.replan_every :], np.zeros((planner.replan_every, world.action_dim))]
            )
    return Attempt(
        success, solved_at_start, np.array(states), np.array(actions).reshape(-1, world.action_dim), tuple(plans)
    )


def follow(
    world: Simulator,
    goal: Float[np.ndarray, "*T S"],
    meets: Callable[[np.ndarray, np.ndarray], np.ndarray],
    actions: Float[np.ndarray, "T A"],
) -> Attempt:
    """Execute given actions until the goal is met: the floors, resting and acting at random."""
    states, success = [world.get_state()], bool(meets(world.get_state(), goal_at(goal, 0)))
    solved_at_start, taken = success, 0
    while not success and taken < len(actions):
        world.step(actions[taken])
        taken += 1
        states.append(world.get_state())
        success = bool(meets(states[-1], goal_at(goal, taken)))
    return Attempt(success, solved_at_start, np.array(states), actions[:taken], ())
