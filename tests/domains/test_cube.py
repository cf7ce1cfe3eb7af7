"""Cube against upstream's recordings, what an experimenter may choose, its constants and its other kinds of world."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from visualpatchworld.domain import load_domain
from visualpatchworld.trace.episode import Episode, collect
from visualpatchworld.trace.file import read_traces

CUBE = load_domain("cube")
EFFECTOR, BLOCK = slice(0, 3), slice(6, 9)
# An open hand above the table, the block elsewhere; and a closed hand that holds the block in the air.
APART = np.array([0.40, -0.10, 0.20, 0.3, 0.2, 0.0, 0.45, 0.15, 0.02, 0.5])
HELD = np.array([0.40, -0.10, 0.20, 0.3, 0.56, 1.0, 0.40, -0.10, 0.20, 0.3])
GO = np.array([0.6, -0.4, 0.2, 0.5, 0.0])
CARRY = np.array([0.4, 0.4, 0.2, 0.0, 1.0])
RELEASE = np.array([0.0, 0.0, 0.0, 0.0, -1.0])


def run(vary: Mapping[str, object], start: np.ndarray, action: np.ndarray, steps: int) -> np.ndarray:
    """The states from a start on, under one repeated action."""
    simulator = CUBE.make(vary)
    first, _ = simulator.reset(options={"state": start})
    return np.array([first, *(simulator.step(action)[0] for _ in range(steps))])


def nudged(engine_state: np.ndarray) -> np.ndarray:
    """A state as another processor may round it, and more: tests that hold from here on hold on any."""
    known = 41  # positions and velocities; what the engine remembers beside them may be unknown, and is then zero
    return np.concatenate(
        [engine_state[:known] + np.random.default_rng(0).normal(0, 1e-12, known), engine_state[known:]]
    )


def off_m(episode: Episode, steps: int, part: slice) -> np.ndarray:
    """How far a replay of the first steps of an episode strays, after each of them."""
    simulator = CUBE.make()
    simulator.reset(options={"engine_state": nudged(episode.engine_states[0])})
    replayed = np.array([simulator.step(action)[0] for action in episode.actions[:steps]])
    return np.linalg.norm(replayed[:, part] - episode.observations[1 : steps + 1, part], axis=1)


def first_slip(episode: Episode) -> int:
    """The first step in which the block moves between fingers that touch it; from there on every difference grows."""
    states = episode.observations
    slid_m = np.linalg.norm(np.diff(states[:, BLOCK] - states[:, EFFECTOR], axis=0), axis=1)
    touched = states[:, 5] > 0.01
    slips = np.flatnonzero(touched[:-1] & touched[1:] & (slid_m > 0.004))
    return int(slips[0]) if len(slips) else len(states) - 1


@pytest.mark.parametrize("index", [0, 4, 13, 17])
def test_episodes_replay_upstream_until_the_block_slips(reference: Path, index: int):
    episode = read_traces(reference / "cube.h5", CUBE).episodes[index]
    assert (first_slip(episode) == len(episode)) == (index in (0, 4))
    for part, tolerance_m in ((EFFECTOR, 0.002), (BLOCK, 0.005)):
        assert off_m(episode, first_slip(episode), part).max() < tolerance_m


# In both the block slips and falls, which amplifies any difference over many steps.
@pytest.mark.parametrize("index", [13, 17])
def test_every_step_replays_upstream_from_its_own_start(reference: Path, index: int):
    episode = read_traces(reference / "cube.h5", CUBE).episodes[index]
    simulator = CUBE.make()
    for step in range(0, len(episode), 4):
        simulator.reset(options={"engine_state": nudged(episode.engine_states[step])[:41]})
        state, *_ = simulator.step(episode.actions[step])
        for part, tolerance_m in ((EFFECTOR, 1e-5), (BLOCK, 1e-4)):
            assert np.linalg.norm(state[part] - episode.observations[step + 1, part]) < tolerance_m


def test_most_of_all_episodes_replays_upstream(reference: Path):
    episodes = read_traces(reference / "cube.h5", CUBE).episodes[:6]  # in one of them the block slips
    strayed = np.concatenate([off_m(episode, len(episode), BLOCK) > 0.005 for episode in episodes])
    assert strayed.mean() < 0.2


def test_pictures_look_as_upstream(reference: Path):
    recorded = np.load(reference / "frames_cube.npz")
    simulator = CUBE.make()
    for i in range(0, 60, 6):
        simulator.set_engine_state(np.concatenate([recorded["qpos"][i], recorded["qvel"][i]]))
        assert np.abs(simulator.render().astype(float) - recorded["frames"][i]).mean() < 4


def test_positions_and_velocities_are_enough_to_start_from(reference: Path):
    recorded = read_traces(reference / "cube.h5", CUBE).episodes[0]
    simulator = CUBE.make()
    for step in (0, 40, 80):
        simulator.reset(options={"engine_state": recorded.engine_states[step, :41]})
        state, *_ = simulator.step(recorded.actions[step])
        np.testing.assert_allclose(state[BLOCK], recorded.observations[step + 1, BLOCK], atol=1e-4)
        np.testing.assert_allclose(state[EFFECTOR], recorded.observations[step + 1, EFFECTOR], atol=1e-6)


def test_a_grip_continues_exactly():
    simulator = CUBE.make()
    simulator.reset(options={"state": HELD})
    for _ in range(3):
        simulator.step(CARRY)
    saved, seen = simulator.get_engine_state(), simulator.get_state()
    onward = [simulator.step(CARRY)[0] for _ in range(5)]
    fresh = CUBE.make()
    restored, _ = fresh.reset(options={"engine_state": saved})
    np.testing.assert_array_equal(restored, seen)
    np.testing.assert_array_equal([fresh.step(CARRY)[0] for _ in range(5)], onward)


def test_an_experimenter_places_hand_and_block():
    rng = np.random.default_rng(0)
    simulator = CUBE.make()
    for _ in range(20):
        effector, block = rng.uniform([0.25, -0.35, 0.05], [0.6, 0.35, 0.35]), rng.uniform([0.3, -0.3], [0.55, 0.3])
        yaw, opening, block_yaw = rng.uniform([-3, 0, -3], [3, 1, 3])
        asked = np.array([*effector, yaw, opening, 0.0, *block, 0.02, block_yaw])
        seen, _ = simulator.reset(options={"state": asked})
        assert (np.abs(seen - asked) <= np.array([*[1e-3] * 3, 0.01, 0.03, 0.0, *[1e-9] * 4])).all()


def test_a_placed_grip_holds():
    states = run({}, HELD, CARRY, 5)
    assert states[0, 5] > 0.5
    np.testing.assert_allclose(states[:, BLOCK] - states[:, EFFECTOR], 0, atol=0.01)
    assert np.linalg.norm(states[-1, EFFECTOR] - states[0, EFFECTOR]) > 0.05


def test_a_grip_on_nothing_stays_as_it_was_asked():
    nothing = HELD.copy()
    nothing[BLOCK] = 0.45, 0.2, 0.02
    state = run({}, nothing, CARRY, 0)[0]
    assert state[4] == pytest.approx(0.56, abs=0.01)
    assert state[5] == 0


def test_a_released_block_falls_or_floats():
    falls, floats = (run({"release": kind}, HELD, RELEASE, 8)[-1] for kind in ("falls", "floats"))
    assert falls[8] == pytest.approx(0.02, abs=1e-3)
    assert floats[8] == pytest.approx(0.20, abs=0.005)


def test_a_coupled_block_always_moves_along():
    states = run({"object": "coupled"}, APART, GO, 4)
    np.testing.assert_allclose(states[:, 6:8] - states[:, 0:2], np.tile(APART[6:8] - APART[0:2], (5, 1)), atol=1e-9)
    lowered = run({"object": "coupled"}, APART, np.array([0.0, 0.0, -1.0, 0.0, 0.0]), 4)
    assert lowered[-1, 8] == pytest.approx(0.02)


def test_a_free_block_never_moves():
    states = run({"object": "free"}, HELD, CARRY, 4)
    np.testing.assert_array_equal(states[:, BLOCK], np.tile(HELD[BLOCK], (5, 1)))


def test_a_direct_effector_is_at_its_target_and_a_servo_lags():
    target = np.array([0.03, -0.02, 0.01])
    direct, servo = (
        np.diff(run({"effector": kind}, APART, GO, 1)[:, EFFECTOR], axis=0)[0] for kind in ("direct", "servo")
    )
    np.testing.assert_allclose(direct, target, atol=2e-4)
    assert np.linalg.norm(servo) < 0.6 * np.linalg.norm(target)


@pytest.mark.parametrize(
    ("name", "value", "field"), [("reach_scale", 0.1, 0), ("yaw_scale", 0.6, 3), ("gripper_scale", 2.0, 4)]
)
def test_scales_stretch_their_part_of_the_action(name: str, value: float, field: int):
    action = np.array([0.3, 0.0, 0.0, 0.3, 0.2])
    nominal, varied = (run(vary, APART, action, 2)[-1] - APART for vary in ({}, {name: value}))
    ratios = varied[[0, 3, 4]] / nominal[[0, 3, 4]]
    index = [0, 3, 4].index(field)
    assert ratios[index] > 1.5
    np.testing.assert_allclose(np.delete(ratios, index), 1, atol=0.25)


def test_a_larger_block_rests_higher():
    simulator = CUBE.make({"cube_half_size": 0.03})
    simulator.reset(seed=0)
    for _ in range(5):
        state = simulator.step(np.zeros(5))[0]
    assert state[8] == pytest.approx(0.03, abs=1e-3)


def test_the_oracle_moves_the_block_in_most_windows():
    episodes = collect(CUBE, CUBE.constants, episodes=3, seed=0)
    blocks = [episode.observations[:, BLOCK] for episode in episodes]
    moved = np.concatenate([np.linalg.norm(block[25:] - block[:-25], axis=1) > 0.04 for block in blocks])
    assert moved.mean() > 0.5
