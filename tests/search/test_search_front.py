"""The front of a field holds the best sum of each size, and the law that was chosen."""

import itertools

import numpy as np
import pytest
from draws import SEED
from known_worlds import Small, small

from visualpatchworld.search.check import followed
from visualpatchworld.search.find import Law, find_law
from visualpatchworld.search.front import front_of


@pytest.fixture(scope="module")
def world() -> Small:
    rng = np.random.default_rng(SEED)
    gain, drag, pull = rng.uniform(1.0, 2.0), rng.uniform(0.5, 1.0), rng.uniform(1.0, 2.0)

    def step(s: np.ndarray, u: np.ndarray) -> np.ndarray:
        v = s[1] + 0.05 * (gain * u[0] - drag * s[1] - pull * s[0])
        return np.array([s[0] + 0.05 * v, v])

    return small(step, lambda rng: rng.uniform(-1, 1, 2), ("x", "v"), rng)


@pytest.fixture(scope="module")
def law(world: Small) -> Law:
    return find_law(world.trajectories[:-2], world.names, world.space)


def test_errors_fall_with_size_down_to_the_law(world: Small, law: Law):
    points = [p for p in front_of(law, followed(law, world.trajectories[-2:], world.space)) if p.field == "v"]
    assert [p.terms for p in points] == sorted({p.terms for p in points})
    assert all(b.error < a.error for a, b in itertools.pairwise(points))
    last = points[-1]
    assert last.chosen and last.terms == 3 and last.error < 1e-6
    assert any(0 < p.terms < 3 and p.error > 1e-3 for p in points)


def test_structures_differ(world: Small, law: Law):
    points = front_of(law, followed(law, world.trajectories[-2:], world.space))
    shown = [(p.field, frozenset(t.with_free([0.0] * len(t.free_values)) for t in p.rate.terms)) for p in points]
    assert len(set(shown)) == len(shown)
    assert [p.field for p in points if p.chosen] == ["x", "v"]
