"""Tasks of dm_control as worlds."""

import numpy as np
import pytest

from visualpatchworld.errors import UnknownName
from visualpatchworld.world.environment import DmcWorld
from visualpatchworld.world.open import open_world


@pytest.fixture(scope="module")
def swingup() -> DmcWorld:
    return DmcWorld.made("dmc:pendulum/swingup")


def test_fields_have_the_names_of_the_task(swingup: DmcWorld):
    assert swingup.field_names == ("orientation_0", "orientation_1", "velocity")
    assert (swingup.time_limit, swingup.dt, swingup.action_space.low) == (1000, pytest.approx(0.02), (-1.0,))


def test_it_is_copied_placed_and_repeated(swingup: DmcWorld):
    assert {"snapshot", "place", "reward"} <= swingup.powers
    first = swingup.reset(3)
    np.testing.assert_array_equal(swingup.reset(3), first)
    snapshot, place = swingup.snapshot(), swingup.get_place()
    wanted = [swingup.step(np.ones(1)) for _ in range(5)]
    swingup.reset(4)
    swingup.restore(snapshot)
    for outcome in wanted:
        np.testing.assert_allclose(swingup.step(np.ones(1)).observation, outcome.observation, atol=1e-12)
    np.testing.assert_allclose(swingup.set_place(place), first, atol=1e-9)


def test_a_time_limit_is_no_end():
    from dm_control import suite

    world = open_world(suite.load("point_mass", "easy", task_kwargs={"time_limit": 0.1}))
    assert world.time_limit == 5
    world.reset(0)
    outcomes = [world.step(np.zeros(2)) for _ in range(5)]
    assert [o.truncated for o in outcomes] == [False] * 4 + [True]
    assert not outcomes[-1].terminated


def test_an_unknown_task_is_answered_with_the_nearest():
    with pytest.raises(UnknownName, match="Did you mean 'cartpole/swingup'"):
        DmcWorld.made("dmc:cartpole/swngup")
