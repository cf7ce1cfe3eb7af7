"""What two bodies do when they touch is found as a rule along the line of their centres."""

from dataclasses import replace

import numpy as np
from draws import SEED
from known_worlds import PUSH, small

from visualpatchworld.grammar.expr import var
from visualpatchworld.search.motion import Motion, Rate, Scheme
from visualpatchworld.search.rows import find_fields, rows_of, usual
from visualpatchworld.search.rules import find_rules, predicted, unexplained

PLANE = replace(PUSH, low=(-1.0, -1.0), high=(1.0, 1.0))


def test_a_disc_is_shoved_out_of_the_way():
    rng, reach = np.random.default_rng(SEED), 0.4

    def step(x, u):
        a = x[:2] + 0.2 * u
        gap = x[2:] - a
        far = np.hypot(*gap)
        return (*a, *(a + reach / far * gap if 0 < far < reach else x[2:]))

    world = small(step, lambda rng: rng.uniform(-0.5, 0.5, 4), ("x", "y", "p", "q"), rng, episodes=12, space=PLANE)
    rows = rows_of(world.trajectories, find_fields(world.trajectories, world.names), world.space)
    still = Rate((), ())
    motion = Motion(
        {"x": Rate((var("action_0"),), (0.2,)), "y": Rate((var("action_1"),), (0.2,)), "p": still, "q": still}
    )
    rules = find_rules(rows, motion, list(motion.rates), usual(rows))
    off = unexplained(rows, list(motion.rates), predicted(rows, motion, rules)[0], usual(rows)).any(axis=1)
    assert off.mean() < 0.01
    assert any({name for name, _ in rule.sets} == {"p", "q"} for rule in rules)


def test_two_masses_on_a_line_exchange_speed():
    rng, give = np.random.default_rng(SEED), 0.7

    def step(x, u):
        v, w = x[1] + 0.1 * u[0], 0.99 * x[3]
        a, b = x[0] + 0.1 * v, x[2] + 0.1 * w
        if b - a < 0.2 and v > w:
            kick = (1 + give) * (v - w) / 2
            v, w = v - kick, w + kick
        return a, v, b, w

    def start(rng):
        return rng.uniform(-0.5, 0.0), rng.uniform(0.5, 1.0), rng.uniform(0.5, 1.0), 0.1

    world = small(step, start, ("a", "v", "b", "w"), rng, episodes=14)
    rows = rows_of(world.trajectories, find_fields(world.trajectories, world.names), world.space)
    rates = {
        "a": Rate((var("v"),), (0.1,)),
        "v": Rate((var("action_0"),), (0.1,)),
        "b": Rate((var("w"),), (0.1,)),
        "w": Rate((var("w"),), (-0.01,)),
    }
    motion = Motion(rates, Scheme("semi-implicit", 1, frozenset({"v", "w"})))
    rules = find_rules(rows, motion, list(rates), usual(rows))
    off = unexplained(rows, list(rates), predicted(rows, motion, rules)[0], usual(rows)).any(axis=1)
    assert off.mean() < 0.01
    assert any({name for name, _ in rule.sets} == {"v", "w"} for rule in rules)
