"""The library holds each term once, the simplest first, and tables of choices stay together."""

import numpy as np
from draws import SEED
from known_worlds import PUSH

from visualpatchworld.grammar.expr import call, columns, number, var
from visualpatchworld.search.library import (
    atoms_of,
    factors_of,
    groups_of,
    level_shapes,
    ratio_shapes,
    shaped,
    shapes_of,
    symmetric_shapes,
    terms_of,
)
from visualpatchworld.search.rows import Field, Rows, rows_of
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace


def rows_with(fields: list[Field], space: ActionSpace = PUSH) -> Rows:
    rng = np.random.default_rng(SEED)
    seen = rng.uniform(0.1, 2.0, (41, 1 + max(c for f in fields for c in f.columns)))
    actions = np.array([space.sample(rng) for _ in range(40)])
    return rows_of([Trajectory(seen, actions)], fields, space)


PLANE = [Field("x", (0,)), Field("v", (1,)), Field("a", (2, 3), "angle")]


def test_terms_are_unique_and_the_simplest_come_first():
    terms = terms_of(atoms_of(rows_with(PLANE)))
    assert len(terms) == len(set(terms))
    assert terms[0] == number(1.0)
    assert set(terms[1:4]) == {var("x"), var("v"), var("action_0")}
    for wanted in (call("sin", var("a")), var("x") ** 2, call("grip", var("v")), var("x") * call("sin", var("a"))):
        assert wanted in terms


def test_an_angle_comes_in_by_its_sine_and_cosine_only():
    atoms = atoms_of(rows_with(PLANE))
    assert atoms.trig == (call("sin", var("a")), call("cos", var("a")))
    assert var("a") not in terms_of(atoms)


def test_fields_can_be_left_out():
    assert all("x" not in term.variables for term in terms_of(atoms_of(rows_with(PLANE), skip=("x",))))


def test_indicators_of_one_action_are_one_table():
    rows = rows_with([Field("x", (0,))], ActionSpace("discrete", counts=(3,)))
    terms = terms_of(atoms_of(rows))
    one, two = var("action_0_is_1"), var("action_0_is_2")
    assert var("action_0_is_0") not in terms  # the constant says it already
    assert one * two not in terms
    groups = {frozenset(str(terms[p]) for p in places) for places in groups_of(terms)}
    assert frozenset({"action_0_is_1", "action_0_is_2"}) in groups
    assert frozenset({"x * action_0_is_1", "x * action_0_is_2"}) in groups
    assert sorted(p for places in groups_of(terms) for p in places) == list(range(len(terms)))


def test_shapes_have_one_kind_of_free_number_and_are_finite():
    rows = rows_with(PLANE)
    atoms = atoms_of(rows)
    shapes = shapes_of(rows, atoms, levels=6)
    assert all(len(set(shape.free_values)) == 1 for shape in shapes)
    assert np.isfinite(columns(shapes, rows.values(), len(rows))).all()
    assert len(shaped(shapes[:3], factors_of(atoms))) == 3 * len(factors_of(atoms))


def test_shapes_turn_at_their_number():
    x = {"x": np.array([-2.0, -0.5, 0.5, 2.0])}
    above, ramp = (shape.evaluate(x) for shape in level_shapes(var("x"), 1.0))
    assert above.tolist() == [0, 0, 0, 1]
    assert ramp.tolist() == [0, 0, 0, 1]
    clipped, shifted, dead = (shape.evaluate(x) for shape in symmetric_shapes(var("x"), 1.0))
    assert clipped.tolist() == [-1.0, -0.5, 0.5, 1.0]
    assert shifted.tolist() == [-1.0, 0.0, 0.0, 1.0]
    assert dead.tolist() == [-2.0, 0.0, 0.0, 2.0]
    assert ratio_shapes(var("x"), 2.0)[1].evaluate({"x": np.array([2.0])}).tolist() == [0.5]
