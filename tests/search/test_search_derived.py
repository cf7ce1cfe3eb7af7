"""Columns that follow from others are told, and those that do not are left alone."""

import numpy as np
import pytest
from draws import SEED
from known_worlds import Small, small

from visualpatchworld.search.derived import find_derived, identity
from visualpatchworld.search.rows import Rows, find_fields, rows_of
from visualpatchworld.world.world import ActionSpace

BOTH = ActionSpace("continuous", low=(-1.0, -1.0), high=(1.0, 1.0))


def plane(observe, names=("x", "y", "more"), dtype: type = np.float64) -> Rows:
    rng = np.random.default_rng(SEED)
    world: Small = small(
        lambda x, u: x + 0.2 * u,
        lambda rng: rng.uniform(-1, 1, 2),
        names,
        rng,
        space=BOTH,
        observe=observe,
        dtype=dtype,
    )
    return rows_of(world.trajectories, find_fields(world.trajectories, world.names), world.space)


A, B = np.random.default_rng(SEED).uniform(0.3, 1.5, 2)
FORMULAS = {
    "distance": lambda x: np.hypot(x[0] - A, x[1] + B),
    "energy": lambda x: A * x[0] ** 2 + B * x[1] ** 2,
    "sum": lambda x: A * x[0] - B * x[1] + 0.5,
    "product": lambda x: A * x[0] * x[1],
    "units": lambda x: 57.3 * x[1],
}


@pytest.mark.parametrize("kind", FORMULAS)
def test_a_column_that_follows_from_the_others(kind: str):
    rows = plane(lambda x: (*x, FORMULAS[kind](x)))
    derived, left = find_derived(rows)
    assert list(derived) == [2]
    assert left.names == ("x", "y")
    assert left.before.shape == (len(rows), 2)
    other = np.random.default_rng(SEED + 1).uniform(-3, 3, (20, 2))
    meant = [FORMULAS[kind](x) for x in other]
    np.testing.assert_allclose(derived[2].evaluate({"x": other[:, 0], "y": other[:, 1]}), meant, rtol=1e-5, atol=1e-6)


def test_an_identity_is_seen_through_float32():
    derived, _ = find_derived(plane(lambda x: (*x, FORMULAS["distance"](x)), dtype=np.float32))
    assert list(derived) == [2]


def test_what_is_nearly_so_is_not_an_identity():
    rng = np.random.default_rng(SEED)
    rows = plane(lambda x: (*x, x[0] + x[1] + 0.01 * rng.normal()))
    assert identity(rows, "more") is None
    assert find_derived(rows)[0] == {}


def test_fields_of_their_own_are_kept():
    derived, left = find_derived(plane(lambda x: x, ("x", "y")))
    assert derived == {}
    assert left.names == ("x", "y")
