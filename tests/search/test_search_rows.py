"""Columns become fields, and episodes become rows."""

import numpy as np
import pytest
from draws import SEED
from known_worlds import PUSH, Pendulum

from visualpatchworld.search.rows import Field, find_fields, read, rows_of, usual
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace


def walks(rng: np.random.Generator, lengths=(5, 3)) -> list[Trajectory]:
    """Columns: an angle's cosine and sine, a number, one that is fixed per episode, and a count."""
    found = []
    for length in lengths:
        angle = np.cumsum(rng.uniform(0.5, 1.0, length + 1))
        fixed = np.full(length + 1, rng.uniform())
        count = rng.integers(0, 9, length + 1) + np.arange(length + 1) % 2
        seen = np.column_stack([np.cos(angle), np.sin(angle), rng.normal(size=length + 1), fixed, count])
        found.append(Trajectory(seen, rng.uniform(-1, 1, (length, 1))))
    return found


NAMES = ("cos_a", "sin_a", "x", "mass", "n")


def test_fields_are_told_by_their_values():
    fields = find_fields(walks(np.random.default_rng(SEED), (30, 30)), NAMES)
    assert [(f.name, f.columns, f.kind) for f in fields] == [
        ("a", (0, 1), "angle"),
        ("x", (2,), "plain"),
        ("mass", (3,), "steady"),
        ("n", (4,), "whole"),
    ]


def test_an_angle_without_a_telling_name_gets_one():
    data = walks(np.random.default_rng(SEED), (30,))
    assert find_fields(data, ("p", "q", "x", "mass", "n"))[0].name == "p_angle"


def test_rows_do_not_cross_episodes():
    data = walks(np.random.default_rng(SEED))
    rows = rows_of(data, find_fields(data, NAMES), PUSH)
    assert len(rows) == 8
    assert rows.episode.tolist() == [0] * 5 + [1] * 3
    assert rows.time.tolist() == [0, 1, 2, 3, 4, 0, 1, 2]
    x = rows.at("x")
    np.testing.assert_array_equal(rows.before[:, x], np.concatenate([t.observations[:-1, 2] for t in data]))
    np.testing.assert_array_equal(rows.after[:, x], np.concatenate([t.observations[1:, 2] for t in data]))
    np.testing.assert_array_equal(rows.inputs["action_0"], np.concatenate([t.actions[:, 0] for t in data]))
    np.testing.assert_allclose(rows.change, rows.after - rows.before)


def test_angles_go_on_beyond_a_turn():
    angle = np.arange(20) * 0.9
    seen = np.column_stack([np.cos(angle), np.sin(angle)])
    found = read(seen, [Field("a", (0, 1), "angle"), Field("h", (), start=3.0)])
    np.testing.assert_allclose(found[:, 0], angle, atol=1e-12)
    assert set(found[:, 1]) == {3.0}


def test_choices_become_indicators():
    actions = np.array([[0.0], [2.0], [1.0]])
    data = [Trajectory(np.arange(4.0)[:, None] * 1.5, actions)]
    rows = rows_of(data, [Field("x", (0,))], ActionSpace("discrete", counts=(3,)))
    assert rows.choices == {"action_0": 3}
    assert rows.inputs["action_0_is_2"].tolist() == [0.0, 1.0, 0.0]
    assert rows.values()["x"].tolist() == [0.0, 1.5, 3.0]


def test_taken_rows_keep_all_columns_together():
    data = walks(np.random.default_rng(SEED))
    rows = rows_of(data, find_fields(data, NAMES), PUSH)
    part = rows.taken(np.array([1, 6]))
    assert len(part) == 2
    np.testing.assert_array_equal(part.before, rows.before[[1, 6]])
    assert part.inputs["action_0"].tolist() == rows.inputs["action_0"][[1, 6]].tolist()
    assert part.time.tolist() == [1, 1]
    assert "more" in part.with_inputs({"more": np.zeros(2)}).inputs


@pytest.mark.parametrize(("dtype", "least", "most"), [(np.float32, 1e-8, 1e-6), (np.float64, 1e-13, 1e-10)])
def test_the_floor_follows_the_number_format(dtype: type, least: float, most: float):
    rng = np.random.default_rng(SEED)
    values = rng.uniform(0.5, 1.0, (9, 1)).astype(dtype)
    data = [Trajectory(values.astype(float), rng.uniform(-1, 1, (8, 1)))]
    (floor,) = rows_of(data, [Field("x", (0,))], PUSH).floors
    assert least < floor < most


def test_noise_on_a_smooth_log_without_actions_is_its_floor():
    rng = np.random.default_rng(SEED)
    seen = np.sin(np.arange(400) * 0.02)[:, None] + 1e-3 * rng.normal(size=(400, 1))
    data = [Trajectory(seen, np.zeros((399, 0)))]
    (floor,) = rows_of(data, [Field("x", (0,))], ActionSpace("continuous")).floors
    assert floor == pytest.approx(1e-3, rel=0.4)


def test_jumps_are_not_usual():
    rng = np.random.default_rng(SEED)
    world = Pendulum.drawn(rng).episodes(rng)
    data = [Trajectory(t.observations.copy(), t.actions) for t in world.trajectories]
    for t in data:
        t.observations[20, 2] += 50.0
    rows = rows_of(data, find_fields(data, world.names), world.space)
    fine = usual(rows)
    jumps = (rows.time == 19) | (rows.time == 20)
    assert not fine[jumps].any()
    assert fine[~jumps].mean() > 0.9


def test_values_that_come_back_are_not_usual():
    seen = np.minimum(np.random.default_rng(SEED).uniform(-1, 1, (400, 1)), 0.5)
    rows = rows_of([Trajectory(seen, np.zeros((399, 1)))], [Field("x", (0,))], PUSH)
    np.testing.assert_array_equal(usual(rows), rows.after[:, 0] != 0.5)
