"""The cross-entropy search: it finds what is known to be best, and what is not a number never looks good."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy_program import BREAKS_LEFTWARDS, OBEYS, RIGHT

from visualpatchworld.domain import Domain
from visualpatchworld.plan.cem import CEM
from visualpatchworld.plan.planner import Scorer, Scores, Search, Situation
from visualpatchworld.plan.sampling import draw_all, first_rounds, refit_all, sampling_search
from visualpatchworld.plan.scorer import InducedScorer, RolloutScorer

PLANNER = CEM(samples=200, iterations=12, elites=20, horizon=4, replan_every=4, init_std=0.7)
KEY = jax.random.key(0)
SITUATION = Situation(np.array([0.2, -0.1]), np.array([0.3, 0.0]))


class Stepwise(Scorer):
    """Another scorer's scores, asked for round by round."""

    def __init__(self, scorer: Scorer):
        self.scorer, self.asked = scorer, 0

    def score(self, situation: Situation, actions: np.ndarray) -> Scores:
        self.asked += 1
        return self.scorer.score(situation, actions)


def distance(states, goal):
    return ((states[..., 0] - goal[0]) ** 2).sum(-1)


def found_by(search: Search, start: np.ndarray | None = None):
    return search(SITUATION, np.zeros((PLANNER.horizon, 1)) if start is None else start, KEY)


def test_finds_the_known_best_plan():
    found = found_by(sampling_search(PLANNER, InducedScorer(OBEYS, distance)))
    np.testing.assert_allclose(found.actions, 0.3, atol=0.01)
    assert found.cost == pytest.approx(((found.actions[:, 0] - 0.3) ** 2).sum(), abs=1e-5)
    assert (found.engine_rollouts, found.non_finite) == (0, 0)


def test_more_rounds_find_better_plans():
    costs = [
        found_by(
            sampling_search(
                CEM(samples=50, iterations=n, elites=5, horizon=4, replan_every=4, init_std=0.7),
                InducedScorer(OBEYS, distance),
            )
        ).cost
        for n in (1, 4, 12)
    ]
    assert costs[0] > costs[1] > costs[2]


def test_best_beyond_the_limit_is_the_limit():
    far = Situation(SITUATION.state, np.array([5.0, 0.0]))
    found = sampling_search(PLANNER, InducedScorer(OBEYS, distance))(far, np.zeros((4, 1)), KEY)
    np.testing.assert_allclose(found.actions, 1.0, atol=1e-6)


def test_compiled_and_stepwise_search_draw_the_same(toy: Domain):
    # Only the first round: of two candidates that cost the same but for rounding, each may keep another, and then they
    # part.
    once = CEM(samples=200, iterations=1, elites=20, horizon=4, replan_every=4, init_std=0.7)
    scorer = InducedScorer(RIGHT, toy.cost)
    compiled, stepwise = found_by(sampling_search(once, scorer)), found_by(sampling_search(once, Stepwise(scorer)))
    np.testing.assert_allclose(stepwise.actions, compiled.actions, atol=1e-5)
    assert stepwise.cost == pytest.approx(compiled.cost, abs=1e-5)


def test_compiled_and_stepwise_search_find_the_same():
    scorer = InducedScorer(OBEYS, distance)
    apart = Stepwise(scorer)
    compiled, stepwise = found_by(sampling_search(PLANNER, scorer)), found_by(sampling_search(PLANNER, apart))
    assert apart.asked == PLANNER.iterations
    np.testing.assert_allclose(stepwise.actions, compiled.actions, atol=0.02)
    assert stepwise.cost == pytest.approx(compiled.cost, abs=1e-3)


def test_same_key_same_plan_other_key_other_plan(toy: Domain):
    search = sampling_search(PLANNER, InducedScorer(OBEYS, distance))
    start = np.zeros((4, 1))
    first, again, other = (search(SITUATION, start, jax.random.key(seed)).actions for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_what_is_not_a_number_is_worst_and_counted():
    # The goal lies left, where the program breaks down: the best that can be foreseen is not to push.
    left = Situation(SITUATION.state, np.array([-1.0, 0.0]))
    for scorer in (InducedScorer(BREAKS_LEFTWARDS, distance), Stepwise(InducedScorer(BREAKS_LEFTWARDS, distance))):
        found = sampling_search(PLANNER, scorer)(left, np.full((4, 1), 0.5), KEY)
        assert (found.actions >= 0).all()
        assert np.isfinite(found.cost)
        assert 0 < found.non_finite < PLANNER.rollouts_per_plan


def test_where_nothing_is_finite_the_plan_stays_where_it_began():
    start = np.full((4, 1), 0.25)
    nowhere = RolloutScorer(lambda state, actions: np.full((*actions.shape[:2], 2), np.nan), distance)
    found = found_by(sampling_search(PLANNER, nowhere), start)
    np.testing.assert_array_equal(found.actions, start)
    assert found.cost == np.inf
    assert found.non_finite == PLANNER.rollouts_per_plan


def test_mean_and_best_are_among_the_candidates():
    begin = first_rounds(PLANNER, jnp.full((4, 1), 0.1))
    best = jnp.full((1, 4, 1), -0.8)
    drawn = draw_all(PLANNER, begin._replace(best=best), KEY)
    np.testing.assert_array_equal(drawn[0], begin.mean[0])
    np.testing.assert_array_equal(drawn[1], best[0])
    assert float(jnp.abs(drawn).max()) <= 1.0


def test_refit_takes_the_cheapest_and_keeps_its_share():
    cem = CEM(samples=3, iterations=1, elites=2, horizon=1, replan_every=1, init_std=1.0, smoothing=0.5)
    actions = jnp.array([[[0.9]], [[0.2]], [[0.4]]])
    after = refit_all(cem, first_rounds(cem, jnp.zeros((1, 1))), actions, jnp.array([jnp.nan, 2.0, 1.0]))
    np.testing.assert_allclose(after.mean[0], [[0.5 * 0.3]], atol=1e-6)
    np.testing.assert_allclose(after.std[0], [[0.5 * 1.0 + 0.5 * 0.1]], atol=1e-6)
    np.testing.assert_allclose(after.best[0], [[0.4]])
    assert (float(after.best_cost[0]), int(after.non_finite[0])) == (1.0, 1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"elites": 0},
        {"elites": 201},
        {"replan_every": 5},
        {"replan_every": 0},
        {"iterations": 0},
        {"init_std": 0.0},
        {"smoothing": 1.0},
    ],
)
def test_planners_that_make_no_sense_are_refused(wrong: dict):
    fields = {"samples": 200, "iterations": 1, "elites": 20, "horizon": 4, "replan_every": 4, "init_std": 0.5} | wrong
    with pytest.raises(ValueError, match=r"must"):
        CEM(**fields)
