"""A program as stable-worldmodel asks for it, without that
package: tensors are anything that makes more of its kind.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import toy_program

from visualpatchworld.domain import Domain
from visualpatchworld.errors import VpwError
from visualpatchworld.plan.cem import CEM
from visualpatchworld.plan.planner import Situation
from visualpatchworld.plan.scorer import InducedScorer
from visualpatchworld.plan.stable_worldmodel import ProgramCost, ProgramPolicy, make_solver

PLANNER = CEM(samples=64, iterations=4, elites=8, horizon=6, replan_every=3, init_std=1.0)


class Tensor:
    """What is used of a tensor that lies on some device."""

    def __init__(self, values: Any):
        self.values = np.asarray(values)

    def detach(self) -> "Tensor":
        return self

    def cpu(self) -> np.ndarray:
        return self.values

    def new_tensor(self, values: Any) -> "Tensor":
        return Tensor(np.asarray(values, self.values.dtype))


def asked(states: np.ndarray, goals: np.ndarray, samples: int) -> dict[str, Tensor]:
    """Infos (B, K, 1, S), as a solver repeats them for its candidates."""
    rows = {"state": states, "goal_state": goals}
    return {key: Tensor(np.repeat(values[:, None, None], samples, axis=1)) for key, values in rows.items()}


@pytest.mark.parametrize("block", [1, 2])
def test_costs_are_those_of_the_program(toy: Domain, block: int):
    rng = np.random.default_rng(0)
    states, goals = rng.uniform(-1, 1, (2, 3, 2))
    candidates = rng.uniform(-1, 1, (3, 5, 4, block)).astype(np.float32)
    model = ProgramCost(toy_program.RIGHT, toy.cost, action_dim=1)
    costs = model.get_cost(asked(states, goals, 5), Tensor(candidates))
    scorer = InducedScorer(toy_program.RIGHT, toy.cost)
    for i in range(3):
        wanted = scorer.score(Situation(states[i], goals[i]), candidates[i].reshape(5, 4 * block, 1)).costs
        assert costs.values[i] == pytest.approx(wanted, rel=1e-5)
    assert costs.values.shape == (3, 5) and not hasattr(model, "get_action")


def test_both_ways_of_making_a_solver(toy: Domain):
    class Old:
        def __init__(self, model: Any, num_samples: int = 1):
            self.asked = ("model", model, num_samples)

    class New:
        def __init__(self, cost: Any, num_samples: int = 1):
            self.asked = ("cost", cost, num_samples)

    model = ProgramCost(toy_program.RIGHT, toy.cost, action_dim=1)
    assert make_solver(Old, model, num_samples=7).asked == ("model", model, 7)
    assert make_solver(New, model, num_samples=7).asked == ("cost", model, 7)


def made_policy(toy: Domain, num_envs: int) -> ProgramPolicy:
    policy = ProgramPolicy(toy_program.OBEYS, toy.cost, PLANNER, action_dim=1, seed=3)
    policy.set_env(SimpleNamespace(num_envs=num_envs))
    policy.set_seed(policy.seed)
    return policy


def test_a_policy_plans_once_for_several_steps_and_leaves_finished_ones_alone(toy: Domain):
    policy = made_policy(toy, 2)
    infos: dict[str, Any] = {"state": np.zeros((2, 1, 2)), "goal_state": np.array([[[0.5, 0.0]], [[-0.5, 0.0]]])}
    first = policy.get_action(infos)
    assert first.shape == (2, 1) and first.dtype == np.float32
    for _ in range(PLANNER.replan_every - 1):
        last = policy.get_action({**infos, "terminated": np.array([[False], [True]])})
        assert last[1] == 0
    assert policy.plans_made == 2
    policy.get_action({**infos, "terminated": np.array([[False], [True]])})
    assert policy.plans_made == 3
    policy.get_action({**infos, "_needs_flush": np.array([True, True])})
    assert policy.plans_made == 5


def test_a_policy_reaches_its_goals_and_repeats_itself(toy: Domain):
    goals = np.array([[[0.5, 0.0]], [[-0.5, 0.0]]])
    infos = {"state": np.zeros((2, 1, 2)), "goal_state": goals}
    one, other = (made_policy(toy, 2).get_action(infos) for _ in range(2))
    assert np.array_equal(one, other)
    assert (np.sign(one[:, 0]) == np.sign(goals[:, 0, 0])).all()


def test_what_is_missing_is_told(toy: Domain):
    model = ProgramCost(toy_program.RIGHT, toy.cost, action_dim=1, state="qpos")
    with pytest.raises(VpwError, match="no 'qpos'; they have goal_state, state"):
        model.get_cost(asked(np.zeros((1, 2)), np.zeros((1, 2)), 2), Tensor(np.zeros((1, 2, 3, 1))))
    with pytest.raises(VpwError, match="Candidates are"):
        model.get_cost({}, Tensor(np.zeros((2, 3, 1))))
