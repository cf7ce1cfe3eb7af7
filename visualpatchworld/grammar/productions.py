"""A grammar: terms that a search may use beside its own, and how many terms the rate of one field may have."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, Protocol

from visualpatchworld.errors import VpwError
from visualpatchworld.grammar.expr import OPERATIONS, Expr, as_expr, call, number, var

MOST_NODES = 200  # of one term that is given as text
BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow", ast.Mod: "mod"}
COMPARED = {ast.Lt: "lt", ast.Gt: "gt", ast.Eq: "eq", ast.NotEq: "ne"}
FREE = "free"  # marks a number in a text that a fit may move


class BadTerm(VpwError):
    """A term that cannot be read, or that names what the world does not have."""


class Atoms(Protocol):
    """What terms are made of: fields, sines and cosines of angles, inputs, and fields that do not change in an episode."""

    @property
    def plain(self) -> tuple[Expr, ...]: ...
    @property
    def trig(self) -> tuple[Expr, ...]: ...
    @property
    def inputs(self) -> tuple[Expr, ...]: ...
    @property
    def steady(self) -> tuple[Expr, ...]: ...


Production = Expr | str | Callable[[Any], Iterable[Expr]]


@dataclass(frozen=True)
class Grammar:
    """Productions beside those that a search has by itself, and a cap on the terms of one rate.

    A production is a term, as an expression or as text, or a function from the atoms of a world to terms.

    Example: `vpw.grammar + ["x * exp(-free(1.0) * y)", lambda atoms: [x / (1 + x) for x in atoms.plain]]`
    """

    productions: tuple[Production, ...] = ()
    max_terms: int | None = None

    def __post_init__(self):
        if self.max_terms is not None and (isinstance(self.max_terms, bool) or self.max_terms < 1):
            raise BadTerm(f"A rate has at least one term; the most that it may have cannot be {self.max_terms}.")
        for production in self.productions:
            if isinstance(production, str):
                parsed(production)
            elif not isinstance(production, Expr) and not callable(production):
                raise BadTerm(f"A production is a term, its text or a function of atoms, not {production!r}.")

    def __add__(self, more: Iterable[Production]) -> Grammar:
        if isinstance(more, str):
            raise BadTerm("Add a list of productions, not a text: `vpw.grammar + [...]`.")
        return replace(self, productions=(*self.productions, *more))

    @property
    def is_default(self) -> bool:
        return not self.productions and self.max_terms is None

    def terms(self, atoms: Atoms, names: Collection[str]) -> list[Expr]:
        """The terms of all productions for these atoms; `names` are the fields and inputs that there are."""
        found: list[Expr] = []
        for production in self.productions:
            if isinstance(production, (Expr, str)):
                found.append(parsed(production) if isinstance(production, str) else production)
                continue
            made = list(production(atoms))
            wrong = next((term for term in made if not isinstance(term, Expr)), None)
            if wrong is not None:
                raise BadTerm(f"A production gave {wrong!r}, which is not an expression.")
            found += made
        for term in found:
            unknown = sorted(term.variables - set(names))
            if unknown:
                raise BadTerm(f"The term '{term}' names '{unknown[0]}'; the search knows {', '.join(names)}.")
        return list(dict.fromkeys(found))


def as_grammar(given: Grammar | ModuleType | None, max_terms: int | None = None) -> Grammar:
    """The grammar that was given, the default one where it is `vpw.grammar` itself or none, with a cap on terms."""
    if given is not None and not isinstance(given, (Grammar, ModuleType)):
        raise BadTerm(f"A grammar is `vpw.grammar + [...]`, not {given!r}.")
    grammar = given if isinstance(given, Grammar) else Grammar()
    return grammar if max_terms is None else replace(grammar, max_terms=max_terms)


def parsed(text: str) -> Expr:
    """A term from text: names, numbers, arithmetic, comparisons and functions; `free(2.0)` is a number to be fitted.

    Example: `parsed("x0 * sin(free(3.0) * x1) + action[0] ** 2")`
    """
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise BadTerm(f"The term '{text}' is not an expression.") from None
    if sum(1 for _ in ast.walk(tree)) > MOST_NODES:
        raise BadTerm(f"The term '{text[:60]}' is too long.")

    def read(node: ast.expr) -> Expr:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and abs(node.value) < 1e300:
            return number(float(node.value))
        if isinstance(node, ast.Name):
            return var(node.id)
        if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
            return Expr(BINARY[type(node.op)], (read(node.left), read(node.right)))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -read(node.operand)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARED:
            return Expr(COMPARED[type(node.ops[0])], (read(node.left), read(node.comparators[0])))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return called(node.func.id, [read(argument) for argument in node.args])
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.value, ast.Name)
            and isinstance(node.slice, ast.Constant)
        ):
            return var(f"{node.value.id}_{node.slice.value}")  # `action[0]`, as programs write it
        raise BadTerm(f"The term '{text}' has a part that is not an expression: '{ast.unparse(node)}'.")

    def called(name: str, args: list[Expr]) -> Expr:
        if name == FREE and len(args) == 1 and args[0].op == "number":
            return number(args[0].value, free=True)
        arity = OPERATIONS[name].compute.__code__.co_argcount - 1 if name in OPERATIONS else -1
        if len(args) != arity:
            known = ", ".join(op for op in OPERATIONS if op not in ("grip", "add", "sub", "mul", "div", "neg"))
            raise BadTerm(f"The term '{text}' uses '{name}' with {len(args)} arguments; functions are {known}.")
        return call(name, *args)

    found = read(tree)
    # A condition as a whole is one where it holds, as it is among the search's own terms.
    return call("where", found, 1.0, 0.0) if found.op in COMPARED.values() else as_expr(found)
