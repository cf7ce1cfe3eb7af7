"""Programs inside stable-worldmodel: as the cost model of its solvers, and as a policy for its `World.evaluate`.

Nothing of that package is imported, nor PyTorch: it asks for objects with certain methods, and an answer takes the kind
of tensor that the question came with. Infos are arrays (n, 1, ...) of which only the last moment is read.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from visualpatchworld.errors import VpwError
from visualpatchworld.plan.planner import Planner, Search, Situation
from visualpatchworld.plan.scorer import InducedScorer
from visualpatchworld.program.program import Program

Cost = Callable[[Any, Any], Any]  # states (..., H, S), goal (S) -> costs (...)


class ProgramCost:
    """What the futures of candidates cost, as a program predicts them: `get_cost` for the solvers of stable-worldmodel.

    It has no `get_action`, since solvers would take it for a policy and ask it for the first plan.

    Example: `solver = make_solver(swm.solver.ICEMSolver, ProgramCost(program, domain.cost, action_dim=2),
    num_samples=300)`
    """

    def __init__(
        self, program: Program, cost: Cost, *, action_dim: int, state: str = "state", goal: str = "goal_state"
    ):
        self.scorer = InducedScorer(program, cost)
        self.action_dim = action_dim
        self.keys = (state, goal)

    def get_cost(self, info_dict: Mapping[str, Any], action_candidates: Any) -> Any:
        """Costs (B, K) of candidates (B, K, H, actions that follow
        each other side by side); infos are (B, K, 1, ...).
        """
        candidates = _array(action_candidates)
        if candidates.ndim != 4 or candidates.shape[3] % self.action_dim:
            raise VpwError(f"Candidates are (B, K, H, {self.action_dim} or a multiple), not {candidates.shape}.")
        starts, goals = (
            _array(_entry(info_dict, key))[:, 0].reshape(len(candidates), -1, size)
            for key, size in self._sizes(info_dict)
        )
        flat = candidates.reshape(*candidates.shape[:2], -1, self.action_dim)
        costs = [
            self.scorer.score(Situation(start[-1], goal[-1]), rows).costs
            for start, goal, rows in zip(starts, goals, flat, strict=True)
        ]
        return action_candidates.new_tensor(np.stack(costs).tolist())

    criterion = get_cost

    def _sizes(self, info_dict: Mapping[str, Any]) -> list[tuple[str, int]]:
        return [(key, _array(_entry(info_dict, key)).shape[-1]) for key in self.keys]


class ProgramPolicy:
    """Plans with a program, one plan after the other for each
    environment, and executes them: a policy for `World.set_policy`.

    Example: `world.set_policy(ProgramPolicy(program, domain.cost, domain.planner, action_dim=2)); world.evaluate(...)`
    """

    type = "program"

    def __init__(
        self,
        program: Program,
        cost: Cost,
        planner: Planner,
        *,
        action_dim: int,
        state: str = "state",
        goal: str = "goal_state",
        seed: int = 0,
    ):
        self.planner = planner
        self.search: Search = planner.prepare(InducedScorer(program, cost), [], np.random.default_rng(seed))
        self.action_dim = action_dim
        self.keys = (state, goal)
        self.env: Any = None
        self.plans_made = 0
        self.set_seed(seed)

    def set_env(self, env: Any) -> None:
        """Begin anew in these environments."""
        self.env = env
        self._begin(env.num_envs)

    def set_seed(self, seed: int) -> None:
        self.seed = seed
        self._begin(0 if self.env is None else self.env.num_envs)

    def _begin(self, num_envs: int) -> None:
        self._todo: list[deque[Float[np.ndarray, " A"]]] = [deque() for _ in range(num_envs)]
        self._keys = list(jax.random.split(jax.random.key(self.seed), max(1, num_envs)))
        self.plans_made = 0

    def get_action(self, info_dict: Mapping[str, Any], **_: Any) -> Float[np.ndarray, "N A"]:
        """The next action of every environment; those that are finished rest."""
        states, goals = (
            _array(_entry(info_dict, key)).reshape(len(self._todo), -1, size) for key, size in self._sizes(info_dict)
        )
        finished = _flags(info_dict, "terminated", len(self._todo))
        for i in np.flatnonzero(_flags(info_dict, "_needs_flush", len(self._todo))):
            self._todo[i].clear()
        actions = np.zeros((len(self._todo), self.action_dim), np.float32)
        for i, todo in enumerate(self._todo):
            if finished[i]:
                continue
            if not todo:
                todo.extend(self._plan(i, Situation(states[i, -1], goals[i, -1])))
            actions[i] = todo.popleft()
        return actions

    def _plan(self, i: int, situation: Situation) -> Float[np.ndarray, "T A"]:
        self._keys[i], key = jax.random.split(self._keys[i])
        self.plans_made += 1
        resting = np.zeros((self.planner.horizon, self.action_dim))
        return self.search(situation, resting, key).actions[: self.planner.replan_every]

    def _sizes(self, info_dict: Mapping[str, Any]) -> list[tuple[str, int]]:
        return [(key, _array(_entry(info_dict, key)).shape[-1]) for key in self.keys]


def make_solver(solver: Callable[..., Any], cost: ProgramCost, **settings: Any) -> Any:
    """A solver of stable-worldmodel around a cost, whose argument
    is called `model` up to version 0.1.1 and `cost` later.

    Example: `make_solver(swm.solver.CEMSolver, cost, num_samples=300, n_steps=30, topk=30)`
    """
    named = inspect.signature(solver).parameters
    return solver(**{"cost" if "cost" in named else "model": cost}, **settings)


def _entry(info_dict: Mapping[str, Any], key: str) -> Any:
    if key not in info_dict:
        raise VpwError(f"The infos have no '{key}'; they have {', '.join(sorted(map(str, info_dict)))}.")
    return info_dict[key]


def _array(values: Any) -> np.ndarray:
    """Numbers as numpy has them, wherever a tensor lies."""
    return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)


def _flags(info_dict: Mapping[str, Any], key: str, num_envs: int) -> np.ndarray:
    if key not in info_dict:
        return np.zeros(num_envs, bool)
    return _array(info_dict[key]).reshape(num_envs, -1)[:, -1].astype(bool)
