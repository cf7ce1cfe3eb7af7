"""The planners that a user can name: each finds what is known to be best, and what one promises besides holds."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy_program import OBEYS, RIGHT

from visualpatchworld.plan.cem import CEM, siblings
from visualpatchworld.plan.planner import Planner, Situation
from visualpatchworld.plan.sampling import coloured, first_rounds, for_whole_goal, sampling_search
from visualpatchworld.plan.scorer import InducedScorer, RolloutScorer
from visualpatchworld.program.program import Program

FIELDS: dict[str, Any] = {
    "samples": 100,
    "iterations": 12,
    "elites": 10,
    "horizon": 6,
    "replan_every": 3,
    "init_std": 0.7,
}
SEARCH = CEM(**FIELDS, hold=3, restarts=2, warm_start=True)
SITUATION = Situation(np.array([0.2, -0.1]), np.array([0.3, 0.0]))
REST, KEY = np.zeros((6, 1)), jax.random.key(0)


def search(**changes: Any) -> CEM:
    return CEM(**{**FIELDS, **changes})


def distance(states, goal):
    return ((states - goal)[..., 0] ** 2).sum(-1)


def nearest(states, goal):
    return abs((states - goal)[..., 0]).min(-1)


@pytest.mark.parametrize(("name", "planner"), siblings(SEARCH).items())
def test_every_sibling_finds_the_known_best_plan(name: str, planner: Planner):
    found = planner.prepare(InducedScorer(OBEYS, distance), [], np.random.default_rng(0))(SITUATION, REST, KEY)
    np.testing.assert_allclose(found.actions, 0.3, atol=0.03)
    assert name[:2].upper() in planner.title.upper()


def test_held_actions_stay_for_as_many_steps():
    found = sampling_search(SEARCH, InducedScorer(RIGHT, distance))(SITUATION, REST, KEY)
    np.testing.assert_array_equal(found.actions, np.repeat(found.actions[::3], 3, axis=0))


def test_gradients_make_a_plan_better():
    coarse = search(iterations=2, samples=10, elites=2)
    scorer = InducedScorer(RIGHT, distance)
    by_name = {
        name: planner.prepare(scorer, [], np.random.default_rng(0)) for name, planner in siblings(coarse).items()
    }
    assert by_name["gradient"](SITUATION, REST, KEY).cost < by_name["cem"](SITUATION, REST, KEY).cost


def test_a_search_ends_when_the_goal_is_surely_met():
    asked = []

    def rollouts(state, actions):
        asked.append(len(actions))
        return np.concatenate([actions, 0 * actions], axis=-1)

    hasty = CEM(**FIELDS, enough=0.2)
    found = sampling_search(hasty, RolloutScorer(rollouts, nearest))(SITUATION, REST, KEY)
    assert found.cost < 0.2
    assert len(asked) == 1
    assert sampling_search(hasty, InducedScorer(OBEYS, nearest))(SITUATION, REST, KEY).cost < 0.2


def test_what_comes_after_the_last_step_does_not_count():
    careful = CEM(**FIELDS, heeds_budget=True)
    late = RolloutScorer(
        lambda state, actions: np.stack([np.arange(6.0)] * len(actions))[..., None] * np.ones(2), nearest
    )
    goal = Situation(np.zeros(2), np.array([5.0, 5.0]), steps_left=3)
    assert sampling_search(careful, late)(goal, REST, KEY).cost == pytest.approx(3.0)
    counting = InducedScorer(OBEYS, distance)
    states = np.zeros((1, 6, 1))
    whole, short = (counting.score(SITUATION._replace(steps_left=left), states).costs[0] for left in (None, 2))
    assert whole == pytest.approx(6 * 0.3**2)
    assert short == pytest.approx(6 * 0.3**2)  # the second state stands for all that would follow


def test_fields_of_a_goal_that_are_no_numbers_do_not_matter():
    scorer = InducedScorer(RIGHT, lambda states, goal: ((states - goal) ** 2).sum(-1).min(-1))
    anywhere = SITUATION._replace(goal=np.array([np.nan, np.nan]))
    assert scorer.score(anywhere, np.ones((2, 6, 1))).costs.tolist() == [0.0, 0.0]
    slow = SITUATION._replace(goal=np.array([np.nan, 0.0]))
    found = sampling_search(CEM(**FIELDS), scorer)(slow, REST, KEY)
    assert found.cost == pytest.approx(0.0, abs=1e-3)


def test_a_moving_goal_is_followed():
    path = np.stack([np.linspace(-0.5, 0.5, 6), np.zeros(6)], axis=-1)
    found = sampling_search(search(iterations=25), InducedScorer(OBEYS, distance))(
        SITUATION._replace(goal=path), REST, KEY
    )
    np.testing.assert_allclose(found.actions[:, 0], path[:, 0], atol=0.05)


@pytest.mark.parametrize("colour", [0.0, 1.0, 2.0])
def test_coloured_noise_has_unit_variance_and_moves_slowly(colour: float):
    noise = np.asarray(coloured(KEY, (4000, 10, 2), colour))
    assert noise.std() == pytest.approx(1.0, abs=0.02)
    neighbours = float((noise[:, 1:] * noise[:, :-1]).mean())
    assert neighbours == pytest.approx({0.0: 0.0, 1.0: 0.28, 2.0: 0.55}[colour], abs=0.12)


def test_a_warm_start_guides_every_second_restart():
    begun = first_rounds(replace(SEARCH, warm_std=0.2), jnp.full((6, 1), 0.4))
    assert float(begun.std[0].max()) == pytest.approx(0.2)
    assert float(begun.std[1].max()) == pytest.approx(0.7)
    np.testing.assert_allclose(begun.mean[0], 0.4)
    np.testing.assert_allclose(begun.mean[1], 0.0)


@pytest.mark.parametrize("wrong", [{"hold": 4}, {"hold": 0}, {"restarts": 0}, {"colour": -1.0}, {"enough": -1.0}])
def test_searches_that_make_no_sense_are_refused(wrong: dict):
    with pytest.raises(ValueError, match=r"must"):
        search(**wrong)


def test_a_precise_search_goes_on_with_actions_that_are_not_held():
    # A goal that moves asks for other actions at every step: held ones cannot follow it.
    moving = Situation(np.array([0.0, 0.0]), np.array([[x, 0.0] for x in (0.3, 0.1, 0.4, 0.0, 0.2, 0.5)]))
    scorer = InducedScorer(OBEYS, distance)
    precise = SEARCH.within(0.1)
    assert precise.fine_iterations > 0
    held, free = (sampling_search(planner, scorer)(moving, REST, KEY) for planner in (SEARCH, precise))
    assert free.cost < 0.1 * held.cost
    by_rollouts = RolloutScorer(lambda state, actions: np.repeat(actions, 2, axis=-1), distance)
    assert sampling_search(precise, by_rollouts)(moving, REST, KEY).cost < 0.1 * held.cost


def test_a_precise_plan_that_is_left_over_is_kept():
    moving = Situation(np.array([0.0, 0.0]), np.array([[x, 0.0] for x in (0.3, 0.1, 0.4, 0.0, 0.2, 0.5)]))
    precise = replace(SEARCH, iterations=1, fine_iterations=1, enough=1e-3)
    best = moving.goal[:, :1]
    found = sampling_search(precise, InducedScorer(OBEYS, distance))(moving, best, KEY)
    np.testing.assert_allclose(found.actions, best, atol=1e-6)


def test_values_tell_planners_apart_that_share_a_title():
    warm, early = replace(SEARCH, warm_std=0.2), replace(SEARCH, enough=0.3)
    assert warm.title == early.title == SEARCH.title
    assert len({SEARCH.values, warm.values, early.values}) == 3
    assert SEARCH.values == replace(SEARCH, colour=0.0).values


PUSHES = Program("""
from typing import NamedTuple
import jax.numpy as np

