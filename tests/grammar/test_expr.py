"""Expressions compute, print and count as their trees say."""

import ast
from fractions import Fraction
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from draws import SEED

from visualpatchworld.grammar.expr import (
    FIXED_BITS,
    NUMBER_BITS,
    OPERATION_BITS,
    OPERATIONS,
    VARIABLE_BITS,
    Expr,
    as_expr,
    call,
    columns,
    is_number,
    number,
    product,
    total,
    var,
)

X, Y, Z = var("x"), var("y"), var("z")
ARITY = {name: op.text.count("{") for name, op in OPERATIONS.items()}
# Operations that rational numbers can do without rounding.
EXACT = ["add", "sub", "mul", "div", "neg", "pow", "mod", "lt", "gt", "eq", "ne", "abs", "sign", "min", "max", "where"]
EXACT_NUMPY = SimpleNamespace(
    abs=abs,
    sign=lambda a: (a > 0) - (a < 0),
    minimum=min,
    maximum=max,
    where=lambda c, a, b: a if c else b,
)


def drawn(rng: np.random.Generator, depth: int) -> Expr:
    """A random tree of exact operations; exponents are small whole numbers."""
    if depth == 0 or rng.random() < 0.15:
        return var(str(rng.choice(["x", "y", "z"]))) if rng.random() < 0.6 else small_number(rng)
    op = str(rng.choice(EXACT))
    if op == "pow":
        exponent = small_number(rng)
        return Expr("pow", (drawn(rng, depth - 1), exponent if rng.random() < 0.5 else Expr("neg", (exponent,))))
    return Expr(op, tuple(drawn(rng, depth - 1) for _ in range(ARITY[op])))


def small_number(rng: np.random.Generator) -> Expr:
    # Whole numbers stay whole in Python, so that rational numbers stay exact.
    return Expr("number", value=int(rng.choice([-3, -2, -1, 1, 2, 3])), free=bool(rng.random() < 0.3))


def test_text_has_the_parentheses_that_the_tree_needs():
    rng = np.random.default_rng(SEED)
    compared = 0
    for _ in range(1500):
        tree = drawn(rng, 4)
        values = {name: Fraction(int(rng.integers(1, 9)), int(rng.integers(1, 9))) for name in "xyz"}
        try:
            meant = tree.evaluate(values, EXACT_NUMPY)
        except (ZeroDivisionError, OverflowError):
            continue
        if isinstance(meant, float):
            continue  # a power of a comparison
        text = tree.text(lambda node: node.name if node.op == "var" else str(node.value))
        ast.parse(text, mode="eval")
        try:
            said = eval(text, {"np": EXACT_NUMPY, **values})
        except ZeroDivisionError:
            said = None
        assert said == meant, (text, tree)
        compared += 1
    assert compared > 500


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (X - (Y - Z), "x - (y - z)"),
        (X - Y - Z, "x - y - z"),
        (X / (Y * Z), "x / (y * z)"),
        ((X + Y) * Z, "(x + y) * z"),
        (X * call("mod", Y, Z), "x * (y % z)"),
        (X * (call("mod", Y, Z) / 3.0), "x * (y % z) / 3"),
        (-(X + Y), "-(x + y)"),
        ((-X) ** 2, "(-x) ** 2"),
        (number(-2.0) ** 2, "(-2) ** 2"),
        (X**2, "x ** 2"),
        (X * -2.0, "x * (-2)"),
        (call("eq", call("lt", X, Y), 1.0), "(x < y) == 1"),
        (call("sqrt", X), "np.sqrt(np.maximum(x, 0.0))"),
    ],
)
def test_texts(expr: Expr, text: str):
    assert str(expr) == text


