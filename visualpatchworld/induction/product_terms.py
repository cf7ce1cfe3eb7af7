"""Terms that are products: of actions, fields, and the sines and cosines of angles."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from visualpatchworld.induction.scope import FEW, Scope, labelled
from visualpatchworld.induction.terms import Term

STEERS = 1.5  # rad: beyond it the tangent of an angle is no law
SLOW = 1e-6  # speeds and distances below which a direction is nothing
MOST_MOVERS = 6  # coordinates up to which one may point to another


def product_terms(scope: Scope) -> Iterator[Term]:
    """Products of two, and the few of three that machines are known for."""
    yield from _with_waves(scope)
    yield from _between_angles(scope)
    yield from (s for s in scope.shaped if not s.grid)
    yield from _actions_and_fields(scope)
    for name in scope.straight:
        yield from _ratios_and_roots(scope, name)
    yield from _of_two_fields(scope)
    yield from _bent_losses(scope)
    yield from _of_two_actions(scope)
    yield from _with_others(scope)
    if not scope.wide:
        yield from _of_vehicles(scope)
        yield from _of_cranes(scope)
        yield from _of_sliding(scope)
        yield from _of_directions(scope)


def _with_waves(scope: Scope) -> Iterator[Term]:
    """Thrust in a body's own frame, and speeds along its heading."""
    for turn in scope.turning:
        for wave in ("cos", "sin"):
            code, word = scope.wave(wave, turn), labelled(wave, turn.name)
            near = 1.1 if turn is scope.own else 1.2
            for i in scope.singles:
                yield Term(f"{i.code} * {code}", "drive", labelled(i.label, word), near, (*i.of, turn.name))
            if scope.wide:
                continue
            for i, n in itertools.product(scope.singles, scope.stores):  # a battery that drains, a mass that burns away
                thrust, label, of = f"{i.code} * {code}", labelled(i.label, word), (*i.of, turn.name, n)
                yield Term(f"{thrust} * state.{n}", "drive", labelled(label, n), 1.45, of)
                yield Term(f"{thrust} / state.{n}", "drive", labelled(label, "per", n), 1.4, of)
            for n in scope.speeds if scope.own.velocity else scope.straight:
                if n != turn.name:
                    yield Term(f"state.{n} * {code}", "coupling", labelled(n, word), 1.3, (n, turn.name))
            for n in scope.speeds:
                label = labelled(n, "square", word)
                yield Term(f"state.{n} ** 2 * {code}", "coupling", label, 1.5, (n, turn.name))


def _between_angles(scope: Scope) -> Iterator[Term]:
    own, turning = scope.own, scope.turning
    for turn in turning:
        for other in turning:
            if other is not turn and (turn is own or (own not in turning and turn.name < other.name)):
                away, of = f"(state.{turn.name} - state.{other.name})", (turn.name, other.name)
                yield Term(f"np.sin{away}", "spring", labelled("pull", other.name), 1.3, of)
                yield Term(f"np.cos{away}", "coupling", labelled("cos", *of), 1.4, of)


def _actions_and_fields(scope: Scope) -> Iterator[Term]:
    for i in scope.singles:
        for n in scope.straight:
            yield Term(f"{i.code} * state.{n}", "drive", labelled(i.label, n), 1.3, (*i.of, n))
            if scope.one_sided(n):
                yield Term(f"{i.code} / state.{n}", "drive", labelled(i.label, "per", n), 1.25, (*i.of, n))
    for s in scope.shaped if not scope.wide else ():
        if not s.grid:
            for n in scope.straight:
                yield Term(f"{s.code} * state.{n}", "drive", labelled(s.label, n), 1.6, (*s.of, n))


def _ratios_and_roots(scope: Scope, n: str) -> Iterator[Term]:
    """What one field is divided by, or what flows by the root of its height."""
    own, (low, high) = scope.own, scope.span(n)
    if scope.one_sided(n) and not scope.wide:
        yield Term(f"1 / state.{n}", "coupling", labelled("per", n), 1.35, (n,))
        for m in scope.straight:
            if m != n:
                yield Term(f"state.{m} / state.{n}", "coupling", labelled(m, "per", n), 1.45, (m, n))
        if own.velocity and n != own.velocity:
            drag = f"np.abs({scope.speed}) * {scope.speed} / state.{n}"
            yield Term(drag, "quadratic", labelled("drag_square_per", n), 1.45, (own.velocity, n))
        yield Term(f"1 / state.{n} ** 2", "coupling", labelled("per", n, "square"), 1.4, (n,))
        for i in scope.singles:
            for code, label in ((i.code, i.label), (f"{i.code} ** 2", labelled(i.label, "square"))):
                yield Term(f"{code} / state.{n} ** 2", "drive", labelled(label, "per", n, "square"), 1.5, (*i.of, n))
    if low >= 0 and high > low and not scope.wide:  # what cannot fall below zero stands there at times
        root = f"np.sqrt(state.{n})" if low > 0 else f"np.sqrt(np.maximum(state.{n}, 0))"
        yield Term(root, "coupling", labelled("root", n), 1.35, (n,))
    elif scope.two_sided(n) and len(scope.straight) <= FEW:
        root = f"np.sign(state.{n}) * np.sqrt(np.abs(state.{n}))"
        yield Term(root, "coupling", labelled("root", n), 1.5, (n,))


