"""Gymnasium environments as worlds: what they can do is found by trying, and using it changes nothing that is seen."""

import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from visualpatchworld.errors import BadState, VpwError
from visualpatchworld.world.environment import BadEnvironment, GymWorld
from visualpatchworld.world.world import NoPower

CLASSIC = ["Pendulum-v1", "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Acrobot-v1"]
BOX = gym.spaces.Box(-np.inf, np.inf, (2,), np.float64)


class Cart(gym.Env):
    """A cart on a line whose position and speed are two attributes; a subclass changes one thing about it."""

    observation_space: gym.Space = BOX
    action_space: gym.Space = gym.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.x, self.v, self.goal = float(self.np_random.uniform(-1, 1)), 0.0, float(self.np_random.uniform())
        return self._get_obs(), {}

    def step(self, action):
        self.v += 0.1 * float(np.ravel(action)[0])
        self.x += 0.1 * self.v
        return self._get_obs(), -abs(self.x - self.goal), abs(self.x) > 3, False, {}

    def _get_obs(self) -> Any:
        return np.array([self.x, self.v])


class NoisyCart(Cart):
    def step(self, action):
        self.v += 0.01 * self.np_random.standard_normal()
        return super().step(action)


class OutsideCart(Cart):
    """Its memory lies where neither attributes nor copies reach."""

    memory = {"x": 0.0}  # noqa: RUF012

    def step(self, action):
        OutsideCart.memory["x"] += 1.0
        return np.array([OutsideCart.memory["x"], 0.0]), 0.0, False, False, {}


class PickledCart(Cart, gym.utils.EzPickle):
    """Copies of it are made anew, as those of many environments are."""

    def __init__(self):
        gym.utils.EzPickle.__init__(self)


class BrokenCart(Cart):
    def step(self, action):
        raise RuntimeError("the axle broke")


def play(world: GymWorld, actions: np.ndarray) -> np.ndarray:
    return np.array([[*outcome[0], outcome[1]] for outcome in map(world.step, actions)])


