"""A grammar holds terms of the user's own, as expressions, texts or functions, and refuses what it cannot use."""

# ruff: noqa: RUF005  a grammar is a value of its own, not a list
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import visualpatchworld as vpw
from visualpatchworld.grammar.expr import call, number, var
from visualpatchworld.grammar.productions import BadTerm, Grammar, as_grammar, parsed

x, y = var("x"), var("y")
ATOMS: Any = SimpleNamespace(plain=(x, y), trig=(), inputs=(var("action_0"),), steady=())
NAMES = ("x", "y", "action_0")


def test_productions_of_every_kind_give_terms():
    grammar = vpw.grammar + [x * call("exp", -y), "x * abs(y)", lambda atoms: [1 / (1 + z**2) for z in atoms.plain]]
    found = grammar.terms(ATOMS, NAMES)
    assert found[:2] == [x * call("exp", -y), x * call("abs", y)]
    assert len(found) == 4 and not grammar.is_default


def test_grammars_are_values():
    assert vpw.grammar + ["x"] == Grammar(("x",)) == Grammar() + ["x"]
    assert as_grammar(None) == as_grammar(vpw.grammar) == Grammar() and Grammar().is_default
    assert as_grammar(vpw.grammar + ["x"], 3) == Grammar(("x",), 3)
    assert not as_grammar(None, 3).is_default


@pytest.mark.parametrize(
    ("text", "expr"),
    [
        ("x ** 2 / (1 + y)", x**2 / (number(1.0) + y)),
        ("-sin(free(3.0) * x)", -call("sin", number(3.0, free=True) * x)),
        ("action[0] * y", var("action_0") * y),
        ("x > 0.5", call("where", call("gt", x, 0.5), 1.0, 0.0)),
        ("where(x < 0, y, 0)", call("where", call("lt", x, 0.0), y, 0.0)),
        ("max(x, y)", call("max", x, y)),
    ],
)
def test_texts(text: str, expr):
    assert parsed(text) == expr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x +", "not an expression"),
        ("sinus(x)", "uses 'sinus'"),
        ("sin(x, y)", "with 2 arguments"),
        ("[x]", "a part that is not an expression"),
        ("x.real", "a part that is not an expression"),
        ("__import__('os')", "a part that is not an expression"),
        ("+".join(["x"] * 300), "too long"),
        ("1e999", "a part that is not an expression"),
    ],
)
def test_texts_that_are_no_terms(text: str, said: str):
    with pytest.raises(BadTerm, match=said):
        vpw.grammar + [text]


def test_what_cannot_be_used_is_refused():
    with pytest.raises(BadTerm, match="names 'z'; the search knows x, y, action_0"):
        Grammar(("x * z",)).terms(ATOMS, NAMES)
    with pytest.raises(BadTerm, match="not an expression"):
        Grammar((lambda atoms: [np.sin],)).terms(ATOMS, NAMES)  # pyright: ignore
    with pytest.raises(BadTerm, match="not 3"):
        vpw.grammar + [3]  # pyright: ignore
    with pytest.raises(BadTerm, match="a list of productions"):
        vpw.grammar + "x"
    with pytest.raises(BadTerm, match="at least one term"):
        Grammar(max_terms=0)
    with pytest.raises(BadTerm, match="A grammar is"):
        as_grammar(["x"])  # pyright: ignore
