"""A law that the search found becomes a reading, a draft and a verdict; more episodes refine it or refute it."""

import numpy as np
import pytest
from draws import SEED

from visualpatchworld.induction.lawful import Lawful, found_of, search_law, tried
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace

PUSH = ActionSpace("continuous", low=(-1.0,), high=(1.0,))
NAMES = ("cos_theta", "sin_theta", "speed", "height", "fixed")
DT = 0.05
SHIFT = 0.3


def swings(rng: np.random.Generator, pull: float, drive: float, episodes: int) -> list[Trajectory]:
    """A pendulum with its height, which follows from the angle, and a column that never changes."""
    found = []
    for _ in range(episodes):
        theta, speed = rng.uniform(-2.5, 2.5), rng.uniform(-1, 1)
        seen, done = [], rng.uniform(-1, 1, (60, 1))
        for u in (*done[:, 0], 0.0):
            seen.append((np.cos(theta), np.sin(theta), speed, 1.0 - np.cos(theta), SHIFT))
            speed += DT * (-pull * np.sin(theta) + drive * u)
            theta += DT * speed
        found.append(Trajectory(np.array(seen), done))
    return found


@pytest.fixture(scope="module")
def drawn() -> tuple[float, float]:
    pull, drive = np.random.default_rng(SEED).uniform((4.0, 2.0), (9.0, 4.0))
    return float(pull), float(drive)


@pytest.fixture(scope="module")
def lawful(drawn: tuple[float, float]) -> Lawful:
    data = swings(np.random.default_rng(SEED), *drawn, 5)
    return search_law(data[:4], data[4:], NAMES, PUSH, DT, lambda _: None)


def test_an_exact_law_holds_on_episodes_that_were_kept(lawful: Lawful):
    assert lawful.law.exact
    assert lawful.holds
    assert set(lawful.errors) == {1, 5, 25}
    assert lawful.errors[25]["p90"] < 1e-6
    assert lawful.sureness > 300


def test_the_finding_says_what_each_column_is(lawful: Lawful, drawn: tuple[float, float]):
    found = found_of(lawful, NAMES, DT, 1.0)
    assert [role.role for role in found.reading.fields] == ["cos", "sin", "coordinate", "derived", "constant"]
    assert found.verdict == "explained"
    assert "give all 240 rows" in found.why
    constants = found.draft.program.constants
    assert sorted(constants.values()) == pytest.approx(sorted([DT, *drawn]), rel=1e-6)
    assert set(found.draft.free) == set(constants) - {"DT"}


def test_the_program_observes_what_the_world_shows(lawful: Lawful, drawn: tuple[float, float]):
    model = found_of(lawful, NAMES, DT, 1.0).draft.program.bind_world("numpy")
    assert model.read is not None
    assert model.observe is not None
    (episode,) = swings(np.random.default_rng(SEED + 1), *drawn, 1)
    state = model.read(episode.observations[0])
    for action, seen in zip(episode.actions, episode.observations[1:], strict=True):
        state = model.step(state, action)
        np.testing.assert_allclose(model.observe(state), seen, atol=1e-5)


def test_more_episodes_of_the_same_world_keep_the_law(lawful: Lawful, drawn: tuple[float, float]):
    rng = np.random.default_rng(SEED + 2)
    again = tried(lawful, swings(rng, *drawn, 6), swings(rng, *drawn, 1), PUSH, DT)
    assert again is not None
    assert again.holds
    assert again.law.motion.scheme == lawful.law.motion.scheme


def test_episodes_of_another_world_refute_the_law(lawful: Lawful, drawn: tuple[float, float]):
    rng = np.random.default_rng(SEED + 3)
    mixed = [*swings(rng, *drawn, 4), *swings(rng, drawn[0] * 1.1, drawn[1], 3)]
    assert tried(lawful, mixed, [], PUSH, DT) is None
    wrong = search_law(
        swings(rng, *drawn, 4), swings(rng, drawn[0] * 1.5, drawn[1], 1), NAMES, PUSH, DT, lambda _: None
    )
    assert wrong.law.exact
    assert not wrong.holds
