"""Who foresees candidates: the program holds no simulator, the
hybrid re-scores a share, and what is not finite is never best.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy_program import BREAKS_LEFTWARDS, OBEYS, RIGHT

from visualpatchworld.domain import Domain
from visualpatchworld.plan.cem import CEM
from visualpatchworld.plan.planner import Situation
from visualpatchworld.plan.sampling import sampling_search
from visualpatchworld.plan.scorer import (
    EngineScorer,
    HybridScorer,
    InducedScorer,
    RolloutScorer,
    SparingScorer,
    off_by_errors,
)
from visualpatchworld.program import rollout
from visualpatchworld.program.program import Program
from visualpatchworld.program.rollout import compile_rollouts
from visualpatchworld.simulator import Simulator

STATE = np.array([0.2, -0.1])
SITUATION = Situation(STATE, np.array([0.3, 0.0]), STATE)


@pytest.fixture
def actions() -> np.ndarray:
    return np.random.default_rng(1).uniform(-1, 1, (20, 5, 1))


def engine_scorer(toy: Domain) -> EngineScorer:
    return EngineScorer(toy.make(), toy.cost)


def test_program_and_engine_agree_where_the_program_is_right(toy: Domain, actions: np.ndarray):
    by_program = InducedScorer(RIGHT, toy.cost).score(SITUATION, actions)
    by_engine = engine_scorer(toy).score(SITUATION, actions)
    np.testing.assert_allclose(by_program.costs, by_engine.costs, atol=1e-5)
    assert (by_program.engine_rollouts, by_engine.engine_rollouts) == (0, 20)


def test_an_induced_scorer_holds_no_simulator(toy: Domain, actions: np.ndarray, monkeypatch: pytest.MonkeyPatch):
    scorer = InducedScorer(RIGHT, toy.cost)
    held = [getattr(scorer, field.name) for field in dataclasses.fields(scorer)]
    assert {field.name for field in dataclasses.fields(scorer)} == {"program", "cost"}
    assert not any(isinstance(value, Simulator) for value in held)

    def touched(*_: object):
        raise AssertionError("a simulator was called")

    for name in ("rollout", "advance", "step", "set_engine_state", "set_state"):
        monkeypatch.setattr(toy.simulator, name, touched)
    blind = SITUATION._replace(engine_state=None)
    assert scorer.score(blind, actions).engine_rollouts == 0
    cem = CEM(samples=20, iterations=2, elites=2, horizon=5, replan_every=5, init_std=0.5)
    assert sampling_search(cem, scorer)(blind, np.zeros((5, 1)), jax.random.key(0)).engine_rollouts == 0


def test_a_program_known_by_its_rollouts_scores_the_same(toy: Domain, actions: np.ndarray):
    run = compile_rollouts(RIGHT)
    by_rollouts = RolloutScorer(
        lambda state, candidates: np.asarray(run(jnp.asarray(state), jnp.asarray(candidates))), toy.cost
    )
    wanted = InducedScorer(RIGHT, toy.cost).score(SITUATION, actions).costs
    np.testing.assert_allclose(by_rollouts.score(SITUATION, actions).costs, wanted, atol=1e-6)


@pytest.mark.parametrize("at_a_time", [3, 7, 20])
def test_candidates_cost_the_same_in_blocks(
    toy: Domain, actions: np.ndarray, monkeypatch: pytest.MonkeyPatch, at_a_time: int
):
    wanted = InducedScorer(RIGHT, toy.cost).score(SITUATION, actions).costs
    monkeypatch.setattr(rollout, "_in_blocks", True)
    monkeypatch.setattr(rollout, "CANDIDATES_AT_A_TIME", at_a_time)
    np.testing.assert_allclose(InducedScorer(RIGHT, toy.cost).score(SITUATION, actions).costs, wanted, atol=1e-6)


@pytest.mark.parametrize(("count", "rescored"), [(20, 6), (600, 180), (5, 2), (1, 1)])
def test_hybrid_keeps_only_what_the_engine_saw(toy: Domain, count: int, rescored: int):
    candidates = np.random.default_rng(2).uniform(-1, 1, (count, 5, 1))
    cheap, engine = InducedScorer(OBEYS, toy.cost), engine_scorer(toy)
    scores = HybridScorer(cheap, engine).score(SITUATION, candidates)
    shortlist = np.argsort(cheap.score(SITUATION, candidates).costs, kind="stable")[:rescored]
    assert scores.engine_rollouts == rescored
    np.testing.assert_array_equal(np.flatnonzero(np.isfinite(scores.costs)), np.sort(shortlist))
    np.testing.assert_array_equal(scores.costs[shortlist], engine.score(SITUATION, candidates[shortlist]).costs)


def test_hybrid_search_counts_its_share_of_every_round(toy: Domain):
    cem = CEM(samples=50, iterations=4, elites=5, horizon=5, replan_every=5, init_std=0.5)
    hybrid = HybridScorer(InducedScorer(OBEYS, toy.cost), engine_scorer(toy))
    found = sampling_search(cem, hybrid)(SITUATION, np.zeros((5, 1)), jax.random.key(0))
    assert found.engine_rollouts == 4 * round(0.3 * 50)
    # The program is wrong about everything; what the plan is to cost is nevertheless the engine's word.
    assert found.cost == pytest.approx(float(hybrid.engine.score(SITUATION, found.actions[None]).costs[0]), abs=1e-5)


def test_the_engine_is_asked_only_where_the_program_is_unsure(toy: Domain):
    candidates = np.random.default_rng(2).uniform(-1, 1, (200, 5, 1))
    sure = InducedScorer(Program(RIGHT.text.replace("PUSH = 3.0", "PUSH = 3.0  # N  +- 1e-09  its push")), toy.cost)
    scores = SparingScorer(sure, engine_scorer(toy)).score(SITUATION, candidates)
    assert scores.engine_rollouts == 0
    np.testing.assert_array_equal(scores.costs, sure.score(SITUATION, candidates).costs)
    unsure = InducedScorer(Program(RIGHT.text.replace("PUSH = 3.0", "PUSH = 3.0  # N  +- 0.9  its push")), toy.cost)
    assert off_by_errors(unsure.program).constants["PUSH"] == pytest.approx(3.9)
    scores = SparingScorer(unsure, engine_scorer(toy)).score(SITUATION, candidates)
    assert 0 < scores.engine_rollouts <= 0.03 * len(candidates)
    assert np.isfinite(scores.costs).all()  # the others stay in the running


def test_what_is_not_finite_is_infinitely_bad_and_counted(toy: Domain):
    candidates = np.array([[[-0.5]], [[0.25]], [[-0.1]]])
    scores = InducedScorer(BREAKS_LEFTWARDS, toy.cost).score(SITUATION, candidates)
    assert scores.non_finite == 2
    assert list(np.isinf(scores.costs)) == [True, False, True]
    endless = RolloutScorer(
        lambda state, actions: np.full((*actions.shape[:2], 2), -np.inf), lambda states, goal: states[..., 0].min(-1)
    )
    assert (endless.score(SITUATION, candidates).costs == np.inf).all()


def test_hybrid_counts_what_is_not_finite_at_the_first_look(toy: Domain):
    candidates = np.linspace(-1, 1, 20)[:, None, None]
    scores = HybridScorer(InducedScorer(BREAKS_LEFTWARDS, toy.cost), engine_scorer(toy)).score(SITUATION, candidates)
    assert scores.non_finite == 10
    assert np.flatnonzero(np.isfinite(scores.costs)).min() >= 10
