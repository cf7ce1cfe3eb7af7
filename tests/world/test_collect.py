"""Collecting experience: within the budget, varied, and honest about ends."""

import numpy as np
import pytest

from visualpatchworld.world.collect import STYLES, collect, excitation
from visualpatchworld.world.open import open_world
from visualpatchworld.world.world import ActionSpace

SPACES = [
    ActionSpace("continuous", low=(-2.0, 0.0), high=(2.0, 1.0)),
    ActionSpace("discrete", counts=(3,)),
    ActionSpace("continuous"),
]


@pytest.mark.parametrize("name", ["Pendulum-v1", "CartPole-v1", "Acrobot-v1", "MountainCar-v0", "slider"])
@pytest.mark.parametrize("steps", [50, 700])
def test_the_budget_is_kept_and_nearly_used_up(name: str, steps: int):
    world = open_world(name)
    trajectories = collect(world, steps, np.random.default_rng(1))
    assert world.env_steps <= max(steps, 40)
    assert sum(len(one) for one in trajectories) >= steps - 45
    assert all(np.isfinite(one.observations).all() and len(one) for one in trajectories)


def test_steps_are_those_of_the_world():
    world = open_world("Pendulum-v1")
    again = open_world("Pendulum-v1")
    assert "place" in again.powers
    for one in collect(world, 400, np.random.default_rng(2)):
        cosine, sine, speed = one.observations[0]
        again.reset(0)
        again.set_place(np.array([np.arctan2(sine, cosine), speed]))
        for t, action in enumerate(one.actions[:5]):
            outcome = again.step(action)
            np.testing.assert_allclose(outcome.observation, one.observations[t + 1], atol=2e-4)
            assert one.rewards is not None and outcome.reward == pytest.approx(one.rewards[t], abs=2e-3)


def test_ends_are_told_from_limits():
    ended = collect(open_world("CartPole-v1"), 600, np.random.default_rng(3))
    assert any(one.terminated for one in ended)
    limited = collect(open_world("MountainCar-v0"), 600, np.random.default_rng(3))
    assert not any(one.terminated and one.observations[-1, 0] < 0.5 for one in limited)


def test_places_go_beyond_what_resets_show():
    world = open_world("CartPole-v1")
    starts = np.array([one.observations[0] for one in collect(world, 900, np.random.default_rng(4))])
    assert (np.abs(starts) > 0.05).any(axis=0).all()  # a reset draws all four from within 0.05


def test_the_same_seed_gives_the_same_experience():
    runs = [collect(open_world("CartPole-v1"), 300, np.random.default_rng(5)) for _ in range(2)]
    assert len(runs[0]) == len(runs[1])
    for one, other in zip(*runs, strict=True):
        np.testing.assert_array_equal(one.observations, other.observations)


def test_of_a_log_its_own_trajectories_are_taken():
    world = open_world((np.zeros((5, 2)), np.ones((4, 1))))
    assert [len(one) for one in collect(world, 100, np.random.default_rng(0))] == [4]


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("style", sorted(set(STYLES)))
def test_actions_lie_in_their_space(space: ActionSpace, style):
    actions = excitation(space, style, 50, np.random.default_rng(0))
    assert actions.shape == (50, len(space))
    if space.kind == "discrete":
        assert set(np.unique(actions)) <= set(range(space.counts[0]))
    elif len(space):
        assert (actions >= space.low).all() and (actions <= space.high).all()
