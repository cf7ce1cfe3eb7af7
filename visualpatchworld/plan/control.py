"""Receding-horizon control: plan, execute the first steps in the true world, look again, plan anew."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Float

from visualpatchworld.plan.observer import Observer, Task, goal_at
from visualpatchworld.plan.planner import Planner, Search
from visualpatchworld.simulator import Simulator


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
        made = PlanMade(len(actions), situation.state, found.actions, found.cost, seconds, found.engine_rollouts, found.non_finite)
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
            start = np.concatenate([found.actions[planner.replan_every :], np.zeros((planner.replan_every, world.action_dim))])
    return Attempt(success, solved_at_start, np.array(states), np.array(actions).reshape(-1, world.action_dim), tuple(plans))


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
