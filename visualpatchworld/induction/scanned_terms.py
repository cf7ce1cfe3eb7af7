"""Terms with a constant inside, which is scanned for: waves, thresholds, soft stops, saturation, growth."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from visualpatchworld.induction.reading import Coordinate
from visualpatchworld.induction.scope import FEW, Scope, labelled, plainly
from visualpatchworld.induction.terms import Term

MANY = 45  # places of a scan
INSIDE = np.linspace(0.02, 0.98, MANY)  # of a range


def scanned_terms(scope: Scope) -> Iterator[Term]:
    """What has one constant that no regression finds."""
    yield from (s for s in scope.shaped if s.grid)
    yield from _frictions(scope)
    yield from _bounded_actions(scope)
    for c in scope.reading.coordinates if not scope.wide else [scope.own]:
        low, high = scope.spans[c.name]
        if high > low:
            yield from _waves(scope, c)
            yield from _regions(scope, c)
            if c is scope.own:
                yield from _stops(scope)
    if len(scope.seen) <= FEW:
        yield from _of_three(scope)
        for name in scope.seen:
            yield from _rates_of_change(scope, name)
    yield from _over_what_is_left(scope)


def _frictions(scope: Scope) -> Iterator[Term]:
    speed, v = scope.own.velocity, scope.speed
    if speed is None:
        return
    low, high = scope.spans[speed]
    belt = tuple(low + (high - low) * INSIDE)
    slipping = f"np.sign({v} - {{inner}})"  # against something that moves by itself
    yield Term(slipping, "dry", "SLIP", 2.2, (speed,), belt, inner_label="BELT", smooth=False)
    steep = tuple(np.geomspace(1.5, 300, 16) / (max(abs(low), abs(high)) or 1.0))
    smooth = f"np.tanh({{inner}} * {v})"
    yield Term(smooth, "dry", "FRICTION_SMOOTH", 2.1, (speed,), steep, inner_label="FRICTION_STEEP")


def _bounded_actions(scope: Scope) -> Iterator[Term]:
    """Saturated actions and those beyond a dead zone, along a heading, times a field or over it."""

    def times(s: Term, code: str, label: str, cost: float, of: tuple[str, ...]) -> Term:
        return Term(f"{s.code} {code}", s.law, labelled(s.label, label), cost, of, s.grid, inner_label=s.inner_label)

    for s in scope.bounded:
        if scope.own in scope.turning:
            yield times(s, f"* {scope.wave('cos', scope.own)}", "cos", 2.3, s.of)
        for n in scope.seen if not scope.wide else ():
            yield times(s, f"* state.{n}", n, 2.3, (*s.of, n))
            if scope.one_sided(n):
                yield times(s, f"/ state.{n}", f"per_{n}", 2.25, (*s.of, n))
        for turn in scope.turning if not scope.wide else ():
            if turn is not scope.own:
                for wave in ("cos", "sin"):
                    yield times(s, f"* {scope.wave(wave, turn)}", f"{wave}_{turn.name}", 2.4, (*s.of, turn.name))


def _waves(scope: Scope, c: Coordinate) -> Iterator[Term]:
    low, high = scope.spans[c.name]
    place, whose = f"state.{c.name}", "" if c is scope.own else c.name
    if plainly(c):
        # From a twentieth of a wave in the range that was seen to six of them.
        grid = tuple(np.geomspace(np.pi / 10 / (high - low), 12 * np.pi / (high - low), MANY))
        for wave in ("sin", "cos"):
            code, inner = f"np.{wave}({{inner}} * {place})", labelled("wave", whose)
            yield Term(code, "field", labelled("wave", wave, whose), 2.0, (c.name,), grid, inner_label=inner)
    else:
        for k in (2, 3):
            for wave in ("sin", "cos"):
                yield Term(f"np.{wave}({k} * {place})", "field", labelled(wave, str(k), whose), 1.4, (c.name,))


def _edges(scope: Scope, c: Coordinate) -> tuple[float, ...]:
    """Thresholds of a coordinate; where it is clipped, whatever it drives may end: an empty tank."""
    low, high = scope.spans[c.name]
    return ((low,) if c.name in scope.emptied else ()) + tuple(low + (high - low) * INSIDE)


def _regions(scope: Scope, c: Coordinate) -> Iterator[Term]:
    """Pushes, actions and losses that hold beyond a threshold alone."""
    what = [("1.0", "PUSH"), *((i.code, i.label) for i in scope.inputs if i.cost <= 1.0)]
    if c.name in scope.emptied and c is not scope.own:  # whatever drives may need something that runs out
        what += [(s.code, s.label) for s in scope.shaped if not s.grid and s.label.endswith("_UP")]
        if scope.one_sided(c.name):
            what += [(f"{i.code} / state.{c.name}", labelled(i.label, "per", c.name)) for i in scope.singles]
    if scope.own.velocity:
        what += [(scope.speed, "DRAG")]
    whose, edges = "" if c is scope.own else c.name, _edges(scope, c)
    for code, label in what:
        beyond = f"(state.{c.name} > {{inner}})" + ("" if code == "1.0" else f" * {code}")
        label, inner = labelled(label, "beyond", whose), labelled("edge", whose)
        yield Term(beyond, "regional", label, 2.2, (c.name,), edges, inner_label=inner, smooth=False)


def _stops(scope: Scope) -> Iterator[Term]:
    """Springs and losses beyond an end."""
    own, q, edges = (scope.own.name,), scope.place, _edges(scope, scope.own)
    low, high = scope.spans[scope.own.name]
    for bound, side in (("maximum", "high"), ("minimum", "low")):
        code, inner = f"np.{bound}({q} - {{inner}}, 0)", labelled(side, "edge")
        yield Term(code, "soft stop", labelled("stop", side), 2.1, own, edges, inner_label=inner)
    if low < 0 < high:
        reach = tuple(min(-low, high) * np.linspace(0.04, 0.98, MANY))
        both = f"({q} - np.clip({q}, -{{inner}}, {{inner}}))"
        yield Term(both, "soft stop", "STOP", 2.05, own, reach, inner_label="EDGE")
    if scope.own.velocity:
        code = f"({q} < {{inner}}) * {scope.speed}"
        yield Term(code, "soft stop", "STOP_DRAG_LOW", 2.2, own, edges, inner_label="LOW_EDGE", smooth=False)


def _of_three(scope: Scope) -> Iterator[Term]:
    """Third powers, as chemistry has them."""
    for i, n in enumerate(scope.seen):
        for j, m in enumerate(scope.seen[i:], i):
            for k in scope.seen[j:]:
                code = f"state.{n} * state.{m} * state.{k}"
                yield Term(code, "coupling", labelled(n, m, k), 1.6, tuple(dict.fromkeys((n, m, k))))
    for i in scope.singles:
        for k, n in enumerate(scope.seen):
            for m in scope.seen[k:]:
                yield Term(f"{i.code} * state.{n} * state.{m}", "drive", labelled(i.label, n, m), 1.6, (*i.of, n, m))
    for s in scope.shaped:
        for n in scope.seen if not s.grid else ():
            yield Term(f"{s.code} * state.{n}", s.law, labelled(s.label, n), 1.6, (*s.of, n))


def _rates_of_change(scope: Scope, n: str) -> Iterator[Term]:
    """What chemistry, biology and circuits add: saturation, exponential growth, rates by temperature."""
    low, high = scope.spans[n]
    place, size = f"state.{n}", max(abs(low), abs(high)) or 1.0
    steep = tuple(np.geomspace(0.2, 20, 24) / size)
    saturated, inner = f"np.tanh({{inner}} * {place})", labelled("steep", n)
    yield Term(saturated, "saturation", labelled("tanh", n), 2.1, (n,), steep, inner_label=inner)
    growth = tuple(sign * value for sign in (1, -1) for value in np.geomspace(0.05, 8, 20) / size)
    grown, inner = f"np.exp({{inner}} * {place})", labelled("rate", n)
    yield Term(grown, "growth", labelled("exp", n), 2.1, (n,), growth, inner_label=inner)
    if low <= 0:
        return
    half = tuple(size * np.geomspace(0.02, 10, 24))
    others = [(f" * state.{m}", m, (n, m)) for m in scope.seen if m != n]
    for code, other, of in (("", "", (n,)), *others):
        full, inner = f"{place} / ({place} + {{inner}}){code}", labelled("half", n)
        yield Term(full, "saturation", labelled("full", n, other), 2.2, of, half, inner_label=inner)
        hot, inner = f"np.exp(-{{inner}} / {place}){code}", labelled("barrier", n)
        yield Term(hot, "growth", labelled("heat", n, other), 2.3, of, half, inner_label=inner)


def _over_what_is_left(scope: Scope) -> Iterator[Term]:
    """Actions over a field and a constant: thrust over what fuel and dry mass weigh."""
    for c in scope.others if not scope.wide else ():
        if c.angle:
            continue
        low, high = scope.spans[c.name]
        shifts = tuple(max(high - low, 1e-9) * np.geomspace(0.03, 30, 24) - low)
        for i in scope.inputs:
            if i.cost <= 1.0:
                code, inner = f"{i.code} / (state.{c.name} + {{inner}})", labelled("empty", c.name)
                of = (*i.of, c.name)
                yield Term(code, "drive", labelled(i.label, "per", c.name), 2.2, of, shifts, inner_label=inner)
