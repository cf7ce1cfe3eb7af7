"""Expressions are written as people write them, in three notations from one layout."""

import xml.etree.ElementTree as ElementTree
from html import unescape

import pytest

from visualpatchworld.grammar.expr import Expr, call, number, var
from visualpatchworld.grammar.notation import LATEX, MATHML, PLAIN, written

x, y, k = var("x"), var("y"), var("GAIN")


@pytest.mark.parametrize(
    ("expr", "plain"),
    [
        (k * x, "GAIN x"),
        (-(k * x) + y, "-GAIN x + y"),
        (x - (y - 2.0), "x - y + 2"),
        (x * number(-2.0) + y, "-2 x + y"),
        (number(-0.5) * x, "-0.5 x"),
        (k * (x - y), "GAIN (x - y)"),
        (x / (k + x), "x / (GAIN + x)"),
        (x * y / (k * x), "x y / (GAIN x)"),
        (number(1.0) / x, "1 / x"),
        ((x + y) ** 2, "(x + y)^2"),
        ((-x) ** 2, "(-x)^2"),
        (call("sin", x) ** 2, "sin(x)^2"),
        (x ** number(-0.5), "x^(-0.5)"),
        (call("abs", x) * call("sign", x), "|x| sign(x)"),
        (call("sqrt", x + y), "sqrt(x + y)"),
        (k * call("where", call("gt", x, y), 1.0, 0.0), "GAIN [x > y]"),
        (call("where", call("lt", x, 0.0), y, k), "(y if x < 0 else GAIN)"),
        (call("and", call("gt", x, 1.0), call("lt", x, 2.0)), "x > 1 and x < 2"),
        (call("max", call("min", x, k), -k), "max(min(x, GAIN), -GAIN)"),
        (var("x@0") + var("y@1"), "x_before + y_next"),
        (var("y'") * x, "y' x"),
        (Expr("item", (Expr("call", (x,), "solve"),), "0"), "solve(x)[0]"),
        (number(2.5e-7), "2.5e-07"),
    ],
)
def test_plain_text(expr: Expr, plain: str):
    assert written(expr, PLAIN) == plain


def test_latex():
    assert written(k * x / (y + 1.0), LATEX) == r"\frac{\mathrm{GAIN} \, x}{y + 1}"
    assert written(call("sin", var("theta_speed")), LATEX) == r"\sin\left(\theta_{\mathrm{speed}}\right)"
    assert written(var("x0") ** 2, LATEX) == r"{x_{\mathrm{0}}}^{2}"
    assert written(number(2.5e-7), LATEX) == r"2.5 \times 10^{-7}"
    assert LATEX.rate("v").endswith("v") and r"\frac" in LATEX.rate("v")


@pytest.mark.parametrize(
    "expr",
    [
        -(k * x) + y / (k + x) ** 2,
        call("where", call("lt", x, 0.0), call("sqrt", y), call("abs", k)),
        call("or", call("gt", x, y), call("eq", x, 1.0)),
        Expr("item", (Expr("call", (Expr("tuple", (x, y)),), "solve"),), "1"),
        var("angle_speed@0") * number(1e-9),
    ],
)
def test_mathml_is_well_formed(expr: Expr):
    text = unescape(f"<math>{written(expr, MATHML)}</math>".replace("&lt;", "(less)").replace("&gt;", "(more)"))
    assert ElementTree.fromstring(text).tag == "math"


def test_names_cannot_bring_markup_in():
    assert "<b>" not in written(var("<b>x"), MATHML)
    assert "\\input" not in written(var("\\input{x}"), LATEX)
