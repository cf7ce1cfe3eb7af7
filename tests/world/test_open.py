"""Opening whatever a user brings, and saying kindly what cannot be opened."""

import gymnasium as gym
import numpy as np
import pytest

from visualpatchworld.domain import Domain
from visualpatchworld.errors import VpwError
from visualpatchworld.world.environment import GymWorld
from visualpatchworld.world.live import DomainWorld
from visualpatchworld.world.log_table import Columns
from visualpatchworld.world.open import UnknownWorld, open_world


def test_names_environments_and_worlds():
    world = open_world("Pendulum-v1")
    assert isinstance(world, GymWorld) and world.name == "Pendulum-v1"
    assert open_world(world) is world
    assert open_world(gym.make("CartPole-v1")).time_limit == 500
    assert open_world(gym.make("CartPole-v1").unwrapped).time_limit is None
    assert open_world("gymnasium.envs.classic_control:Acrobot-v1").time_limit == 500


def test_a_domain_is_a_world_that_can_be_put_anywhere(toy: Domain):
    for thing in (toy.name, toy, toy.make()):
        world = open_world(thing)
        assert isinstance(world, DomainWorld)
        assert {"place", "snapshot"} <= world.powers and "reward" not in world.powers
        world.reset(0)
        snapshot, place = world.snapshot(), world.get_place()
        action = np.full(len(world.action_space), 0.5)
        wanted = world.step(action).observation
        np.testing.assert_array_equal(world.restore(snapshot), place)
        np.testing.assert_allclose(world.step(action).observation, wanted)


@pytest.mark.parametrize(
    ("thing", "sentence"),
    [
        ("Pendlum-v1", "near it: Pendulum-v1"),
        ("Pendulum-v9", "near it: Pendulum-v1"),
        ("cartpole", "near it: CartPole-v1"),
        ("nosuchmodule:Env-v0", "Cannot import 'nosuchmodule'"),
        ("nothing.csv", "no file 'nothing.csv'"),
        ("lerobot:/nowhere/at/all", "no folder '/nowhere/at/all'"),
        (3.5, "float is no world"),
        (gym.Env, "call it first"),
        ([], "list is no world"),
    ],
)
def test_what_is_no_world_is_answered_in_a_sentence(thing: object, sentence: str):
    with pytest.raises(VpwError, match=sentence):
        open_world(thing)


def test_a_vector_of_environments_is_refused():
    with pytest.raises(UnknownWorld, match="single one"):
        open_world(gym.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync"))


def test_a_folder_with_the_name_of_an_environment_hides_it_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "CartPole-v1").mkdir()
    assert open_world("CartPole-v1").field_names == open_world(gym.make("CartPole-v1")).field_names


def test_a_game_on_a_board_is_one_sentence():
    with pytest.raises(VpwError, match="table"):
        open_world("FrozenLake-v1")


@pytest.mark.parametrize(
    ("name", "settings", "sentence"),
    [
        ("Pendulum-v1", {"columns": Columns(dt=0.1)}, "leave out dt"),
        ("log.npz", {"columns": Columns(action="u")}, "leave out action"),
        ("log.h5", {"columns": Columns(episode="run")}, "leave out episode"),
        ("log.npz", {"vary": {"drag": 1.0}}, "not a domain"),
        ("slider", {"render_mode": "human"}, "leave out render_mode"),
    ],
)
def test_what_would_change_nothing_is_refused(name: str, settings: dict, sentence: str):
    with pytest.raises(UnknownWorld, match=sentence):
        open_world(name, **settings)


def test_the_time_between_rows_can_be_told_of_any_log(tmp_path):
    arrays = {"observations": np.random.default_rng(0).normal(size=(2, 9, 2)), "actions": np.zeros((2, 8, 1))}
    np.savez(tmp_path / "log.npz", dt=0.5, **arrays)
    assert open_world(str(tmp_path / "log.npz")).dt == 0.5
    assert open_world(str(tmp_path / "log.npz"), columns=Columns(dt=0.1)).dt == 0.1
    assert open_world(arrays, columns=Columns(dt=0.1)).dt == 0.1
