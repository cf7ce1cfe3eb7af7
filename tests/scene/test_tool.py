"""The tool path reads pictures: states come back, what is hidden is said to be, light and noise do not matter much."""

import dataclasses
import functools
from pathlib import Path

import numpy as np
import pytest

from visualpatchworld.domain import Domain, load_domain
from visualpatchworld.errors import BadGraph, BadPicture, VpwError
from visualpatchworld.scene.calibrate import audit, extractor, moments_of_file, read_moments
from visualpatchworld.scene.extractor import ToolExtractor
from visualpatchworld.scene.tool.calibration import parse_calibration
from visualpatchworld.trace.episode import Episode, collect

FEW = 6  # pictures of a world; some take long to draw
SEED = 77  # not that of the calibration


@functools.cache
def seen(name: str) -> tuple[Domain, ToolExtractor, Episode, np.ndarray]:
    """A domain, its extractor, an episode of a few steps that it was not calibrated with, and its pictures."""
    domain = dataclasses.replace(load_domain(name), episode_steps=FEW)
    (episode,) = collect(domain, domain.constants, episodes=1, seed=SEED, pixels=True)
    assert isinstance(episode.frames, np.ndarray)
    return domain, extractor(domain), episode, episode.frames


def main_metric(domain: Domain, state: np.ndarray, goal: np.ndarray) -> bool:
    return bool(next(iter(domain.metrics.values()))(state, goal))


def test_a_picture_is_read_well_enough_to_be_a_goal(domain: Domain):
    domain, tool, episode, frames = seen(domain.name)
    for frame, state in zip(frames, episode.observations, strict=True):
        read = tool.observe([frame], near=state)
        assert main_metric(domain, read, state)


def test_a_graph_has_the_objects_of_the_oracle_and_relations(domain: Domain):
    domain, tool, episode, frames = seen(domain.name)
    graph = tool.read(list(frames[:3]), episode.actions[:2], step=2)
    oracle = domain.scene.oracle(episode.observations[2], domain.constants)
    assert graph.metadata.source == "tool"
    assert {item.name for item in graph.objects} <= {item.name for item in oracle.objects}
    assert {field.at.split(".")[0] for field in domain.scene.state_space} <= {item.name for item in graph.objects}
    ours = {(relation.subject, relation.object): relation.distance for relation in graph.relations}
    for relation in oracle.relations:
        key = (relation.subject, relation.object)
        if key in ours and relation.distance:
            assert ours[key] == pytest.approx(
                relation.distance, rel=0.15, abs=0.03 if domain.scene.length_unit == "m" else 2
            )


def test_light_and_noise_matter_little(domain: Domain):
    domain, tool, episode, frames = seen(domain.name)
    noise = np.random.default_rng(0).normal(0, 5, frames[0].shape)
    for change in (lambda x: 0.85 * x, lambda x: 1.15 * x, lambda x: x + noise):
        frame = np.clip(change(frames[1].astype(float)), 0, 255).astype(np.uint8)
        assert main_metric(domain, tool.observe([frame], near=episode.observations[1]), episode.observations[1])


def test_an_empty_picture_hides_what_moves(domain: Domain):
    domain, tool, episode, frames = seen(domain.name)
    empty = np.empty_like(frames[0])
    empty[:] = domain.seen().palette.background
    graph = tool.read([*frames[:2], empty])
    moving = [item for item in graph.objects if not item.fixed]
    assert moving and not any(item.visible for item in moving)
    assert all(item.pose.angle is None for item in moving)
    with pytest.raises(BadGraph, match="does not say"):
        tool.state(graph)
    # Where it was last seen, for those who must act all the same.
    last = tool.observe([*frames[:2], empty], near=episode.observations[1])
    assert main_metric(domain, last, episode.observations[1])
    # Where a model expects it, with the speed that it expects.
    later = tool.observe([*frames[:2], empty], near=episode.observations[1], expected=episode.observations[-1])
    np.testing.assert_allclose(later, tool.space.wrap(episode.observations[-1]), atol=1e-9)


