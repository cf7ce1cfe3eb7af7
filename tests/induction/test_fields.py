"""What the columns of an observation are is read from observations alone, and a user may correct it."""

import re
import warnings

import numpy as np
import pytest
from draws import SEED
from small_worlds import (
    PUSH,
    bounce,
    extra_columns,
    geared,
    pendulum,
    rk4_repeat,
    run,
    second_order,
    viscous,
    wrapped_pendulum,
)

from visualpatchworld.induction.fields import BadField, read_fields
from visualpatchworld.induction.reading import Coordinate
from visualpatchworld.induction.unpaired import derived_expression
from visualpatchworld.world.trajectory import Trajectory


def roles(animal, **given):
    reading = read_fields(animal.trajectories, animal.space, **given)
    return reading, [field.role for field in reading.fields]


def test_every_column_gets_its_role_and_a_reason():
    reading, found = roles(extra_columns(np.random.default_rng(SEED)))
    assert found == ["coordinate", "constant", "velocity", "derived", "noise", "derived"], f"seed {SEED}"
    assert all(field.evidence for field in reading.fields)


@pytest.mark.parametrize(
    ("make", "found"), [(pendulum, ["cos", "sin", "velocity"]), (wrapped_pendulum, ["angle", "velocity"])]
)
def test_angles_are_found(make, found):
    assert roles(make(np.random.default_rng(SEED)))[1] == found, f"seed {SEED}"


@pytest.mark.parametrize(
    ("make", "integrator"), [(viscous, "explicit"), (bounce, "semi-implicit"), (rk4_repeat, "unknown")]
)
def test_integrator_is_found_by_one_number(make, integrator):
    assert roles(make(np.random.default_rng(SEED)))[0].integrator == integrator, f"seed {SEED}"


def test_time_step_is_what_a_gear_is_not():
    reading, _ = roles(geared(np.random.default_rng(SEED)))
    assert reading.dt == pytest.approx(0.05), f"seed {SEED}"
    assert [c.velocity_scale == 1 for c in reading.coordinates] == [True, False], f"seed {SEED}"


def test_cosine_and_sine_in_any_order_turn_with_their_velocity():
    rng = np.random.default_rng(SEED)
    step = second_order(lambda q, v, a: [3 * a[0] - 5 * np.sin(q[0])], 0.05)
    trajectories = run(
        rng, step, lambda: rng.uniform(-2, 2, 2), PUSH, observe=lambda s: np.array([np.sin(s[0]), s[1], np.cos(s[0])])
    )
    reading = read_fields(trajectories, PUSH)
    assert [field.role for field in reading.fields] == ["sin", "velocity", "cos"], f"seed {SEED}"


def test_a_user_may_correct_a_role():
    animal = viscous(np.random.default_rng(SEED))
    reading, found = roles(animal, names=("theta", "w"), corrections={"theta": "angle", "w": "velocity:theta"})
    assert found == ["angle", "velocity"]
    assert reading.state_names == ("theta", "w")


@pytest.mark.parametrize("wrong", [{"phi": "angle"}, {"theta": "sideways"}, {"w": "velocity:phi"}])
def test_a_wrong_correction_is_one_sentence(wrong):
    animal = viscous(np.random.default_rng(SEED))
    with pytest.raises(BadField):
        roles(animal, names=("theta", "w"), corrections=wrong)


def test_absolute_angles_may_count_from_one_another():
    rng = np.random.default_rng(SEED)
    step = second_order(
        lambda q, v, a: [a[0] - 5 * np.sin(q[0]), 2 * a[0] - 3 * np.sin(q[1]), -a[0] - 4 * np.sin(q[2])], 0.05, 3
    )

    def observe(s):
        shown = np.cumsum(s[:3])
        return np.concatenate([np.stack([np.cos(shown), np.sin(shown)], -1).ravel(), s[3:]])

    trajectories = run(rng, step, lambda: rng.uniform(-1, 1, 6), PUSH, observe=observe)
    reading = read_fields(trajectories, PUSH)
    assert [c.relative_to for c in reading.coordinates] == [None, *(c.name for c in reading.coordinates[:2])], (
        f"seed {SEED}"
    )
    states = reading.states(trajectories[0])
    moved = np.diff(states[:, :3], axis=0)
    np.testing.assert_allclose(moved, 0.05 * states[1:, 3:], atol=1e-9, err_msg=f"seed {SEED}")


def test_a_column_may_have_a_shift_of_each_episode():
    rng = np.random.default_rng(SEED)
    step = second_order(lambda q, v, a: [3 * a[0] - 5 * np.sin(q[0])], 0.05)
    trajectories = []
    for goal in rng.uniform(-1, 1, 8):
        seen = lambda s, goal=goal: np.array([s[0], goal - 0.7 * np.cos(s[0]), s[1]])  # noqa: E731
        trajectories += run(rng, step, lambda: rng.uniform(-2, 2, 2), PUSH, observe=seen, episodes=1)
    reading = read_fields(trajectories, PUSH)
    assert [field.role for field in reading.fields] == ["coordinate", "derived", "velocity"], f"seed {SEED}"
    shifts = [reading.states(t)[:, -1] for t in trajectories]
    assert max(np.ptp(shift) for shift in shifts) < 1e-6 < np.ptp([shift[0] for shift in shifts]), f"seed {SEED}"


def test_a_column_that_is_off_in_few_rows_has_the_numbers_of_the_others():
    rng = np.random.default_rng(SEED)
    lengths = [float(f"{value:.2g}") for value in rng.uniform(0.1, 0.9, 2)]
    coordinates = (Coordinate("a", (0,), True, "a_speed", 2), Coordinate("b", (1,), True, "b_speed", 3))
    angles, speeds = rng.uniform(-3, 3, (400, 2)), rng.normal(size=(400, 2))
    tip = lengths[0] * np.cos(angles[:, 0]) + lengths[1] * np.cos(angles.sum(axis=1)) + 1e-6 * speeds[:, 0]
    tip[rng.choice(400, 4, replace=False)] += 0.004
    seen = Trajectory(np.column_stack([angles, speeds, tip]), np.zeros((399, 0)))
    found = derived_expression([seen], 4, coordinates, (), np.zeros(5))
    assert found is not None
    numbers = sorted(float(text) for text in re.findall(r"(?<![\w.])[\d.]+(?= \*)", found.code))
    assert numbers == pytest.approx(sorted(lengths), rel=1e-6)


def test_a_column_that_jumps_whenever_another_moves_is_no_velocity():
    rng = np.random.default_rng(SEED)
    trajectories = []
    for _ in range(4):
        kicked = rng.uniform(size=120) < 0.1
        place = np.concatenate([[0.0], np.cumsum(np.where(kicked, rng.normal(size=120), 0.0))])
        jumps = np.concatenate([[0.0], np.cumsum(np.where(kicked, rng.choice([-50.0, 50.0], 120), 0.0))])
        slow = rng.normal(scale=1e-3, size=121)
        trajectories.append(Trajectory(np.stack([place, jumps + slow], axis=-1), rng.uniform(-1, 1, (120, 1))))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of statistics of nothing
        reading = read_fields(trajectories, PUSH)
    assert all(c.velocity_column is None for c in reading.coordinates), f"seed {SEED}: {reading.fields}"
