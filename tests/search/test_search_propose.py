"""Shapes with an inner number are proposed where the rest of a rate is known."""

from collections.abc import Callable

import numpy as np
import pytest
from draws import SEED
from known_worlds import small

from visualpatchworld.grammar.expr import Expr, call, number, var
from visualpatchworld.search.library import atoms_of
from visualpatchworld.search.propose import between, polished, proposals
from visualpatchworld.search.rows import find_fields, rows_of

X, U = var("x"), var("action_0")
TRUE: dict[str, tuple[Callable, Callable[[float], Expr]]] = {
    "wave": (lambda x, u, p: u + np.sin(4 * p * x), lambda p: call("sin", number(4 * p, free=True) * X)),
    "dead zone": (
        lambda x, u, p: np.where(np.abs(u) < p / 2, 0.0, u) - 0.3 * x,
        lambda p: call("where", call("lt", call("abs", U), number(p / 2, free=True)), 0.0, U),
    ),
    "region": (
        lambda x, u, p: u + np.where(x > p / 2, -0.8, 0.0),
        lambda p: call("where", call("gt", X, number(p / 2, free=True)), 1.0, 0.0),
    ),
}


@pytest.mark.parametrize("kind", TRUE)
def test_the_true_shape_is_among_the_proposals(kind: str):
    rng = np.random.default_rng(SEED)
    p = rng.uniform(0.7, 1.2)
    rate, shape = TRUE[kind]
    world = small(lambda x, u: x + 0.1 * rate(x, u, p), lambda rng: rng.uniform(-1, 1, 1), ("x",), rng, episodes=10)
    rows = rows_of(world.trajectories, find_fields(world.trajectories, world.names), world.space)
    found = proposals(rows, atoms_of(rows), [(X,), (X, U)], "x", np.ones(len(rows), bool), 0.0)
    wanted = shape(p)
    blank = {term.with_free([0.0] * len(term.free_values)): term for term in found}
    assert wanted.with_free([0.0]) in blank
    assert blank[wanted.with_free([0.0])].free_values[0] == pytest.approx(wanted.free_values[0], rel=0.05)


def test_polishing_comes_closer():
    rng = np.random.default_rng(SEED)
    true = rng.uniform(2.0, 4.0)
    world = small(
        lambda x, u: x + 0.1 * (u + np.sin(true * x)), lambda rng: rng.uniform(-1, 1, 1), ("x",), rng, episodes=4
    )
    rows = rows_of(world.trajectories, find_fields(world.trajectories, world.names), world.space)
    start = call("sin", number(true * 1.05, free=True) * X)
    basis = between([U], rows, 0.0)
    _, found = polished(start, rows, rows.change[:, 0], basis, 0.0)
    assert abs(found.free_values[0] - true) < 0.01 * true


def test_between_mixes_both_ends_of_a_step():
    rng = np.random.default_rng(SEED)
    world = small(lambda x, u: x + u, lambda rng: (0.0,), ("x",), rng, episodes=1, steps=9)
    rows = rows_of(world.trajectories, find_fields(world.trajectories, world.names), world.space)
    np.testing.assert_allclose(between([X], rows, 0.25), 0.75 * rows.before + 0.25 * rows.after)
