"""PushT against recordings of the original, its constants, and what its engine remembers."""

from pathlib import Path

import numpy as np
import pytest

from visualpatchworld.domain import load_domain
from visualpatchworld.domains import pusht
from visualpatchworld.domains.pusht.simulator import BOXES
from visualpatchworld.simulator import Simulator
from visualpatchworld.trace.episode import collect
from visualpatchworld.trace.file import read_traces

PUSHT = load_domain("pusht")
# The agent 26 px left of the stem of an upright T, at rest.
BESIDE_STEM = np.array([215.0, 320.0, 256.0, 256.0, 0.0, 0.0, 0.0])
RIGHT, STILL = np.array([0.4, 0.0]), np.zeros(2)


def run(simulator: Simulator, start: np.ndarray, *actions: np.ndarray) -> np.ndarray:
    """States from a chosen start on; where blocks have a velocity, they begin at rest."""
    rest = np.zeros(len(simulator.state_space) - len(start))
    states = [simulator.reset(options={"state": np.concatenate([start, rest])})[0]]
    return np.array(states + [simulator.step(action)[0] for action in actions])


def replay_errors_px(path: Path, episodes: slice) -> np.ndarray:
    """Largest coordinate error of each step of whole episodes replayed from their first row."""
    simulator, errors = PUSHT.make(), []
    for episode in read_traces(path, PUSHT).episodes[episodes]:
        replayed = run(simulator, episode.observations[0], *episode.actions)
        errors.extend(np.abs(replayed[1:, :4] - episode.observations[1:, :4]).max(axis=1))
    return np.array(errors)


def test_replays_human_demonstrations(reference: Path):
    errors = replay_errors_px(reference / "pusht_demos.h5", slice(40, 70))  # some start in contact, some act beyond 1
    # Four of these start just touching: the last bit decides whether they do, and the episode remembers it.
    assert np.mean(errors < 1e-3) >= 0.85


def test_every_step_of_human_demonstrations_replays_from_its_own_start(reference: Path):
    simulator, errors = PUSHT.make(), []
    for episode in read_traces(reference / "pusht_demos.h5", PUSHT).episodes[40:70]:
        for step in range(0, len(episode), 3):
            after = run(simulator, episode.observations[step], episode.actions[step])[1]
            errors.append(np.abs(after[:4] - episode.observations[step + 1, :4]).max())
    assert np.mean(np.array(errors) < 1e-3) >= 0.98


def test_replays_weak_policy(reference: Path):
    errors = replay_errors_px(reference / "pusht.h5", slice(30))
    assert np.mean(errors < 1e-2) >= 0.9


def test_looks_like_original(reference: Path):
    frames = np.load(reference / "frames_pusht.npz")
    simulator = PUSHT.make()
    for state, frame in zip(frames["state_rendered"], frames["frames"], strict=True):
        simulator.set_state(state)
        assert np.abs(simulator.draw().astype(float) - frame).mean() < 1.0


def test_draws_goal_where_it_is():
    simulator = PUSHT.make()
    simulator.set_state(BESIDE_STEM)
    before = simulator.draw()
    simulator.set_goal(np.array([256, 256, 400, 100, 1.0, 0, 0]))
    assert tuple(before[50, 173]) == (255, 255, 255)
    assert tuple(simulator.draw()[50, 173]) == (144, 238, 144)


@pytest.mark.parametrize(
    "vary",
    [
        {},
        {"block_shape": "L"},
        {"friction": 0.5},
        {"drive": "direct"},
        {"response": "inertial"},
        {"response": "inertial", "drive": "direct"},
    ],
    ids=str,
)
def test_continues_in_contact(vary: dict):
    simulator, other = PUSHT.make(vary), PUSHT.make(vary)
    run(simulator, BESIDE_STEM, *[RIGHT / 2] * 3)
    for action in [RIGHT / 2, np.array([0.15, 0.05]), np.array([0.1, -0.05])]:
        engine_state = simulator.get_engine_state()
        other.set_engine_state(engine_state)
        np.testing.assert_allclose(other.get_engine_state(), engine_state, rtol=0, atol=1e-12)
        after, other_after = simulator.step(action)[0], other.step(action)[0]
        np.testing.assert_allclose(other_after, after, rtol=0, atol=1e-9)
        assert pusht.block_px(after, engine_state) > 0.5, "only a block in motion makes this test mean something"


