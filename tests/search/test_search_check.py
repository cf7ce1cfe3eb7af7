"""Rollouts of a law on episodes that it has not seen: right laws are right far ahead, and hidden fields go along."""

import numpy as np
import pytest
from draws import SEED
from known_worlds import PUSH, Small, small

from visualpatchworld.grammar.expr import number, var
from visualpatchworld.search.check import followed, rollout_errors
from visualpatchworld.search.find import Law
from visualpatchworld.search.motion import Motion, Rate
from visualpatchworld.search.rows import Field
from visualpatchworld.world.trajectory import Trajectory

CLOCKED = Law(
    (Field("x", (0,)), Field("clock", ())),
    Motion({"x": Rate((var("action_0"), var("clock")), (0.1, 0.01)), "clock": Rate((number(1.0),), (1.0,))}),
    (),
    {},
    {},
)


def clocked() -> Small:
    rng = np.random.default_rng(SEED)
    return small(
        lambda x, u: np.array([x[0] + 0.1 * u[0] + 0.01 * x[1], x[1] + 1.0]),
        lambda rng: (rng.uniform(-1, 1), 0.0),
        ("x",),
        rng,
        observe=lambda x: x[:1],
        episodes=2,
        steps=30,
    )


def test_hidden_fields_are_carried_along_each_episode():
    world = clocked()
    rows = followed(CLOCKED, world.trajectories, world.space)
    np.testing.assert_allclose(rows.before[:, 1], rows.time)
    np.testing.assert_allclose(rows.after[:, 1], rows.time + 1)


def test_a_right_law_is_right_far_ahead_and_a_wrong_one_is_not():
    world = clocked()
    right = rollout_errors(CLOCKED, world.trajectories, world.space, (1, 10, 30))
    assert all(error["p90"] < 1e-9 for error in right.values())
    wrong = Law(CLOCKED.fields, Motion({"x": Rate((var("action_0"),), (0.1,))}), (), {}, {})
    found = rollout_errors(wrong, world.trajectories, world.space, (1, 10))
    assert 1e-2 < found[1]["median"] <= found[1]["p90"]
    assert found[10]["mean"] > 0.1


def test_horizons_longer_than_every_episode_are_left_out():
    world = clocked()
    assert list(rollout_errors(CLOCKED, world.trajectories, world.space, (30, 31))) == [30]
    assert rollout_errors(CLOCKED, [], world.space, (1,)) == {}


def test_an_episode_under_one_held_action_is_predicted():
    seen = 0.1 * 0.5 * np.arange(6.0) + 0.01 * np.array([0, 0, 1, 3, 6, 10])
    held = Trajectory(seen[:, None], np.full((5, 1), 0.5))
    errors = rollout_errors(CLOCKED, [held], PUSH, (1,))
    assert errors[1]["mean"] == pytest.approx(0.0, abs=1e-9)


def test_a_law_that_blows_up_is_badly_off_and_finite():
    world = clocked()
    wild = Law(CLOCKED.fields, Motion({"x": Rate((var("x") ** 3,), (1e60,))}), (), {}, {})
    assert np.isfinite(rollout_errors(wild, world.trajectories, world.space, (10,))[10]["mean"])
