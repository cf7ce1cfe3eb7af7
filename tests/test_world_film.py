"""Films of any world: every step has its picture, a world without
pictures says why, and what is drawn follows the fields.
"""

import sys
from pathlib import Path

import gymnasium as gym
import imageio.v3 as iio
import numpy as np
import pytest

from visualpatchworld.films import HEIGHT_PX, PANEL_PX, Filmed, NoPictures, film_world, open_filmed
from visualpatchworld.program.program import Program
from visualpatchworld.world.open import open_world

PROGRAM = """from typing import NamedTuple


class State(NamedTuple):
    place: float


def step(state, action):
    return State(place=state.place + 0.1 * action[0])
"""
ENVIRONMENT = """import gymnasium as gym
import numpy as np


class Slide(gym.Env):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}
    observation_space = gym.spaces.Box(-10.0, 10.0, (1,))
    action_space = gym.spaces.Box(-1.0, 1.0, (1,))

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.uniform(-1, 1, 1)
        return self.place.astype(np.float32), {}

    def step(self, action):
        self.place = self.place + 0.1 * np.asarray(action)
        return self.place.astype(np.float32), 0.0, False, False, {}

    def render(self):
        picture = np.full((64, 64, 3), 255, np.uint8)
        picture[:, int(np.clip(32 + 8 * self.place[0], 0, 63))] = 0
        return picture


gym.register("Slide-v0", entry_point=Slide, max_episode_steps=20)
"""


@pytest.fixture
def slide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "slide_world.py").write_text(ENVIRONMENT)
    monkeypatch.syspath_prepend(tmp_path)
    yield "slide_world:Slide-v0"
    sys.modules.pop("slide_world", None)
    gym.registry.pop("Slide-v0", None)


def test_every_step_has_its_picture_until_it_is_told_not_to(slide: str):
    filmed = open_filmed(slide)
    assert isinstance(filmed, Filmed) and "reset" in filmed.powers and filmed.time_limit == 20
    first = filmed.reset(3)
    for _ in range(4):
        filmed.step(np.array([1.0]))
    assert len(filmed.frames) == 5 and len(filmed.episode) == 4
    np.testing.assert_allclose(filmed.episode.observations[:, 0], first[0] + 0.1 * np.arange(5), atol=1e-5)
    assert not np.array_equal(filmed.frames[0], filmed.frames[-1])
    filmed.rolling, before = False, filmed.env_steps
    filmed.step(np.array([1.0]))
    assert len(filmed.frames) == 5 and filmed.env_steps == before + 1


def test_a_film_shows_the_world_and_both_courses(slide: str, tmp_path: Path):
    told = film_world(tmp_path / "films" / "slide.gif", slide, Program(PROGRAM), 0, lambda _: None)
    frames = iio.imread(tmp_path / "films" / "slide.gif")
    assert told["film_steps"] == 20 and len(frames) == 21
    assert frames.shape[2] == HEIGHT_PX + PANEL_PX
    panel = [(frame[:48, HEIGHT_PX:] < 128).any(axis=2).sum() for frame in (frames[1], frames[-1])]
    assert panel[1] > panel[0]  # the courses grow with the episode


def test_a_world_that_cannot_be_drawn_says_why(tmp_path: Path):
    log = tmp_path / "log.npz"
    np.savez(log, observations=np.zeros((1, 6, 1)), actions=np.zeros((1, 5, 1)))
    with pytest.raises(NoPictures, match="is a log"):
        open_filmed(str(log))
    assert "render" not in open_world("CartPole-v1").powers
