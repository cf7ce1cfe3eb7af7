"""Library shooting: macros are cut from what somebody did, and the cheapest is taken."""

import jax
import numpy as np
import pytest
from toy_program import OBEYS

from visualpatchworld.plan.planner import NoMacros, Shooting, Situation, cut_macros, shooting_search
from visualpatchworld.plan.scorer import InducedScorer

LIBRARY = Shooting(macros=4, horizon=3, replan_every=3)
EPISODES = [np.arange(5.0)[:, None], 10 + np.arange(2.0)[:, None], 20 + np.arange(4.0)[:, None]]


def test_macros_are_stretches_of_the_episodes():
    macros = cut_macros(EPISODES, Shooting(macros=100, horizon=3, replan_every=3), np.random.default_rng(0))
    assert macros[..., 0].tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4], [20, 21, 22], [21, 22, 23]]


def test_macros_are_drawn_without_replacement_and_repeat_under_a_seed():
    macros, again, other = (cut_macros(EPISODES, LIBRARY, np.random.default_rng(seed)) for seed in (0, 0, 3))
    assert len({row.tobytes() for row in macros}) == LIBRARY.macros
    np.testing.assert_array_equal(macros, again)
    assert not np.array_equal(macros, other)


def test_without_episodes_long_enough_there_is_no_library():
    with pytest.raises(NoMacros, match="at least 3 steps"):
        cut_macros([np.zeros((2, 1))], LIBRARY, np.random.default_rng(0))


def test_picks_the_cheapest_macro():
    macros = np.array([0.9, -0.4, 0.31, 0.0])[:, None, None] * np.ones((1, 3, 1))
    search = shooting_search(macros, InducedScorer(OBEYS, lambda states, goal: abs(states[..., 0] - goal[0]).max(-1)))
    found = search(Situation(np.zeros(2), np.array([0.3, 0.0])), np.zeros((3, 1)), jax.random.key(0))
    np.testing.assert_array_equal(found.actions, macros[2])
    assert found.cost == pytest.approx(0.01, abs=1e-6)
    assert found.engine_rollouts == 0
