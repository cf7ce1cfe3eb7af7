"""Expressions: small immutable trees over fields, inputs and numbers that evaluate in batches and print themselves.

Nothing in the search reads or writes code: terms, guards, rewards and ends are trees until a program is emitted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

VARIABLE_BITS = 4.0  # about sixteen names to choose from
OPERATION_BITS = 3.0  # about eight operations are common
NUMBER_BITS = 12.0  # a free number is worth the digits that data can tell, about four
FIXED_BITS = 4.0  # a number of the grammar itself: one half, two, three


@dataclass(frozen=True)
class Operation:
    """What an operation computes, given `np` or `jax.numpy`, and how it is printed."""

    compute: Callable[..., Any]
    text: str  # with {0}, {1} ... for its arguments
    latex: str
    precedence: int = 9  # of the printed text; arguments that bind less are put into parentheses


OPERATIONS: Mapping[str, Operation] = {
    "add": Operation(lambda xp, a, b: a + b, "{0} + {1}", "{0} + {1}", 1),
    "sub": Operation(lambda xp, a, b: a - b, "{0} - {1}", "{0} - {1}", 1),
    "mul": Operation(lambda xp, a, b: a * b, "{0} * {1}", r"{0} \, {1}", 2),
    "div": Operation(lambda xp, a, b: a / b, "{0} / {1}", r"\frac{{{0}}}{{{1}}}", 2),
    "neg": Operation(lambda xp, a: -a, "-{0}", "-{0}", 2),
    "pow": Operation(lambda xp, a, b: a**b, "{0} ** {1}", "{{{0}}}^{{{1}}}", 4),
    "sin": Operation(lambda xp, a: xp.sin(a), "np.sin({0})", r"\sin({0})"),
    "cos": Operation(lambda xp, a: xp.cos(a), "np.cos({0})", r"\cos({0})"),
    "tan": Operation(lambda xp, a: xp.tan(a), "np.tan({0})", r"\tan({0})"),
    "tanh": Operation(lambda xp, a: xp.tanh(a), "np.tanh({0})", r"\tanh({0})"),
    "exp": Operation(lambda xp, a: xp.exp(a), "np.exp({0})", r"\exp({0})"),
    "log": Operation(lambda xp, a: xp.log(a), "np.log({0})", r"\log({0})"),
    "abs": Operation(lambda xp, a: xp.abs(a), "np.abs({0})", r"|{0}|"),
    "sign": Operation(lambda xp, a: xp.sign(a), "np.sign({0})", r"\mathrm{{sign}}({0})"),
    # Dry friction: as a term it is the sign; a step takes it off after motion and stops what is slow enough.
    "grip": Operation(lambda xp, a: xp.sign(a), "np.sign({0})", r"\mathrm{{sign}}({0})"),
    "sqrt": Operation(lambda xp, a: xp.sqrt(xp.maximum(a, 0.0)), "np.sqrt(np.maximum({0}, 0.0))", r"\sqrt{{{0}}}"),
    "round": Operation(lambda xp, a: xp.round(a), "np.round({0})", r"\mathrm{{round}}({0})"),
    "min": Operation(lambda xp, a, b: xp.minimum(a, b), "np.minimum({0}, {1})", r"\min({0}, {1})"),
    "max": Operation(lambda xp, a, b: xp.maximum(a, b), "np.maximum({0}, {1})", r"\max({0}, {1})"),
    "hypot": Operation(lambda xp, a, b: xp.hypot(a, b), "np.hypot({0}, {1})", r"\mathrm{{hypot}}({0}, {1})"),
    # Along the first of two distances, towards where both are zero; the third number softens it near there.
    "pull": Operation(
        lambda xp, a, b, soft: a / (a * a + b * b + soft * soft) ** 1.5,
        "{0} / ({0} ** 2 + {1} ** 2 + {2} ** 2) ** 1.5",
        r"\frac{{{0}}}{{({0}^2 + {1}^2 + {2}^2)^{{3/2}}}}",
        4,
    ),
    "mod": Operation(lambda xp, a, b: a % b, "{0} % {1}", r"{0} \bmod {1}", 2),
    "lt": Operation(lambda xp, a, b: a < b, "{0} < {1}", "{0} < {1}", 0),
    "gt": Operation(lambda xp, a, b: a > b, "{0} > {1}", "{0} > {1}", 0),
    "eq": Operation(lambda xp, a, b: a == b, "{0} == {1}", "{0} = {1}", 0),
    "ne": Operation(lambda xp, a, b: a != b, "{0} != {1}", r"{0} \neq {1}", 0),
    "and": Operation(lambda xp, a, b: xp.logical_and(a, b), "np.logical_and({0}, {1})", r"{0} \wedge {1}"),
    "or": Operation(lambda xp, a, b: xp.logical_or(a, b), "np.logical_or({0}, {1})", r"{0} \vee {1}"),
    "where": Operation(
        lambda xp, c, a, b: xp.where(c, a, b),
        "np.where({0}, {1}, {2})",
        r"({1}\ \mathrm{{if}}\ {0}\ \mathrm{{else}}\ {2})",
    ),
}


@dataclass(frozen=True, eq=False)
class Expr:
    """A node: a variable (`name`), a number (`value`, which fits may move where it is `free`), or an operation."""

    op: str
    args: tuple[Expr, ...] = ()
    name: str = ""
    value: float = 0.0
    free: bool = False

    def __post_init__(self):
        # Trees are looked up in tables all the time, so each keeps its hash.
        object.__setattr__(self, "_hash", hash((self.op, self.args, self.name, self.value, self.free)))

    def __hash__(self) -> int:
        return self._hash  # pyright: ignore[reportAttributeAccessIssue]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Expr) or hash(self) != hash(other):
            return False
        return (self.op, self.args, self.name, self.value, self.free) == (
            other.op,
            other.args,
            other.name,
            other.value,
            other.free,
        )

    def __reduce__(self):  # the hash of a text is another one in every process
        return Expr, (self.op, self.args, self.name, self.value, self.free)

    def __add__(self, other: Expr | float) -> Expr:
        return Expr("add", (self, as_expr(other)))

    def __radd__(self, other: float) -> Expr:
        return Expr("add", (as_expr(other), self))

    def __rsub__(self, other: float) -> Expr:
        return Expr("sub", (as_expr(other), self))

    def __rtruediv__(self, other: float) -> Expr:
        return Expr("div", (as_expr(other), self))

    def __sub__(self, other: Expr | float) -> Expr:
        return Expr("sub", (self, as_expr(other)))

    def __mul__(self, other: Expr | float) -> Expr:
        return Expr("mul", (self, as_expr(other)))

    def __rmul__(self, other: float) -> Expr:
        return Expr("mul", (as_expr(other), self))

    def __truediv__(self, other: Expr | float) -> Expr:
        return Expr("div", (self, as_expr(other)))

    def __pow__(self, other: Expr | float) -> Expr:
        return Expr("pow", (self, as_expr(other)))

    def __neg__(self) -> Expr:
        return Expr("neg", (self,))

    def evaluate(self, values: Mapping[str, Any], xp: Any = np, known: dict[Expr, Any] | None = None) -> Any:
        """The value for these arrays of equal shape, by name; `known` keeps what was computed for further expressions."""
        if self.op == "var":
            return values[self.name]
        if self.op == "number":
            return self.value
        if known is not None and self in known:
            return known[self]
        found = OPERATIONS[self.op].compute(xp, *(arg.evaluate(values, xp, known) for arg in self.args))
        if known is not None:
            known[self] = found
        return found

    def nodes(self) -> Iterator[Expr]:
        """This node and all below it, from left to right."""
        yield self
        for arg in self.args:
            yield from arg.nodes()

    @cached_property
    def variables(self) -> frozenset[str]:
        return frozenset(node.name for node in self.nodes() if node.op == "var")

    @cached_property
    def free_values(self) -> tuple[float, ...]:
        """The numbers that a fit may move, from left to right."""
        return tuple(node.value for node in self.nodes() if node.op == "number" and node.free)

    def with_free(self, values: Sequence[float]) -> Expr:
        """The same expression with other free numbers."""
        left = iter(values)

        def changed(node: Expr) -> Expr:
            if node.op == "number" and node.free:
                return replace(node, value=float(next(left)))
            return replace(node, args=tuple(changed(arg) for arg in node.args)) if node.args else node

        return changed(self)

    def substituted(self, replacements: Mapping[Expr, Expr]) -> Expr:
        """The same expression with some nodes, wherever they occur, replaced by others."""
        if self in replacements:
            return replacements[self]
        return replace(self, args=tuple(arg.substituted(replacements) for arg in self.args)) if self.args else self

    @cached_property
    def bits(self) -> float:
        """How long it takes to say: a prior that prefers what is short."""
        total = 0.0
        for node in self.nodes():
            if node.op == "var":
                total += VARIABLE_BITS
            elif node.op == "number":
                total += NUMBER_BITS if node.free else FIXED_BITS
            else:
                total += OPERATION_BITS
        return total

    def text(self, name: Callable[[Expr], str] | None = None) -> str:
        """Python text; `name` writes variables and numbers."""
        return self._written(name or _plain, lambda operation: operation.text)

    def latex(self, name: Callable[[Expr], str] | None = None) -> str:
        return self._written(name or _plain, lambda operation: operation.latex)

    def _written(self, name: Callable[[Expr], str], form: Callable[[Operation], str]) -> str:
        if self.op in ("var", "number"):
            return name(self)
        operation, parts = OPERATIONS[self.op], []
        for place, arg in enumerate(self.args):
            part = arg._written(name, form)
            parts.append(f"({part})" if self._needs_parentheses(place, arg) else part)
        return form(operation).format(*parts)

    def _needs_parentheses(self, place: int, arg: Expr) -> bool:
        outer = OPERATIONS[self.op].precedence
        if outer == 9:
            return False
        if arg.op == "number":
            return arg.value < 0 and ((place > 0 and not arg.free) or (place == 0 and self.op == "pow"))
        if arg.op == "var":
            return False
        if arg.op == "pull":  # a quotient, as it is printed
            return outer > 2 or self.op in ("div", "mod")
        inner = OPERATIONS[arg.op].precedence
        # Subtraction, division, remainders and powers are not associative, and Python reads a < b < c in its own way.
        stricter = (place == 1 and self.op in ("sub", "div", "mod")) or arg.op == "mod" or outer == 0
        return inner < outer or (inner == outer and (stricter or self.op == "neg" or (self.op == "pow" and place == 0)))

    def __str__(self) -> str:
        return self.text()


def _plain(node: Expr) -> str:
    return node.name if node.op == "var" else f"{node.value:.6g}"


def as_expr(value: Expr | float) -> Expr:
    return value if isinstance(value, Expr) else Expr("number", value=float(value))


def var(name: str) -> Expr:
    return Expr("var", name=name)


def number(value: float, free: bool = False) -> Expr:
    """A number of the grammar, or one that a fit may move."""
    return Expr("number", value=float(value), free=free)


def call(op: str, *args: Expr | float) -> Expr:
    """An operation by its name: `call("sin", x)`."""
    if op not in OPERATIONS:
        raise ValueError(f"No operation {op!r}; there are {', '.join(OPERATIONS)}.")
    return Expr(op, tuple(as_expr(arg) for arg in args))


def product(*factors: Expr) -> Expr:
    """A product without needless ones."""
    kept = [factor for factor in factors if not is_number(factor, 1.0)]
    found = kept[0] if kept else number(1.0)
    for factor in kept[1:]:
        found = found * factor
    return found


def total(terms: Sequence[Expr]) -> Expr:
    """A sum; zero where there are no terms."""
    found = terms[0] if terms else number(0.0)
    for term in terms[1:]:
        found = found + term
    return found


def is_number(expr: Expr, value: float) -> bool:
    return expr.op == "number" and not expr.free and math.isclose(expr.value, value)


def columns(exprs: Sequence[Expr], values: Mapping[str, np.ndarray], rows: int) -> np.ndarray:
    """All expressions on all rows, one column each; common parts are computed once."""
    known: dict[Expr, Any] = {}
    found = np.empty((rows, len(exprs)), order="F")
    with np.errstate(all="ignore"):
        for place, expr in enumerate(exprs):
            found[:, place] = expr.evaluate(values, np, known)
    return found
