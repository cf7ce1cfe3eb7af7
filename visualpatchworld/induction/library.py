"""The library of terms that a coordinate's rate may be a sum of:
plain ones first, products next, those with a constant inside last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from visualpatchworld.induction.product_terms import product_terms
from visualpatchworld.induction.reading import Coordinate, Reading
from visualpatchworld.induction.scanned_terms import scanned_terms
from visualpatchworld.induction.scope import Scope, labelled, plainly
from visualpatchworld.induction.terms import Rows, Term


@dataclass(frozen=True)
class Library:
    """Terms for one response by level: 0 plain, 1 products, 2 with a constant inside."""

    levels: tuple[tuple[Term, ...], ...]

    def upto(self, level: int) -> list[Term]:
        return [term for terms in self.levels[: level + 1] for term in terms]


def library(reading: Reading, own: Coordinate, rows: Rows, inputs: Sequence[Term], shaped: Sequence[Term]) -> Library:
    """What the rate of one coordinate (its velocity's, where it has one) may be made of."""
    scope = Scope(reading, own, rows, inputs, shaped)
    levels = (plain_terms(scope), product_terms(scope), scanned_terms(scope))
    return Library(tuple(tuple(t for t in _once(level) if not _bends(t, scope.binary)) for level in levels))


def plain_terms(scope: Scope) -> Iterator[Term]:
    """Pushes, losses, springs and fields, and what other coordinates add by themselves."""
    yield Term("1.0", "field", "PUSH")
    yield from scope.inputs
    yield from _losses(scope)
    yield from _springs(scope)
    for other in scope.others:
        yield from _of_another(scope, other)
    for name, _ in scope.reading.parameters:
        yield Term(f"state.{name}", "coupling", labelled("by", name), 1.2, (name,))
        away = f"({scope.place} - state.{name})"
        yield Term(away, "spring", labelled("spring", name), 1.15, (scope.own.name, name))


def _losses(scope: Scope) -> Iterator[Term]:
    own, q, v = scope.own, scope.place, scope.speed
    if own.velocity:
        yield Term(v, "viscous", "DRAG", of=(own.velocity,))
        yield Term(f"np.abs({v}) * {v}", "quadratic", "DRAG_SQUARE", 1.1, (own.velocity,))
        if scope.two_sided(own.velocity):  # one way alone a dry friction is a constant
            yield Term(f"np.sign({v})", "dry", "FRICTION", 1.1, (own.velocity,))
    elif scope.two_sided(own.name):
        yield Term(f"np.abs({q}) * {q}", "quadratic", "DRAG_SQUARE", 1.2, (own.name,))
        yield Term(f"np.sign({q})", "dry", "FRICTION", 1.2, (own.name,))


def _springs(scope: Scope) -> Iterator[Term]:
    own, q = scope.own, scope.place
    if plainly(own):
        yield Term(q, "spring", "SPRING", of=(own.name,))
        yield Term(f"{q} ** 2", "field", "BEND", 1.2, (own.name,))
        yield Term(f"{q} ** 3", "spring", "HARD", 1.1, (own.name,))
    if own in scope.turning:
        # Where nothing says that a coordinate is an angle, a sine beside a spring is likelier to mimic a spring that
        # hardens.
        sure = 0.0 if own.angle else 0.15
        yield Term(scope.wave("sin", own), "field", "PULL", 1.0 + sure, (own.name,))
        yield Term(scope.wave("cos", own), "field", "WEIGHT", 1.05 + sure, (own.name,))


def _of_another(scope: Scope, other: Coordinate) -> Iterator[Term]:
    own, place = scope.own, f"state.{other.name}"
    if plainly(other):
        yield Term(place, "coupling", labelled("by", other.name), 1.2, (other.name,))
    if other.velocity:
        yield Term(f"state.{other.velocity}", "coupling", labelled("by", other.velocity), 1.2, (other.velocity,))
    if other in scope.turning:
        for wave in ("sin", "cos"):
            yield Term(scope.wave(wave, other), "coupling", labelled("by", wave, other.name), 1.2, (other.name,))
    if other.angle == own.angle:
        away = f"({scope.place} - {place})"
        # Between fields of first order a plain coupling is as likely, and reads better beside a loss of its own.
        cost = 1.1 if own.velocity else 1.25
        yield Term(away, "spring", labelled("spring", other.name), cost, (own.name, other.name))
        if own.velocity and other.velocity:
            slip = f"({scope.speed} - state.{other.velocity})"
            yield Term(slip, "damper", labelled("damper", other.name), 1.15, (own.velocity, other.velocity))


def _bends(term: Term, binary: Sequence[str]) -> bool:
    """Whether a term bends a field of two values, of which every function is a straight line."""
    names = "|".join(name for name in binary if f"state.{name}" in term.code)
    inside = rf"np\.\w+\((?:[^()]|\([^()]*\))*\bstate\.({names})\b"
    return bool(names) and bool(
        re.search(rf"{inside}|state\.({names}) \*\*|/ \(?state\.({names})\b|\(state\.({names}) [<>]", term.code)
    )


def _once(terms: Iterator[Term]) -> list[Term]:
    """The terms without repetitions of one code: the first counts."""
    found: dict[str, Term] = {}
    for term in terms:
        found.setdefault(term.code, term)
    return list(found.values())