class State(NamedTuple):
    hand: float
    box: float

def step(state, action):
    hand = state.hand + action[0]
    return State(hand, np.maximum(state.box, hand))
""")


def lack(states: Any, goal: Any) -> Any:
    return abs(states - goal).sum(-1).min(-1)


def push(state: np.ndarray, actions: np.ndarray) -> np.ndarray:
    hand = state[0] + actions[..., 0].cumsum(axis=-1)
    return np.stack([hand, np.maximum(np.maximum.accumulate(hand, axis=-1), state[1])], axis=-1)


def test_what_is_moved_at_will_may_leave_its_place_for_the_rest_of_a_precise_goal():
    there = Situation(np.array([0.0, 0.5]), np.array([0.0, 0.8]))  # the hand is where it should be, the box is not
    precise = replace(SEARCH, hold=2, moved_at_will=(0,), samples=200, iterations=8).within(0.1)
    for scorer in (InducedScorer(PUSHES, lack), RolloutScorer(push, lack)):
        found = sampling_search(precise, scorer)(there, REST, KEY)
        assert found.cost < 0.05
        assert found.cost == pytest.approx(
            float(lack(push(there.state, found.actions[None]), there.goal)[0]), abs=1e-4
        )  # of the whole goal


def test_a_plan_for_a_part_of_the_goal_is_never_the_best():
    precise = replace(SEARCH, restarts=2, moved_at_will=(0,)).within(0.1)
    rounds = first_rounds(precise, jnp.zeros((6, 1)))._replace(best_cost=jnp.array([0.5, 0.01]))
    np.testing.assert_allclose(precise.loosened(jnp.array([1.0, 2.0])), [np.nan, 2.0])
    assert for_whole_goal(precise, rounds, precise.loose_iterations).best_cost.tolist() == [0.5, np.inf]
    assert for_whole_goal(precise, rounds, precise.loose_iterations + 1).best_cost.tolist() == rounds.best_cost.tolist()
    # Only the hand is away, and the search ends in its first rounds: the box, which is right already, must not count
    # alone.
    away = Situation(np.array([-0.4, 0.5]), np.array([0.0, 0.5]))
    hasty = replace(precise, enough=0.1, samples=200)
    for scorer in (InducedScorer(PUSHES, lack), RolloutScorer(push, lack)):
        found = sampling_search(hasty, scorer)(away, REST, KEY)
        assert found.cost == pytest.approx(float(lack(push(away.state, found.actions[None]), away.goal)[0]), abs=1e-4)


def test_a_usual_search_heeds_the_whole_goal():
    assert replace(SEARCH, moved_at_will=(0,)).within(1.0).values == SEARCH.within(1.0).values
