"""Noise is measured, rows are smoothed, and constants are fitted by rollouts at uneven times."""

import numpy as np
import pytest
from draws import FIXED

from visualpatchworld.grammar.expr import var
from visualpatchworld.search.motion import Rate
from visualpatchworld.search.shoot import roll, slope_of
from visualpatchworld.search.smooth_terms import libraries_of, monomials
from visualpatchworld.search.weak import noise_of


def test_noise_of_a_curve_is_measured_at_uneven_times():
    rng = np.random.default_rng(FIXED)
    times = np.sort(rng.uniform(0.0, 10.0, 400))
    for values, size in ((np.sin(times), 0.02), (3.0 * np.cos(0.7 * times), 0.1)):
        (found,) = noise_of([times], [values + size * rng.normal(size=values.shape)])
        assert found.shape == times.shape and float(np.mean(found)) == pytest.approx(size, rel=0.35)


def test_a_rollout_follows_rates_over_long_and_short_gaps():
    rates = {"x": Rate((var("v"),), (1.0,)), "v": Rate((var("x"),), (-1.0,))}
    gaps = np.array([0.05, 0.4, 0.01, 0.2])[:, None]
    rows = roll(slope_of(rates, ["x", "v"]), np.array([[1.0], [0.0]]), gaps, 0.05, 1e8)
    times = np.concatenate([[0.0], np.cumsum(gaps[:, 0])])
    np.testing.assert_allclose(rows[:, 0, 0], np.cos(times), atol=1e-6)


def test_monomials_are_each_listed_once():
    x, y = var("x"), var("y")
    found = monomials([x, y], 2)
    assert len(found) == len(set(found))
    values = {"x": np.array([2.0]), "y": np.array([3.0])}
    seen = sorted(float(np.asarray(term.evaluate(values)).ravel()[0]) for term in found)
    assert {4.0, 6.0, 9.0} <= set(seen)


@pytest.mark.parametrize("names", [("x",), ("x", "y")])
def test_libraries_grow_from_simple_to_wide(names: tuple[str, ...]):
    rng = np.random.default_rng(FIXED)
    values = {name: rng.uniform(0.5, 2.0, 50) for name in names}
    libraries = libraries_of(names, values)
    assert [len(library) for library in libraries] == sorted(len(library) for library in libraries)
    assert all(var(name) in libraries[0] for name in names)
