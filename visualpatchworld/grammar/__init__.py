"""Expressions, how they are written, and which of them a search tries.

The package is also a value, the default grammar: `vpw.induce(env, grammar=vpw.grammar + ["x * abs(v)"])`.
"""

import sys
from collections.abc import Iterable
from types import ModuleType

from visualpatchworld.grammar.expr import Expr, call, number, var
from visualpatchworld.grammar.productions import Grammar, Production

__all__ = ["Expr", "Grammar", "call", "number", "var"]


class _Default(ModuleType):
    """The package as the default grammar, to which productions can be added."""

    def __add__(self, more: Iterable[Production]) -> Grammar:
        return Grammar() + more


sys.modules[__name__].__class__ = _Default
