"""Limits, stops, bounces, wrap-arounds and doors are found as rules from the rows that motion does not explain."""

import numpy as np
import pytest
from draws import SEED
from known_worlds import Small, Step, small

from visualpatchworld.grammar.expr import call, number, var
from visualpatchworld.search.motion import Motion, Rate, Scheme
from visualpatchworld.search.rows import Rows, find_fields, rows_of, usual
from visualpatchworld.search.rules import Rule, apply, before, find_rules, predicted, residual_bits, unexplained

X, V, U = var("x"), var("v"), var("action_0")
DT = 0.05
PLACE = Motion({"x": Rate((U,), (0.2,))})
SPEED = Motion(
    {"x": Rate((V,), (DT,)), "v": Rate((U, V), (4.0 * DT, -0.2 * DT))}, Scheme("semi-implicit", 1, frozenset({"v"}))
)


def pushed(x: np.ndarray, u: np.ndarray) -> tuple[float, float]:
    v = x[1] + DT * (4.0 * u[0] - 0.2 * x[1])
    return x[0] + DT * v, v


def place_world(step: Step, rng: np.random.Generator) -> Small:
    return small(step, lambda rng: rng.uniform(0.0, 0.4, 1), ("x",), rng, episodes=8)


def speed_world(step: Step, rng: np.random.Generator) -> Small:
    return small(step, lambda rng: (rng.uniform(0.0, 0.2), rng.uniform(-0.4, 0.4)), ("x", "v"), rng, episodes=12)


def rows_from(world: Small) -> Rows:
    return rows_of(world.trajectories, find_fields(world.trajectories, world.names), world.space)


def explained(rows: Rows, motion: Motion, rules: tuple[Rule, ...]) -> float:
    """The share of rows that motion and rules meet."""
    targets = list(motion.rates)
    after, _ = predicted(rows, motion, rules)
    return 1.0 - float(unexplained(rows, targets, after, usual(rows)).any(axis=1).mean())


def found_in(world: Small, motion: Motion) -> tuple[Rows, tuple[Rule, ...]]:
    rows = rows_from(world)
    before_rules = explained(rows, motion, ())
    rules = find_rules(rows, motion, list(motion.rates), usual(rows))
    assert before_rules < 1.0  # the world has something to find
    assert explained(rows, motion, rules) >= 0.995
    return rows, rules


def constants(rules: tuple[Rule, ...]) -> list[float]:
    return sorted({round(value, 6) for rule in rules for value in rule.free_values})


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(SEED)


def test_a_clip_at_both_ends(rng: np.random.Generator):
    low, high = -rng.uniform(0.2, 0.5), rng.uniform(0.5, 0.8)
    _, rules = found_in(place_world(lambda x, u: np.clip(x + 0.2 * u, low, high), rng), PLACE)
    assert constants(rules) == pytest.approx([low, high], abs=1e-6)
    assert {name for rule in rules for name, _ in rule.sets} == {"x"}


def test_a_stop_takes_the_speed(rng: np.random.Generator):
    wall = rng.uniform(0.2, 0.3)

    def step(x, u):
        y, v = pushed(x, u)
        return (np.clip(y, -wall, wall), 0.0) if abs(y) > wall else (y, v)

    _, rules = found_in(speed_world(step, rng), SPEED)
    np.testing.assert_allclose(np.abs(constants(rules)), wall, atol=1e-6)
    assert all(dict(rule.sets)["v"] == number(0.0) for rule in rules)


def test_a_bounce_turns_the_speed_around(rng: np.random.Generator):
    floor, back = -rng.uniform(0.05, 0.1), rng.uniform(0.4, 0.9)

    def step(x, u):
        y, v = pushed(x, u)
        return (floor, -back * v) if y < floor else (y, v)

    _, rules = found_in(speed_world(step, rng), SPEED)
    assert constants(rules) == pytest.approx(sorted([-back, floor]), abs=1e-6)


def test_a_range_that_begins_again(rng: np.random.Generator):
    length = rng.uniform(1.2, 2.0)
    _, rules = found_in(place_world(lambda x, u: (x + 0.2 * u) % length, rng), PLACE)
    shifts = [abs(e.free_values[0]) for rule in rules for _, e in rule.sets]
    np.testing.assert_allclose(shifts, length, atol=1e-6)


def test_a_wall_that_is_not_crossed(rng: np.random.Generator):
    wall = rng.uniform(0.45, 0.6)

    def step(x, u):
        y = x + 0.2 * u
        return x if (x[0] - wall) * (y[0] - wall) < 0 else y

    rows, rules = found_in(place_world(step, rng), PLACE)
    after, ruled = predicted(rows, PLACE, rules)
    assert ruled.any()
    np.testing.assert_allclose(after[ruled], rows.before[ruled], atol=1e-9)


def test_no_rule_is_made_up_where_motion_explains_everything(rng: np.random.Generator):
    rows = rows_from(place_world(lambda x, u: x + 0.2 * u, rng))
    assert find_rules(rows, PLACE, ["x"], usual(rows)) == ()


def test_known_rules_stay_even_where_one_step_does_not_show_them(rng: np.random.Generator):
    rows = rows_from(place_world(lambda x, u: np.clip(x + 0.2 * u, -0.5, 0.5), rng))
    known = Rule((), (("x", X),), "step")
    rules = find_rules(rows, PLACE, ["x"], usual(rows), (known,))
    assert rules[0] == known
    assert explained(rows, PLACE, rules) >= 0.995


def test_rules_act_one_after_the_other_and_set_at_once(rng: np.random.Generator):
    rows = rows_from(speed_world(lambda x, u: np.array(pushed(x, u)), rng))
    now = rows.before.copy()
    swap = Rule((call("gt", X, 0.0),), (("x", V), ("v", X)))
    after, ruled = apply([swap], rows, now, rows.before)
    np.testing.assert_array_equal(ruled, now[:, 0] > 0)
    np.testing.assert_array_equal(after[ruled], now[ruled][:, ::-1])
    np.testing.assert_array_equal(after[~ruled], now[~ruled])
    twice, _ = apply([Rule((), (("x", X + 1.0),)), Rule((), (("v", X), ("x", before("x"))))], rows, now, rows.before)
    np.testing.assert_allclose(twice, np.column_stack([now[:, 0], now[:, 0] + 1.0]))


def test_numbers_of_a_rule_are_read_and_replaced():
    rule = Rule((call("gt", X, number(0.5, free=True)),), (("v", number(-0.3, free=True) * V),))
    assert rule.free_values == (0.5, -0.3)
    assert rule.with_free([1.0, 2.0]).free_values == (1.0, 2.0)
    assert rule.bits > Rule((), (("v", V),)).bits


def test_residuals_cost_bits(rng: np.random.Generator):
    rows = rows_from(place_world(lambda x, u: x + 0.2 * u, rng))
    exact, _ = predicted(rows, PLACE, ())
    assert residual_bits(rows, ["x"], exact) < residual_bits(rows, ["x"], exact + 1e-3)
