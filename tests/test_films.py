"""Films: the ways drawn are where things are in the picture, and the files can be watched."""

from pathlib import Path

import cv2
import imageio.v3 as iio
import numpy as np
import pytest
from toy_program import RIGHT

from visualpatchworld.domain import Domain, load_domain
from visualpatchworld.films import CAPTION_PX, IMAGINED, LAST_FRAMES, REAL, SCALE, film, imagined_states, write_films
from visualpatchworld.paper.evaluation import EvalConfig
from visualpatchworld.plan.control import Attempt, PlanMade, Task
from visualpatchworld.program.program import Program
from visualpatchworld.scene.calibrate import ways_in
from visualpatchworld.simulator import FRAME_SIZE_PX
from visualpatchworld.trace.episode import collect

# Walks without walls, and half as fast as the world does.
WALK = Program(
    """from typing import NamedTuple


class State(NamedTuple):
    agent_x: float
    agent_y: float


def step(state, action):
    return State(state.agent_x + 2.5 * action[0], state.agent_y + 2.5 * action[1])
"""
)


@pytest.fixture
def rooms() -> Domain:
    return load_domain("tworoom")


def painted(frame: np.ndarray, color: tuple[int, int, int]) -> np.ndarray:
    """Pixels of the world's picture, x and y, that have a colour."""
    rows, columns = np.nonzero((np.abs(frame[:-CAPTION_PX].astype(int) - color) < 12).all(axis=-1))
    return np.stack([columns, rows], axis=1) / SCALE


def test_ways_lie_where_the_picture_shows_the_objects(rooms: Domain):
    world = rooms.make()
    for seed in range(3):
        state, _ = world.reset(seed=seed)
        frame = world.render().astype(float)
        red = frame[..., 0] - frame[..., 1]
        rows, columns = np.mgrid[: red.shape[0], : red.shape[1]]
        seen = np.array([(columns * red).sum(), (rows * red).sum()]) / red.sum()
        np.testing.assert_allclose(ways_in(rooms)(state[None])["agent"][0], seen, atol=2.0)


def test_every_domain_with_a_plane_shows_a_way(domain: Domain):
    if domain.name == "slider":
        return
    world = domain.make()
    ways = ways_in(domain)(np.array([world.reset(seed=seed)[0] for seed in range(9)]))
    assert ways
    for way in ways.values():
        middle = np.median(way, axis=0)  # some start beside the picture
        assert ((middle > 20) & (middle < FRAME_SIZE_PX - 20)).all()
        assert np.ptp(way, axis=0).max() > 20


def test_imagined_and_real_ways_are_drawn(rooms: Domain):
    world = rooms.make()
    start = np.array([60.0, 150.0])
    actions = np.tile([1.0, 0.0], (6, 1))
    world.reset(options={"state": start})
    engine_states, states = [world.get_engine_state()], [world.get_state()]
    for action in actions:
        world.step(action)
        engine_states.append(world.get_engine_state())
        states.append(world.get_state())
    task = Task(0, 0, 0, engine_states[0], states[0], engine_states[-1], states[-1], np.zeros((0, 2)), np.zeros((0, 2)))
    plan = PlanMade(0, start, np.tile([0.0, -1.0], (6, 1)), 0.0, 0.0, 0, 0)
    attempt = Attempt(True, False, np.array(states), actions, (plan,))
    imagined = imagined_states(WALK, attempt.plans)
    np.testing.assert_allclose(imagined[0][-1], start - [0, 15.0], atol=1e-4)
    frames = film(world, task, attempt, imagined, ways_in(rooms), "planned so")
    side = SCALE * FRAME_SIZE_PX
    assert frames.shape == (len(actions) + 1 + LAST_FRAMES, side + CAPTION_PX, side, 3)
    where = ways_in(rooms)
    real, foreseen = painted(frames[-1], REAL), painted(frames[0], IMAGINED)
    for points, wanted in ((real, where(np.array(states))["agent"]), (foreseen, where(imagined[0])["agent"])):
        np.testing.assert_allclose(points.min(axis=0), wanted.min(axis=0), atol=2.5)
        np.testing.assert_allclose(points.max(axis=0), wanted.max(axis=0), atol=2.5)
    # The goal shines through at the start: red where the agent is not yet.
    goal_x, goal_y = (SCALE * where(np.array(states))["agent"][-1]).astype(int)
    first = frames[0][goal_y, goal_x].astype(int)
    assert first[0] - first[2] > 20


@pytest.mark.filterwarnings("ignore:os.fork")
def test_films_can_be_watched(tmp_path: Path, toy: Domain):
    episodes = tuple(collect(toy, toy.constants, episodes=5, seed=3))
    config = EvalConfig(
        domain=toy, constants=toy.constants, vary={}, method="vpw", program=RIGHT, observe="oracle", score="induced", episodes=episodes,
        source="toy", count=6, offset=10, seed=4, metric="at_goal",
    )  # fmt: skip
    wanted = [task.number for task in config.tasks if not config.meets(task.start, task.goal)][-1]
    paths = list(write_films(tmp_path, config, 1, first=[wanted]))
    assert [path.suffix for path in paths] == [".mp4", ".gif"]
    assert wanted > 0 and all(path.stem.endswith(f"task{wanted:02d}") for path in paths)
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    film, gif = iio.imread(paths[0], plugin="FFMPEG"), iio.imread(paths[1], plugin="pillow")
    assert film.shape[1:] == gif.shape[1:] == (SCALE * FRAME_SIZE_PX + CAPTION_PX, SCALE * FRAME_SIZE_PX, 3)
    assert len(film) > LAST_FRAMES
    assert cv2.absdiff(film[0], film[-1]).max() > 50