def test_quasi_static_block_stops_and_inertial_slides():
    pushes = [RIGHT] * 4 + [-RIGHT] * 3 + [STILL] * 4
    slides = {
        response: np.diff(run(PUSHT.make({"response": response}), BESIDE_STEM, *pushes)[-5:, 2])
        for response in ("quasi-static", "inertial")
    }
    np.testing.assert_array_equal(slides["quasi-static"], 0.0)
    assert (slides["inertial"] > 1.0).all()
    assert (np.diff(slides["inertial"]) < 0).all()


def test_direct_drive_arrives_and_rests():
    free = np.array([100.0, 100.0, 300.0, 300.0, 0.0, 0.0, 0.0])
    state = run(PUSHT.make({"drive": "direct"}), free, np.array([0.5, -0.25]))[-1]
    np.testing.assert_allclose(state[:2], [150.0, 75.0], atol=1e-9)
    np.testing.assert_array_equal(state[5:], 0.0)


def test_pd_drive_follows_its_law():
    free = np.array([100.0, 100.0, 300.0, 300.0, 0.0, 30.0, 0.0])
    state = run(PUSHT.make({"gain": 50.0, "damping": 5.0, "reach": 80.0, "substeps": 7}), free, np.array([0.5, 0.0]))[
        -1
    ]
    x, v = 100.0, 30.0
    for _ in range(7):
        v += (50.0 * (140.0 - x) - 5.0 * v) * 0.01
        x += v * 0.01
    np.testing.assert_allclose(state[[0, 5]], [x, v], atol=1e-9)


def test_frozen_block_lets_agent_through():
    states = run(PUSHT.make({"block": "frozen"}), BESIDE_STEM, *[RIGHT] * 8)
    np.testing.assert_array_equal(states[:, 2:5], np.broadcast_to(BESIDE_STEM[2:5], (9, 3)))
    assert states[-1, 0] > 300


@pytest.mark.parametrize(
    "vary",
    [
        {"agent_radius": 20},
        {"block_scale": 25},
        {"moment": 3.0},
        {"gain": 60.0},
        {"damping": 10.0},
        {"reach": 80.0},
        {"substeps": 8},
    ],
    ids=str,
)
def test_constants_change_pushing(vary: dict):
    nominal = run(PUSHT.make(), BESIDE_STEM, *[RIGHT] * 4)[-1]
    varied = run(PUSHT.make(vary), BESIDE_STEM, *[RIGHT] * 4)[-1]
    assert pusht.block_px(nominal, varied) + pusht.angle_rad(nominal, varied) > 0.01


def test_friction_drags_block_along():
    grazing = np.array([231.0, 330.0, 256.0, 256.0, 0.0, 0.0, 0.0])
    pushes = [np.array([0.1, 0.3])] * 3
    smooth, rough = (run(PUSHT.make({"friction": friction}), grazing, *pushes)[-1] for friction in (0.0, 1.0))
    assert rough[3] > smooth[3] + 1.0


@pytest.mark.parametrize("shape", BOXES)
def test_every_shape_is_pushed(shape: str):
    simulator = PUSHT.make({"block_shape": shape})
    start = np.array([120.0, 260.0, 256.0, 256.0, 0.0, 0.0, 0.0])
    states = run(simulator, start, *[RIGHT] * 12)
    assert pusht.block_px(states[0], states[-1]) > 10.0
    polygons = PUSHT.scene.objects(simulator.constants)[1].geometry.polygons
    assert polygons is not None
    assert len(polygons) == len(BOXES[shape])


def test_start_is_clear_of_contact():
    simulator = PUSHT.make()
    for seed in range(50):
        start, _ = simulator.reset(seed=seed)
        np.testing.assert_allclose(simulator.step(STILL)[0], start, atol=1e-12)


def test_success_needs_agent_block_and_angle():
    pose_match, goal = PUSHT.metrics["pose_match"], np.array([100.0, 100.0, 300.0, 300.0, 6.2, 0.0, 0.0])
    # The angle wraps, the velocity does not count.
    assert pose_match(goal + np.array([10, 10, 10, 0, 0.2, 500, 0]), goal)
    assert not pose_match(goal + np.array([12, 12, 12, 0, 0, 0, 0]), goal)
    assert not pose_match(goal + np.array([0, 0, 0, 0, 0.4, 0, 0]), goal)


def test_pusher_moves_block_in_most_windows():
    moved = []
    for episode in collect(PUSHT, PUSHT.constants, episodes=20, seed=0, pixels=False):
        moved.extend(pusht.block_px(episode.observations[25:], episode.observations[:-25]))
    assert np.mean(np.array(moved) > 20.0) > 0.6