def test_an_episode_is_read_across_a_hidden_moment(domain: Domain):
    domain, tool, episode, frames = seen(domain.name)
    shown = frames[:4].copy()
    shown[2] = domain.seen().palette.background
    states = tool.read_episode(shown, episode.actions)
    assert states.shape == (4, len(domain.scene.state_space))
    assert np.isfinite(states).all()
    assert main_metric(domain, states[2], episode.observations[2])
    with pytest.raises(BadGraph, match="hidden in all 1 pictures"):
        tool.read_episode(shown[2:3])


def test_what_no_picture_shows_is_where_it_was_before(domain: Domain):
    domain, tool, episode, frames = seen(domain.name)
    nothing = np.empty_like(frames[0])
    nothing[:] = domain.seen().palette.background
    with pytest.raises(BadGraph):
        tool.observe([nothing])
    assert main_metric(domain, tool.observe([nothing], near=episode.observations[2]), episode.observations[2])


def test_calibrations_are_kept_as_text(domain: Domain):
    _, tool, _, frames = seen(domain.name)
    text = tool.calibration.text()
    again = ToolExtractor(tool.template, tool.look, parse_calibration(text), tool.size_px)
    assert again.calibration.text() == text
    first, second = tool.see(frames[0]).numbers, again.see(frames[0]).numbers
    assert second == pytest.approx(first, rel=1e-3, abs=1e-3)
    with pytest.raises(VpwError, match="not a calibration"):
        parse_calibration("{}")


def test_bad_pictures_are_named(toy: Domain):
    tool = extractor(toy)
    for picture in (np.zeros((8, 8, 3), np.uint8), np.zeros((224, 224, 3)), None):
        with pytest.raises(BadPicture, match="A picture here is 224 x 224"):
            tool.see(picture)  # pyright: ignore[reportArgumentType]
    with pytest.raises(BadPicture, match="no picture"):
        tool.read([])


def test_velocities_need_more_than_one_picture(toy: Domain):
    _, tool, episode, frames = seen(toy.name)
    assert tool.read([frames[5]])["puck"].velocity.x is None
    assert tool.observe([frames[5]])[1] == 0.0
    followed = tool.observe(list(frames[2:6]), episode.actions[2:5])
    assert followed[1] == pytest.approx(episode.observations[5, 1], abs=0.1)


@pytest.mark.parametrize(
    ("hand", "block"),
    [
        ((0.418, -0.034, 0.195, -1.665), (0.417, -0.045, 0.19, 3.045)),
        ((0.462, -0.011, 0.118, -1.719), (0.461, -0.022, 0.112, 2.993)),
    ],
)
def test_a_block_half_covered_by_a_finger_is_not_taken_for_one_that_rests_behind(
    hand: tuple[float, ...], block: tuple[float, ...]
):
    cube = load_domain("cube")
    world = cube.make()
    state, _ = world.reset(options={"state": np.array([*hand, 0.56, 1.0, *block])})
    numbers = extractor(cube).see(world.render()).numbers
    assert np.linalg.norm(np.array([numbers[f"block.pose.{axis}"] for axis in "xyz"]) - state[6:9]) < 0.01


# Largest root mean square errors, in the domain's units, on pictures that nobody here drew.
REFERENCE_ERRORS = {
    "pusht": {"agent_px": 1.0, "block_px": 1.0, "angle_rad": np.radians(1)},
    "tworoom": {"agent_px": 0.5},
    "reacher": {"finger_m": 0.003, "q_rad": 0.02},
    "cube": {"effector_m": 0.012, "block_m": 0.01},
}


@pytest.mark.parametrize("name", REFERENCE_ERRORS)
def test_reference_pictures(name: str, reference: Path):
    domain = load_domain(name)
    tool = extractor(domain)
    moments = moments_of_file(domain, reference / f"frames_{name}.npz")
    found = audit(domain, tool, read_moments(tool, moments[::3]))
    assert (found.precision, found.recall) == (1.0, 1.0)
    for quantity, largest in REFERENCE_ERRORS[name].items():
        assert found.rmse[quantity] < largest
