"""A tank that runs empty takes a drive away: terms are switched where a law misses rows."""

import numpy as np
from draws import SEED
from known_worlds import small

from visualpatchworld.grammar.expr import call, var
from visualpatchworld.search.gates import gated
from visualpatchworld.search.motion import Motion, Rate
from visualpatchworld.search.rows import find_fields, rows_of, usual
from visualpatchworld.search.rules import find_rules, predicted, unexplained

V, U, TANK = var("v"), var("action_0"), var("tank")


def test_an_empty_tank_switches_the_drive_off():
    rng = np.random.default_rng(SEED)

    def step(x, u):
        burned = u[0] if x[1] > 0 else 0.0
        return x[0] - 0.02 * x[0] + 0.3 * burned, max(x[1] - 0.03 * abs(burned), 0.0)

    world = small(step, lambda rng: (rng.uniform(-1, 1), rng.uniform(0.6, 0.9)), ("v", "tank"), rng, episodes=12)
    rows = rows_of(world.trajectories, find_fields(world.trajectories, world.names), world.space)
    motion = Motion({"v": Rate((V, U), (-0.02, 0.3)), "tank": Rate((call("abs", U),), (-0.03,))})
    targets = ["v", "tank"]
    motion = gated(rows, motion, targets, usual(rows))
    rules = find_rules(rows, motion, targets, usual(rows))
    off = unexplained(rows, targets, predicted(rows, motion, rules)[0], usual(rows)).any(axis=1)
    assert any(term.op == "where" and "tank" in term.variables for term in motion.rates["v"].terms)
    assert off.mean() < 0.01