def _of_two_fields(scope: Scope) -> Iterator[Term]:
    own = scope.own
    fields = [n for n in scope.straight if not scope.wide or n in (own.name, own.velocity)]
    for k, n in enumerate(fields):
        for m in fields[k:]:
            # Of a speed that goes one way the square is the quadratic loss.
            one_way = m == n == own.velocity and not scope.two_sided(n)
            if (m, n) != (own.name, own.name) and not one_way:
                code = f"state.{n} ** 2" if m == n else f"state.{n} * state.{m}"
                yield Term(code, "coupling", labelled(n, "square" if m == n else m), 1.4, (n, m))


def _bent_losses(scope: Scope) -> Iterator[Term]:
    own = scope.own
    if own.velocity:
        yield Term(f"{scope.speed} ** 3", "viscous", "DRAG_THIRD", 1.3, (own.velocity,))
        if own.name in scope.straight:
            yield Term(f"{scope.place} ** 2 * {scope.speed}", "viscous", "DRAG_BEND", 1.4, (own.velocity, own.name))


def _of_two_actions(scope: Scope) -> Iterator[Term]:
    for k, i in enumerate(scope.singles):
        for j in scope.singles[k + 1 :]:
            if i.of != j.of:
                yield Term(f"{i.code} * {j.code}", "drive", labelled(i.label, j.label), 1.4, (*i.of, *j.of))


def _with_others(scope: Scope) -> Iterator[Term]:
    """Springs that harden, flows between two levels, and drag in a plane."""
    own = scope.own
    for other in scope.others if not scope.wide else ():
        if other.angle == own.angle:
            away, of = f"({scope.place} - state.{other.name})", (own.name, other.name)
            yield Term(f"{away} ** 3", "spring", labelled("hard", other.name), 1.4, of)
            if own.velocity is None and other.velocity is None:
                flow = f"np.sign{away} * np.sqrt(np.abs{away})"
                yield Term(flow, "coupling", labelled("root", *of), 1.45, of)
        if own.velocity and other.velocity and not (own.angle or other.angle):
            drag = f"np.hypot({scope.speed}, state.{other.velocity}) * {scope.speed}"
            of = (own.velocity, other.velocity)
            yield Term(drag, "quadratic", labelled("drag_square", other.velocity), 1.3, of)


def _of_vehicles(scope: Scope) -> Iterator[Term]:
    """The tangent of a steering angle times a speed."""
    for n in scope.straight:
        low, high = scope.span(n)
        if scope.two_sided(n) and max(-low, high) < STEERS and scope.own.velocity is None:
            for m in scope.straight:
                if n not in (scope.own.name, m):
                    yield Term(f"state.{m} * np.tan(state.{n})", "coupling", labelled(m, "tan", n), 1.5, (m, n))


def _of_cranes(scope: Scope) -> Iterator[Term]:
    """What turns a pendulum whose length is a field: weight, and what its pivot and its own length do."""
    own = scope.own
    lengths = [n for n in scope.straight if scope.one_sided(n) and n != own.name]
    for length in lengths if own.velocity and own in scope.turning else ():
        for i in scope.singles:
            label, of = labelled(i.label, "drag_per", length), (*i.of, str(own.velocity), length)
            yield Term(f"{i.code} * {scope.speed} / state.{length}", "drive", label, 1.5, of)
        for wave in ("sin", "cos"):
            code, word = f"{scope.wave(wave, own)} / state.{length}", labelled(wave, "per", length)
            yield Term(code, "field", word, 1.3, (own.name, length))
            for i in scope.singles:
                yield Term(f"{i.code} * {code}", "drive", labelled(i.label, word), 1.45, (*i.of, own.name, length))
            for v in scope.speeds:
                if v != own.velocity:
                    yield Term(f"state.{v} * {code}", "coupling", labelled(v, word), 1.5, (v, own.name, length))


def _of_sliding(scope: Scope) -> Iterator[Term]:
    """Dry friction in a plane, against the direction of motion."""
    own = scope.own
    for other in scope.others:
        if own.velocity and other.velocity and not (own.angle or other.angle):
            mine, its = scope.speed, f"state.{other.velocity}"
            code = f"{mine} / np.maximum(np.hypot({mine}, {its}), {SLOW})"
            yield Term(code, "dry", labelled("friction", other.velocity), 1.3, (own.velocity, other.velocity))


def _of_directions(scope: Scope) -> Iterator[Term]:
    """What has one size, or falls with the square of a distance, and points to a centre or to another thing in a plane:
    a hunter, a planet.
    """
    own, others = scope.own, [c for c in scope.others if not c.angle]
    if own.angle or len(others) >= MOST_MOVERS:
        return
    ways: list[tuple[str, str, tuple[str, ...]]] = [
        (scope.place, f"state.{c.name}", (own.name, c.name)) for c in others
    ]
    for other in others:
        for a, b in itertools.combinations([c for c in others if c is not other], 2):
            away, beside = f"({scope.place} - state.{other.name})", f"(state.{a.name} - state.{b.name})"
            ways.append((away, beside, (own.name, other.name, a.name, b.name)))
    for away, beside, of in ways:
        far = f"np.maximum(np.hypot({away}, {beside}), {SLOW})"
        yield Term(f"{away} / {far}", "direction", labelled("to", *of[1:]), 1.4, of)
        if own.velocity:
            yield Term(f"{away} / {far} ** 3", "gravity", labelled("pull", *of[1:]), 1.4, of)
