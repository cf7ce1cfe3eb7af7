"""Rewards and ends are found as code from steps with random constants, and what has no rule is said to have none."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from draws import SEED

from visualpatchworld.induction.clock import Clock
from visualpatchworld.induction.ends import find_ends
from visualpatchworld.induction.reading import Coordinate, Reading
from visualpatchworld.induction.regress import shortest_between
from visualpatchworld.induction.reward import find_reward, holds
from visualpatchworld.induction.transitions import Transitions, bell, dome, wrap
from visualpatchworld.world.world import ActionSpace

READING = Reading(
    fields=(),
    coordinates=(Coordinate("x", (0,), velocity="v", velocity_column=2), Coordinate("angle", (1,), True, "spin", 3)),
)
SPACE = ActionSpace("continuous", (-1.0,), (1.0,))


def made_steps(rng: np.random.Generator, reward=None, ended=None, count: int = 800) -> Transitions:
    before, after = rng.normal(0, 1.5, (2, count, 4))
    actions = rng.uniform(-1, 1, (count, 1))
    x, angle, v, spin = after.T
    paid = np.zeros(count) if reward is None else reward(x, angle, v, spin, actions[:, 0])
    return Transitions(
        READING.state_names, before, actions, after, paid, np.zeros(count, bool) if ended is None else ended(x, angle)
    )


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(SEED)


def test_a_sum_of_squares_is_found(rng):
    a, b, c = rng.uniform(0.01, 3, 3)
    found = find_reward(READING, SPACE, made_steps(rng, lambda x, t, v, s, u: -a * wrap(t) ** 2 - b * s**2 - c * u**2))
    assert found.exact
    assert found.expression.count("**") == 3


def test_terms_that_only_fit_what_no_term_gives_are_left_out(rng):
    a, b = rng.uniform(1, 3, 2)
    steps = made_steps(rng, lambda x, t, v, s, u: -a * x**2 - b * u**2 + 5e-4 * np.sin(3 * x + 5 * v) * s)
    found = find_reward(READING, SPACE, steps)
    assert not found.exact and found.left < 1e-3
    assert len(re.findall(r" [+-] ", found.expression)) <= 3


def test_a_product_of_factors_is_found(rng):
    wide, share = rng.uniform(1, 3), rng.uniform(0.3, 0.7)
    steps = made_steps(
        rng,
        lambda x, t, v, s, u: (1 + np.cos(t)) / 2 * (share + (1 - share) * bell(x, wide)) * (0.8 + 0.2 * dome(u, 1.0)),
    )
    found = find_reward(READING, SPACE, steps)
    assert found.kind == "product"
    assert found.left < 1e-4


def test_a_bonus_for_the_end_is_found(rng):
    bonus, edge = rng.uniform(1, 100), rng.uniform(1, 2)
    steps = made_steps(rng, lambda x, t, v, s, u: bonus * (np.abs(x) > edge) - u**2, lambda x, t: np.abs(x) > edge)
    found = find_reward(READING, SPACE, steps)
    assert found.exact
    assert "terminated(next_state)" in found.expression


def test_a_distance_from_a_place_that_nobody_named_is_found(rng):
    at, goal, price = rng.uniform(-1, 1), rng.uniform(-1, 1), rng.uniform(0.05, 0.5)
    found = find_reward(
        READING, SPACE, made_steps(rng, lambda x, t, v, s, u: -np.hypot(x - at, v - goal) - price * u**2)
    )
    assert found.exact and found.expression.count("np.hypot(") == 1, f"seed {SEED}: {found}"
    found = find_reward(
        READING, SPACE, made_steps(rng, lambda x, t, v, s, u: -np.abs(x - at) - price * np.abs(v - goal))
    )
    assert found.exact and found.expression.count("np.abs(") == 2, f"seed {SEED}: {found}"


def test_an_end_may_pay_instead_of_a_distance(rng):
    edge, bonus = rng.uniform(1, 2), rng.uniform(5, 50)
    steps = made_steps(rng, lambda x, t, v, s, u: np.where(x > edge, bonus, -np.abs(v - 0.4)), lambda x, t: x > edge)
    found = find_reward(READING, SPACE, steps)
    assert found.exact and "terminated(next_state)" in found.expression, f"seed {SEED}: {found}"
    assert holds(found, steps), f"seed {SEED}: {found}"


def test_noise_is_not_called_exact(rng):
    noise = rng.normal(size=800)
    found = find_reward(READING, SPACE, made_steps(rng, lambda *_: noise))
    assert not found.exact
    assert found.left > 0.5


def test_thresholds_are_bracketed(rng):
    edge, tilt = rng.uniform(1, 2), rng.uniform(1, 2)
    ends = find_ends(READING, made_steps(rng, ended=lambda x, t: (np.abs(x) > edge) | (wrap(t) > tilt), count=3000))
    assert ends.unexplained == 0
    values = [
        tuple(map(abs, rule.bracket)) if rule.above else tuple(abs(edge) for edge in rule.bracket[::-1])
        for rule in ends.thresholds
    ]
    assert any(low <= edge <= high for low, high in values)
    assert any(low <= tilt <= high for low, high in values)


def test_ends_without_a_rule_are_reported(rng):
    chance = rng.uniform(size=800) < 0.3
    assert find_ends(READING, made_steps(rng, ended=lambda x, t: chance)).unexplained > 0


@pytest.mark.parametrize(("low", "high"), [(0.2093, 0.2096), (-2.41, -2.39), (1e-5, 2e-3), (0.49, 0.51), (-0.01, 0.02)])
def test_the_shortest_number_lies_in_its_bracket(low, high):
    assert low < shortest_between(low, high) < high


def test_an_angle_of_the_law_counts_in_the_reward_though_it_never_wraps(rng):
    gain, price = rng.uniform(0.5, 2, 2)
    reading = replace(READING, coordinates=(*READING.coordinates[:1], replace(READING.coordinates[1], angle=False)))
    steps = made_steps(rng, lambda x, t, v, s, u: gain * v * np.cos(t) - price * np.abs(x))
    assert not find_reward(reading, SPACE, steps, Clock.of(0.0)).exact
    found = find_reward(replace(reading, turning=("angle",)), SPACE, steps)
    assert found.exact and found.expression.count("next_state") == 3, f"seed {SEED}: {found}"


def test_a_distance_from_a_place_stands_beside_a_product(rng):
    at, price = rng.uniform(-1, 1), rng.uniform(0.2, 0.5)
    found = find_reward(READING, SPACE, made_steps(rng, lambda x, t, v, s, u: u * v - price * np.abs(x - at)))
    assert found.exact and "action[0] * next_state.v" in found.expression, f"seed {SEED}: {found}"


def test_a_distance_may_count_up_to_a_bound(rng):
    at, goal, most = rng.uniform(-1, 1), rng.uniform(-1, 1), rng.uniform(0.6, 1.2)
    steps = made_steps(rng, lambda x, t, v, s, u: -np.minimum(np.abs(x - at), most) - 2 * np.abs(v - goal) - 0.1 * u**2)
    found = find_reward(READING, SPACE, steps)
    assert found.exact and found.expression.count("np.minimum(") == 1, f"seed {SEED}: {found}"


def test_a_reward_may_be_clipped(rng):
    most = rng.uniform(2, 3)
    steps = made_steps(rng, lambda x, t, v, s, u: np.minimum(x**2 + u, most))
    found = find_reward(READING, SPACE, steps)
    assert found.exact and found.expression.startswith("np.minimum("), f"seed {SEED}: {found}"
    assert holds(found, steps)


def test_an_end_may_pay_by_a_rule_of_its_own(rng):
    edge, soft, price = rng.uniform(1, 2), rng.uniform(0.5, 1), rng.uniform(0.1, 0.5)
    steps = made_steps(
        rng,
        lambda x, t, v, s, u: np.where(x > edge, np.where(np.abs(v) < soft, 100.0, -100.0), -price * u),
        lambda x, t: x > edge,
    )
    found = find_reward(READING, SPACE, steps)
    assert holds(found, steps) and "np.abs(next_state.v)" in found.expression, f"seed {SEED}: {found}"
    steps = made_steps(
        rng,
        lambda x, t, v, s, u: np.where(x > edge, -5 * np.hypot(x, v - soft), -price * np.abs(v + soft)),
        lambda x, t: x > edge,
        count=3000,
    )
    found = find_reward(READING, SPACE, steps)
    assert found.exact and holds(found, steps) and "terminated(" in found.expression, f"seed {SEED}: {found}"


def test_how_far_two_things_are_from_each_other_pays_and_ends(rng):
    caught, price = rng.uniform(0.3, 0.6), rng.uniform(0.1, 0.5)
    names = ("x", "y", "hunter_x", "hunter_y")
    reading = Reading(fields=(), coordinates=tuple(Coordinate(name, (k,)) for k, name in enumerate(names)))
    steps = made_steps(rng)
    apart = np.hypot(steps.after[:, 0] - steps.after[:, 2], steps.after[:, 1] - steps.after[:, 3])
    steps = replace(steps, names=names, rewards=apart - price * steps.actions[:, 0] ** 2, ended=apart < caught)
    found = find_reward(reading, SPACE, steps)
    assert found.exact and "np.hypot(" in found.expression, f"seed {SEED}: {found}"
    (rule,) = find_ends(reading, steps).thresholds
    assert rule.bracket[0] <= caught <= rule.bracket[1], f"seed {SEED}: {rule}"


def test_an_end_on_two_sides_is_told_by_plain_thresholds(rng):
    low, high, at = -rng.uniform(1, 1.3), rng.uniform(1.4, 1.8), rng.uniform(0.6, 0.9)
    steps = made_steps(rng, ended=lambda x, t: (x < low) | (x > high), count=3000)
    ends = find_ends(READING, steps, distances=[f"np.abs((state.x - {at}))"])
    assert {rule.expression for rule in ends.thresholds} == {"state.x"}, f"seed {SEED}: {ends}"
