"""Programs as environments: Gymnasium accepts them, and thousands of copies do what one does."""

import warnings

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from plan.truths import CARTPOLE, PENDULUM

from visualpatchworld.errors import BadState
from visualpatchworld.program.env import as_env, as_vector_env
from visualpatchworld.program.program import Program
from visualpatchworld.world.world import ActionSpace

TURN = ActionSpace("continuous", low=(-2.0,), high=(2.0,))
PUSH = ActionSpace("discrete", counts=(2,))
DELAYED = Program("""
from typing import NamedTuple
import jax.numpy as np

class State(NamedTuple):
    x: float
    last: float = 0.0  # not observed

def step(state, action):
    return State(state.x + state.last, action[0])
""")


@pytest.mark.parametrize(
    ("program", "starts", "space"), [(PENDULUM, [[1.0, 0.0, 0.0]], TURN), (CARTPOLE, np.zeros((3, 4)), PUSH)]
)
def test_gymnasium_accepts_it(program: Program, starts, space: ActionSpace):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of advice on bounds and render modes
        check_env(as_env(program, starts=starts, action_space=space, time_limit=50), skip_render_check=True)


def test_it_goes_as_the_world_it_describes():
    real, mine = gym.make("CartPole-v1").unwrapped, None
    seen, _ = real.reset(seed=3)
    mine = as_env(CARTPOLE, starts=lambda rng: seen, action_space=real.action_space)
    np.testing.assert_allclose(mine.reset()[0], seen)
    rng = np.random.default_rng(0)
    for _ in range(200):
        action = int(rng.integers(2))
        true, imagined = real.step(action), mine.step(action)
        np.testing.assert_allclose(imagined[0], true[0], atol=1e-5)
        assert imagined[1:4] == true[1:4]
        if true[2]:
            break
    else:
        pytest.fail("random actions keep no pole up")


def test_a_time_limit_is_no_end():
    env = as_env(PENDULUM, starts=[[1.0, 0.0, 0.0]], action_space=TURN, time_limit=3)
    env.reset(seed=0)
    assert [env.step(np.zeros(1))[2:4] for _ in range(3)] == [(False, False), (False, False), (False, True)]


def test_what_is_not_observed_is_remembered_and_not_shown():
    env = as_env(DELAYED, starts=[[1.0]], action_space=TURN)
    assert env.reset(seed=0)[0].shape == (1,)
    assert [float(env.step([2.0])[0][0]) for _ in range(3)] == [1.0, 3.0, 5.0]


def test_copies_do_what_one_does_and_begin_anew():
    starts = np.random.default_rng(0).uniform(-0.05, 0.05, (7, 4))
    env = as_vector_env(CARTPOLE, num_envs=1000, starts=starts, time_limit=30)
    copies, seen = env.reset(jax.random.key(0))
    assert seen.shape == (1000, 4)
    one = as_env(CARTPOLE, starts=starts, action_space=PUSH, time_limit=30)
    one.reset(options={"observation": np.asarray(seen[5], float)})
    over = np.zeros(1000, bool)
    for t in range(40):
        copies, step = env.step(copies, jnp.ones((1000, 1)) * (t % 2))
        if not over[5]:
            observation, reward, terminated, truncated, _ = one.step(t % 2)
            np.testing.assert_allclose(step.last_observations[5], observation, atol=1e-4)
            assert (float(step.rewards[5]), bool(step.terminated[5]), bool(step.truncated[5])) == (
                reward,
                terminated,
                truncated,
            )
        over |= np.asarray(step.terminated | step.truncated)
        begun = np.asarray(step.terminated | step.truncated)
        assert np.abs(np.asarray(step.observations)[begun]).max(initial=0.0) <= 0.05 + 1e-6
    assert over.all()


def test_starts_that_are_none_are_refused():
    with pytest.raises(BadState, match="rows of finite observations"):
        as_env(CARTPOLE, starts=[[np.nan] * 4], action_space=PUSH)