@pytest.mark.parametrize("name", CLASSIC)
def test_classic_worlds_can_be_copied_and_placed(name: str):
    world = GymWorld.made(name)
    assert world.powers == {"reset", "reward", "snapshot", "place"}
    assert 0 < world.env_steps < 100
    rng = np.random.default_rng(3)
    actions = np.array([world.action_space.sample(rng) for _ in range(8)])
    world.reset(5)
    play(world, actions[:3])
    snapshot, place = world.snapshot(), world.get_place()
    wanted = play(world, actions)
    world.reset(6)
    world.restore(snapshot)
    np.testing.assert_array_equal(play(world, actions), wanted)
    world.set_place(place)
    np.testing.assert_allclose(play(world, actions), wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", CLASSIC)
def test_a_world_that_was_examined_shows_what_the_environment_shows(name: str):
    world = GymWorld.made(name)
    assert "place" in world.powers
    env = gym.make(name)
    seen, _ = env.reset(seed=11)
    np.testing.assert_array_equal(world.reset(11), seen)
    rng = np.random.default_rng(0)
    for _ in range(12):
        action = world.action_space.sample(rng)
        observation, reward, terminated, truncated, _ = env.step(
            int(action[0]) if world.action_space.kind == "discrete" else action.astype(np.float32)
        )
        outcome = world.step(action)
        np.testing.assert_array_equal(outcome.observation, observation)
        assert (outcome.reward, outcome.terminated, outcome.truncated) == (
            pytest.approx(float(reward)),
            terminated,
            truncated,
        )
        if terminated:
            break


def test_a_place_after_an_end_earns_as_if_nothing_had_ended():
    world = GymWorld.made("CartPole-v1")
    world.reset(0)
    place = world.get_place()
    for _ in range(200):
        if world.step(np.array([1.0])).terminated:
            break
    with pytest.raises(NoPower, match="over"):
        world.step(np.array([1.0]))
    world.set_place(place)
    assert [world.step(np.array([0.0])).reward for _ in range(3)] == [1, 1, 1]


def test_the_time_limit_is_no_end_and_begins_anew_with_a_place():
    world = GymWorld.made("MountainCar-v0")
    assert world.time_limit == 200
    world.reset(0)
    place = world.get_place()
    outcomes = [world.step(np.array([1.0])) for _ in range(200)]
    assert [o.truncated for o in outcomes] == [False] * 199 + [True]
    assert not any(o.terminated for o in outcomes)
    world.set_place(place)
    assert not world.step(np.array([1.0])).truncated


def test_attributes_are_found_where_there_is_no_state():
    world = GymWorld(Cart())
    assert "place" in world.powers
    first = world.reset(0)
    assert sorted(world.set_place(world.get_place() + np.array([0.25, 0.5])) - first) == pytest.approx([0.25, 0.5])


def test_asking_for_powers_in_the_middle_of_an_episode_does_not_disturb_it():
    world, other = GymWorld.made("Pendulum-v1"), GymWorld.made("Pendulum-v1")
    for one in (world, other):
        one.reset(3)
        one.step(np.array([0.5]))
    assert "place" in world.powers
    np.testing.assert_array_equal(world.step(np.array([1.0])).observation, other.step(np.array([1.0])).observation)


def test_a_goal_stays_with_its_episode():
    world = GymWorld(Cart())
    assert "place" in world.powers
    world.reset(4)
    place, goal = world.get_place(), world.env.unwrapped.goal  # pyright: ignore[reportAttributeAccessIssue]
    world.step(np.array([1.0]))
    world.set_place(place)
    assert world.env.unwrapped.goal == goal  # pyright: ignore[reportAttributeAccessIssue]


def test_chance_goes_on_after_a_place_and_repeats_after_a_snapshot():
    world = GymWorld(NoisyCart())
    assert {"snapshot", "place"} <= world.powers
    world.reset(0)
    snapshot, place, actions = world.snapshot(), world.get_place(), np.zeros((4, 1))
    first = play(world, actions)
    world.restore(snapshot)
    np.testing.assert_array_equal(play(world, actions), first)
    world.set_place(place)
    assert not np.allclose(play(world, actions), first)


def test_what_cannot_be_put_back_is_not_claimed():
    world = GymWorld(OutsideCart())
    assert world.powers == {"reset", "reward"}
    with pytest.raises(NoPower, match="copied"):
        world.snapshot()


def test_environments_that_are_made_anew_when_copied_are_copied_all_the_same():
    assert {"snapshot", "place"} <= GymWorld(PickledCart()).powers


def test_a_place_must_be_finite_and_inside_what_can_be_shown():
    world = GymWorld.made("MountainCar-v0")
    world.reset(0)
    with pytest.raises(BadState, match="finite"):
        world.set_place(np.array([np.nan, 0.0]))
    with pytest.raises(BadState, match="outside"):
        world.set_place(np.array([3.0, 0.0]))


def test_wrappers_of_a_user_stay_on():
    one = np.ones(1, np.float32)
    env = gym.wrappers.TransformReward(
        gym.wrappers.RescaleAction(gym.make("Pendulum-v1"), -one, one), lambda r: 2 * float(r)
    )
    world = GymWorld(env)
    assert world.action_space.high == (1.0,)
    assert world.time_limit == 200
    assert {"snapshot", "place"} <= world.powers
    plain = GymWorld.made("Pendulum-v1")
    np.testing.assert_array_equal(world.reset(1), plain.reset(1))
    assert world.step(np.array([0.5])).reward == pytest.approx(2 * plain.step(np.array([1.0])).reward)


def test_warnings_of_environments_are_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        world = GymWorld.made("CartPole-v0")  # which Gymnasium calls out of date
        assert "place" in world.powers


def spaced(observation_space: gym.Space, action_space: gym.Space, observation: Any = None) -> GymWorld:
    class Shown(Cart):
        pass

    Shown.observation_space, Shown.action_space = observation_space, action_space
    Shown._get_obs = lambda self: observation(self) if observation else np.array([self.x, self.v])  # pyright: ignore
    return GymWorld(Shown())


def test_nested_observations_are_laid_flat_under_their_names():
    space = gym.spaces.Dict(
        {"cart": BOX, "turn": gym.spaces.Discrete(3), "pair": gym.spaces.Tuple((BOX, gym.spaces.MultiBinary(2)))}
    )
    zeros = np.zeros(2)
    world = spaced(
        space, Cart.action_space, lambda env: {"cart": [env.x, env.v], "turn": 2, "pair": (zeros, np.ones(2, np.int8))}
    )
    assert set(world.field_names) == {
        "cart_0",
        "cart_1",
        "turn",
        "pair_part0_0",
        "pair_part0_1",
        "pair_part1_0",
        "pair_part1_1",
    }
    seen = dict(zip(world.field_names, world.reset(0), strict=True))
    assert seen["turn"] == 2 and seen["pair_part1_1"] == 1 and seen["cart_1"] == 0


def test_pictures_are_refused_in_a_sentence():
    with pytest.raises(VpwError, match=r"picture of shape \(64, 64, 3\)"):
        spaced(gym.spaces.Box(0, 255, (64, 64, 3), np.uint8), Cart.action_space)


@pytest.mark.parametrize(
    ("space", "kind", "size"),
    [
        (gym.spaces.Discrete(3, start=5), "discrete", 1),
        (gym.spaces.MultiDiscrete([2, 4]), "discrete", 2),
        (gym.spaces.MultiBinary(3), "discrete", 3),
        (gym.spaces.Box(-1, 1, (2, 2), np.float32), "continuous", 4),
        (gym.spaces.Box(-np.inf, np.inf, (1,), np.float32), "continuous", 1),
        (gym.spaces.Box(0, 4, (2,), np.int32), "discrete", 2),
    ],
)
def test_actions_of_all_common_kinds_are_members_of_their_space(space: gym.Space, kind: str, size: int):
    world = spaced(BOX, space)
    assert (world.action_space.kind, len(world.action_space)) == (kind, size)
    rng = np.random.default_rng(0)
    for _ in range(20):
        action = world.action_space.sample(rng)
        assert np.isfinite(action).all()
        assert space.contains(world._member(action))


def test_an_environment_that_breaks_says_so_in_a_sentence():
    world = GymWorld(BrokenCart())
    assert world.powers == {"reset", "reward"}
    world.reset(0)
    with pytest.raises(BadEnvironment, match=r"BrokenCart failed by itself: RuntimeError: the axle broke\."):
        world.step(np.zeros(1))


def test_an_engine_of_mujoco_is_copied_and_placed():
    world = GymWorld.made("InvertedDoublePendulum-v5")
    assert {"snapshot", "place"} <= world.powers
    world.reset(0)
    snapshot = world.snapshot()
    actions = np.full((3, 1), 0.3)
    first = play(world, actions)
    world.reset(9)
    world.restore(snapshot)
    np.testing.assert_array_equal(play(world, actions), first)


class Sprung(gym.Env):
    """A body on a spring whose state is set from outside by its attribute `state`."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = gym.spaces.Box(-1, 1, (1,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state, self.held, self.past = self.np_random.uniform(-1, 1, 2), 0.0, [0.0]
        return self.shown(), {}

    def shown(self):
        return self.state.copy()

    def step(self, action):
        place, speed = self.state
        speed = speed + 0.1 * (self.force(float(action[0])) - place - 0.2 * speed)
        self.state, self.held = np.array([place + 0.1 * speed, speed]), float(action[0])
        return self.shown(), -float(place * place), bool(abs(place) > 3), False, {}

    def force(self, push):
        return 2 * push


class OtherMeaning(Sprung):
    """As many numbers in its state as in its observation, equal at a reset and nowhere else."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = np.zeros(2)
        return self.shown(), {}

    def shown(self):
        place, speed = self.state
        return np.array([place + speed, 3 * speed])


class Delayed(Sprung):
    """Each action acts a step later, and what is held belongs to a place."""

    def force(self, push):
        return 2 * self.held

    def _get_obs(self):
        return self.shown()


def test_a_place_is_believed_only_if_it_shows_what_was_observed():
    assert "place" in GymWorld(Sprung()).powers
    assert "place" not in GymWorld(OtherMeaning()).powers
    assert "place" in GymWorld(Delayed()).powers


def test_numbers_that_grow_are_no_part_of_a_place():
    class Growing(Delayed):
        def force(self, push):
            self.past = [*self.past, push]
            return super().force(push)

    world = GymWorld(Growing())
    assert "place" in world.powers  # the state and what is held, and not the past
    world.reset(0)
    assert world.get_place().shape == (3,)

    class Remembering(Growing):
        def force(self, push):
            return super().force(push) + 0.5 * self.past[-2]

    assert "place" not in GymWorld(Remembering()).powers