@pytest.mark.parametrize("op", sorted(OPERATIONS))
def test_numpy_and_jax_agree(op: str):
    rng = np.random.default_rng(SEED)
    args = [var(name) for name in "xyz"[: ARITY[op]]]
    if op == "where":
        args[0] = call("gt", X, 1.0)
    if op in ("and", "or"):
        args = [call("gt", X, 1.0), call("lt", Y, 1.2)]
    expr = Expr(op, tuple(args))
    values = {name: rng.uniform(0.5, 2.0, 40) for name in "xyz"}
    with jax.enable_x64(True):
        other = np.asarray(expr.evaluate({name: jnp.asarray(v) for name, v in values.items()}, jnp))
    ours = expr.evaluate(values)
    assert ours.shape == (40,)
    assert len(np.unique(ours)) > 1 or op in ("sign", "grip", "eq", "ne")
    np.testing.assert_allclose(np.asarray(other, float), np.asarray(ours, float), rtol=1e-12)
    written = eval(expr.text(), {"np": np, **values})
    np.testing.assert_allclose(np.asarray(written, float), np.asarray(ours, float), rtol=1e-12)


def test_columns_compute_all_expressions_and_keep_what_is_not_finite():
    values = {"x": np.array([0.0, 1.0, 4.0])}
    found = columns([number(1.0), X, number(1.0) / X, call("sin", X) * call("sin", X)], values, 3)
    assert found.shape == (3, 4)
    np.testing.assert_allclose(found[:, 0], 1.0)
    assert np.isinf(found[0, 2])
    np.testing.assert_allclose(found[:, 3], np.sin(values["x"]) ** 2)


def test_common_parts_are_computed_once():
    shared, calls = call("sin", X), []
    counting = SimpleNamespace(sin=lambda a: calls.append(1) or np.sin(a))
    known: dict = {}
    (shared + shared).evaluate({"x": np.ones(2)}, counting, known)
    (shared * 2.0).evaluate({"x": np.ones(2)}, counting, known)
    assert len(calls) == 1


def test_bits_count_every_node_and_free_numbers_cost_more():
    assert X.bits == VARIABLE_BITS
    assert (X + Y).bits == 2 * VARIABLE_BITS + OPERATION_BITS
    assert (X**2).bits == VARIABLE_BITS + OPERATION_BITS + FIXED_BITS
    assert (number(2.0, free=True) * X).bits - (number(2.0) * X).bits == NUMBER_BITS - FIXED_BITS


def test_free_numbers_are_read_and_replaced_from_left_to_right():
    expr = call("where", call("gt", X, number(0.5, free=True)), number(2.0), number(3.0, free=True) * Y)
    assert expr.free_values == (0.5, 3.0)
    other = expr.with_free([-1.0, 7.0])
    assert other.free_values == (-1.0, 7.0)
    assert expr.free_values == (0.5, 3.0)
    assert other.with_free(expr.free_values) == expr
    assert str(other) == "np.where(x > -1, 2, 7 * y)"


def test_substitution_replaces_whole_nodes_everywhere():
    expr = call("sin", X) * X + call("sin", X)
    found = expr.substituted({call("sin", X): Y, X: Z})
    assert found == Y * Z + Y
    assert found.variables == {"y", "z"}
    assert expr.substituted({}) == expr


def test_sums_and_products_leave_out_what_is_needless():
    assert product(number(1.0), X, number(1.0), Y) == X * Y
    assert product() == number(1.0)
    assert total([]) == number(0.0)
    assert total([X, Y, Z]) == X + Y + Z
    assert is_number(number(2.0), 2.0)
    assert not is_number(number(2.0, free=True), 2.0)
    assert as_expr(3) == number(3.0)


def test_an_unknown_operation_is_refused_with_the_list():
    with pytest.raises(ValueError, match=r"No operation 'sine'; there are add, "):
        call("sine", X)


def test_latex_writes_fractions_and_powers():
    assert (X / (Y + Z)).latex() in (r"\frac{x}{y + z}", r"\frac{x}{(y + z)}")
    assert (X**2).latex() == "{x}^{2}"
