"""Guards hold rows together, and one side of a threshold shows its own law."""

import numpy as np
import pytest
from draws import SEED
from known_worlds import small

from visualpatchworld.grammar.expr import call, var
from visualpatchworld.search.guards import guards_of, pool_of, stumps
from visualpatchworld.search.library import atoms_of, terms_of
from visualpatchworld.search.rows import Rows, find_fields, rows_of
from visualpatchworld.search.split import one_side


@pytest.fixture
def halves() -> tuple[Rows, float]:
    """A field x that is pushed while z is below a border and follows a wild law beyond it, and the border."""
    rng = np.random.default_rng(SEED)
    border = float(rng.uniform(0.55, 0.65))

    def step(x, u):
        wild = np.sin(40.0 * x[1]) * np.exp(np.cos(23.0 * x[0]))
        return [(x[0] + 0.381966) % 1.0, x[1] + 0.1 * u[0] if x[0] < border else wild]

    world = small(step, lambda r: r.uniform(0.0, 1.0, 2), ["z", "x"], rng, episodes=12)
    return rows_of(world.trajectories, find_fields(world.trajectories, world.names), world.space), border


def test_a_stump_cuts_where_rows_change(halves):
    rows, border = halves
    value = rows.before[:, 0]
    bad = value > border
    _, guard, inside = max(stumps(var("z@0"), value, bad, np.ones(len(bad), bool), 3.0), key=lambda item: item[0])
    assert guard.op == "gt" and np.array_equal(inside, bad)
    below, above = value[~bad].max(), value[bad].min()
    assert below <= guard.free_values[0] <= above


def test_guards_name_the_expression_that_separates_rows(halves):
    rows, border = halves
    bad = rows.before[:, 0] > border
    guards, inside = guards_of(pool_of(rows, ["z", "x"], rows.after), bad)[0]
    assert np.array_equal(inside, bad) and guards[0].args[0] in (var("z@0"), call("abs", var("z@0")))


def test_rows_of_one_side_are_told_from_the_others(halves):
    rows, border = halves
    met = one_side(rows, terms_of(atoms_of(rows)), "x", np.ones(len(rows), bool))
    low = rows.before[:, 0] < border
    assert met is not None and met[low].mean() > 0.95 and met[~low].mean() < 0.05


def test_one_law_for_all_rows_is_not_split():
    rng = np.random.default_rng(SEED)
    world = small(lambda x, u: [0.9 * x[0] + 0.1 * u[0]], lambda r: [r.uniform(-1, 1)], ["x"], rng)
    rows = rows_of(world.trajectories, find_fields(world.trajectories, world.names), world.space)
    assert one_side(rows, terms_of(atoms_of(rows)), "x", np.ones(len(rows), bool)) is None
