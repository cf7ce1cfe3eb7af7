"""Sparse sums are found among many columns, with rows that follow another rule left out."""

import numpy as np
import pytest
from draws import SEED

from visualpatchworld.search.regress import (
    beam,
    best_sums,
    data_bits,
    empty_sum,
    least_absolute,
    normalised,
    score_tests,
    steady_weights,
    weights_of,
)

FLOOR = 1e-10


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(SEED)


def test_bits_grow_with_the_logarithm_of_what_is_left():
    assert data_bits(np.zeros(5), FLOOR) == 0.0
    assert data_bits(np.array([FLOOR]), FLOOR) == pytest.approx(1.0)
    assert data_bits(np.array([1e3]), 1.0) == pytest.approx(np.log2(1001))
    assert np.isfinite(data_bits(np.array([np.inf, np.nan]), FLOOR))
    assert empty_sum(np.ones(4), np.ones(4, bool), 1.0).bits == pytest.approx(4.0)


def test_a_sum_of_few_columns_is_found_among_many(rng: np.random.Generator):
    columns = rng.normal(size=(200, 60)) * 10.0 ** rng.uniform(-3, 3, 60)
    support = tuple(sorted(rng.choice(60, 4, replace=False).tolist()))
    weights = rng.uniform(0.5, 2.0, 4)
    target = columns[:, support] @ weights
    sums = best_sums(columns, target, np.full(60, 20.0), np.ones(200, bool), FLOOR * np.abs(target).max())
    assert tuple(sorted(sums[0].support)) == support
    order = np.argsort(sums[0].support)
    np.testing.assert_allclose(sums[0].weights[order], weights, rtol=1e-8)
    assert [s.bits for s in sums] == sorted(s.bits for s in sums)


def test_rows_of_another_rule_do_not_bend_the_sum(rng: np.random.Generator):
    columns = rng.normal(size=(200, 20))
    target = columns[:, 3] - 2.0 * columns[:, 7]
    target[:20] = rng.normal(size=20) * 5.0
    sums = best_sums(columns, target, np.full(20, 20.0), np.ones(200, bool), FLOOR)
    assert sorted(sums[0].support) == [3, 7]
    weights, used = steady_weights(columns[:, [3, 7]], target, np.ones(200, bool), FLOOR)
    np.testing.assert_allclose(weights, [1.0, -2.0], rtol=1e-8)
    assert used[20:].all()
    assert not used[:20].any()


def test_nothing_is_added_where_nothing_is_left(rng: np.random.Generator):
    columns = rng.normal(size=(50, 5))
    assert best_sums(columns, np.zeros(50), np.full(5, 20.0), np.ones(50, bool), FLOOR)[0].support == ()


def test_a_group_comes_as_a_whole(rng: np.random.Generator):
    unit, _ = normalised(rng.normal(size=(80, 6)))
    target = unit[:, 1] + 0.1 * unit[:, 2]
    found = beam(unit.T @ unit, unit.T @ target, [(0,), (1, 2), (3, 4), (5,)], most=2)
    assert found[0][0] == (1, 2)
    assert all((1 in support) == (2 in support) for supports in found for support in supports)


def test_a_column_that_others_contain_adds_nothing(rng: np.random.Generator):
    columns = rng.normal(size=(80, 2))
    unit, _ = normalised(np.column_stack([columns, columns.sum(axis=1), columns[:, 0]]))
    found = beam(unit.T @ unit, unit.T @ unit[:, 0], most=4)
    assert max(len(support) for supports in found for support in supports) <= 2


def test_columns_that_are_not_finite_are_never_chosen(rng: np.random.Generator):
    columns = np.column_stack([rng.normal(size=60), np.full(60, np.inf), np.full(60, np.nan), np.zeros(60)])
    sums = best_sums(columns, 3.0 * columns[:, 0], np.full(4, 20.0), np.ones(60, bool), FLOOR)
    assert sums[0].support == (0,)
    unit, length = normalised(columns)
    assert length[1:].tolist() == [0.0, 0.0, 0.0]
    assert not unit[:, 1:].any()


def test_weights_do_not_mind_the_scale_of_columns(rng: np.random.Generator):
    columns = rng.normal(size=(60, 2)) * np.array([1e-9, 1e9])
    np.testing.assert_allclose(weights_of(columns, columns @ np.array([2e9, 3e-9])), [2e9, 3e-9], rtol=1e-9)


def test_whole_numbers_are_met_in_most_rows_exactly(rng: np.random.Generator):
    columns = rng.integers(0, 2, (100, 2)).astype(float)
    target = columns @ np.array([1.0, -2.0])
    target[:20] = 0.0
    np.testing.assert_array_equal(least_absolute(columns, target, np.ones(100, bool)), [1.0, -2.0])


def test_score_tests_find_the_column_that_is_missing(rng: np.random.Generator):
    columns, basis = rng.normal(size=(100, 30)), rng.normal(size=(100, 2))
    columns[:, 5] = basis[:, 0]  # the basis has it already
    residual = 0.3 * columns[:, 11]
    gains = score_tests(columns, residual, basis)
    assert np.argmax(gains) == 11
    assert gains[5] == 0.0
    assert score_tests(columns, residual, np.zeros((100, 0)))[11] == pytest.approx(residual @ residual)
