"""The library of terms that a coordinate's rate may be a sum of:
plain ones first, products next, those with a constant inside last.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from visualpatchworld.induction.machine_terms import machine_terms
from visualpatchworld.induction.reading import Coordinate, Reading
from visualpatchworld.induction.terms import Rows, Term

WIDE = 10  # with more state fields than this, products of others are left out
FEW = 4  # state fields up to which rarer products and rates are tried
MANY = 45  # places of a scan
OFTEN = 10  # steps that begin at the least value of a field that is clipped there


@dataclass(frozen=True)
class Library:
    """Terms for one response by level: 0 plain, 1 products, 2 with a constant inside."""

    levels: tuple[tuple[Term, ...], ...]

    def upto(self, level: int) -> list[Term]:
        return [term for terms in self.levels[: level + 1] for term in terms]


def library(reading: Reading, own: Coordinate, rows: Rows, inputs: Sequence[Term], shaped: Sequence[Term]) -> Library:
    """What the rate of one coordinate (its velocity's, where it has one) may be made of."""
    others = [c for c in reading.coordinates if c is not own]
    wide = len(reading.state_names) > WIDE
    spans = {
        name: (float(column.min()), float(column.max())) for name, column in zip(rows.names, rows.before.T, strict=True)
    }
    emptied = {
        name
        for name, column in zip(rows.names, rows.before.T, strict=True)
        if (column == spans[name][0]).sum() >= OFTEN
    }
    turning = [c for c in reading.coordinates if _may_turn(c, spans)]
    q, v = f"state.{own.name}", f"state.{own.velocity}"
    plain = [Term("1.0", "field", "PUSH"), *inputs]
    if own.velocity:
        plain += [
            Term(v, "viscous", "DRAG", of=(own.velocity,)),
            Term(f"np.abs({v}) * {v}", "quadratic", "DRAG_SQUARE", 1.1, (own.velocity,)),
        ]
        if spans[own.velocity][0] < 0 < spans[own.velocity][1]:  # one way alone a dry friction is a constant
            plain.append(Term(f"np.sign({v})", "dry", "FRICTION", 1.1, (own.velocity,)))
    elif spans[own.name][0] < 0 < spans[own.name][1]:
        plain += [
            Term(f"np.abs({q}) * {q}", "quadratic", "DRAG_SQUARE", 1.2, (own.name,)),
            Term(f"np.sign({q})", "dry", "FRICTION", 1.2, (own.name,)),
        ]
    if not (own.angle and (own.wraps or len(own.columns) == 2)):
        plain += [Term(q, "spring", "SPRING", of=(own.name,))]
        plain += [
            Term(f"{q} ** 2", "field", "BEND", 1.2, (own.name,)),
            Term(f"{q} ** 3", "spring", "HARD", 1.1, (own.name,)),
        ]
    if own in turning:
        # Where nothing says that a coordinate is an angle, a sine beside a spring is likelier to mimic a spring that
        # hardens.
        sure = 0.0 if own.angle else 0.15
        plain += [
            Term(f"np.sin({q})", "field", "PULL", 1.0 + sure, (own.name,)),
            Term(f"np.cos({q})", "field", "WEIGHT", 1.05 + sure, (own.name,)),
        ]
    for other in others:
        place = f"state.{other.name}"
        if not (other.angle and (other.wraps or len(other.columns) == 2)):
            plain.append(Term(place, "coupling", f"BY_{_up(other.name)}", 1.2, (other.name,)))
        if other.velocity:
            plain.append(
                Term(f"state.{other.velocity}", "coupling", f"BY_{_up(other.velocity)}", 1.2, (other.velocity,))
            )
        if other in turning:
            name = _up(other.name)
            plain.append(Term(f"np.sin({place})", "coupling", f"BY_SIN_{name}", 1.2, (other.name,)))
            plain.append(Term(f"np.cos({place})", "coupling", f"BY_COS_{name}", 1.2, (other.name,)))
        if other.angle == own.angle:
            away = f"({q} - {place})"
            # Between fields of first order a plain coupling is as likely, and reads better beside a loss of its own.
            plain.append(
                Term(away, "spring", f"SPRING_{_up(other.name)}", 1.1 if own.velocity else 1.25, (own.name, other.name))
            )
            if own.velocity and other.velocity:
                slip = f"({v} - state.{other.velocity})"
                plain.append(Term(slip, "damper", f"DAMPER_{_up(other.name)}", 1.15, (own.velocity, other.velocity)))
    for name, _ in reading.parameters:
        plain.append(Term(f"state.{name}", "coupling", f"BY_{_up(name)}", 1.2, (name,)))
        plain.append(Term(f"({q} - state.{name})", "spring", f"SPRING_{_up(name)}", 1.15, (own.name, name)))
    levels = (
        _once(plain),
        _products(reading, own, inputs, shaped, turning, spans, wide),
        _scanned(reading, own, inputs, shaped, turning, spans, wide, emptied),
    )
    binary = [name for name, column in zip(rows.names, rows.before.T, strict=True) if len(np.unique(column)) <= 2]
    return Library(tuple(tuple(term for term in level if not _bends(term, binary)) for level in levels))


def _bends(term: Term, binary: Sequence[str]) -> bool:
    """Whether a term bends a field of two values, of which every function is a straight line."""
    names = "|".join(name for name in binary if f"state.{name}" in term.code)
    inside = rf"np\.\w+\((?:[^()]|\([^()]*\))*\bstate\.({names})\b"
    return bool(names) and bool(
        re.search(rf"{inside}|state\.({names}) \*\*|/ \(?state\.({names})\b|\(state\.({names}) [<>]", term.code)
    )


def _products(reading: Reading, own: Coordinate, inputs, shaped, turning, spans, wide) -> list[Term]:
    terms = []
    singles = [i for i in inputs if i.cost <= 1.01]
    speeds = [c.velocity for c in reading.coordinates if c.velocity]
    straight = [n for n in reading.state_names if not any(c.name == n and c.angle for c in reading.coordinates)]
    for turn in turning:
        for wave in ("cos", "sin"):
            code = f"np.{wave}(state.{turn.name})"
            near = 1.1 if turn is own else 1.2
            for i in singles:
                terms.append(
                    Term(
                        f"{i.code} * {code}",
                        "drive",
                        f"{i.label}_{_up(wave)}_{_up(turn.name)}",
                        near,
                        (*i.of, turn.name),
                    )
                )
            if not wide:
                moving = speeds if own.velocity else straight
                for n in moving:
                    if n != turn.name:
                        terms.append(
                            Term(
                                f"state.{n} * {code}",
                                "coupling",
                                f"{_up(n)}_{_up(wave)}_{_up(turn.name)}",
                                1.3,
                                (n, turn.name),
                            )
                        )
                for n in speeds:
                    terms.append(
                        Term(
                            f"state.{n} ** 2 * {code}",
                            "coupling",
                            f"{_up(n)}_SQUARE_{_up(wave)}_{_up(turn.name)}",
                            1.5,
                            (n, turn.name),
                        )
                    )
        for other in turning:
            if other is not turn and (turn is own or (own not in turning and turn.name < other.name)):
                away = f"(state.{turn.name} - state.{other.name})"
                terms.append(Term(f"np.sin{away}", "spring", f"PULL_{_up(other.name)}", 1.3, (turn.name, other.name)))
                terms.append(
                    Term(
                        f"np.cos{away}",
                        "coupling",
                        f"COS_{_up(turn.name)}_{_up(other.name)}",
                        1.4,
                        (turn.name, other.name),
                    )
                )
    for i in singles:
        for n in straight:
            terms.append(Term(f"{i.code} * state.{n}", "drive", f"{i.label}_{_up(n)}", 1.3, (*i.of, n)))
            low, high = spans.get(n, (0.0, 0.0))
            if low > 0 or high < 0:
                terms.append(Term(f"{i.code} / state.{n}", "drive", f"{i.label}_PER_{_up(n)}", 1.25, (*i.of, n)))
    for s in shaped if not wide else ():
        if not s.grid:
            terms += [Term(f"{s.code} * state.{n}", "drive", f"{s.label}_{_up(n)}", 1.6, (*s.of, n)) for n in straight]
    for n in straight:
        low, high = spans.get(n, (0.0, 0.0))
        if (low > 0 or high < 0) and not wide:
            terms.append(Term(f"1 / state.{n}", "coupling", f"PER_{_up(n)}", 1.35, (n,)))
            for m in straight:
                if m != n:
                    terms.append(Term(f"state.{m} / state.{n}", "coupling", f"{_up(m)}_PER_{_up(n)}", 1.45, (m, n)))
            if own.velocity and n != own.velocity:
                drag = f"np.abs(state.{own.velocity}) * state.{own.velocity} / state.{n}"
                terms.append(Term(drag, "quadratic", f"DRAG_SQUARE_PER_{_up(n)}", 1.45, (own.velocity, n)))
            terms.append(Term(f"1 / state.{n} ** 2", "coupling", f"PER_{_up(n)}_SQUARE", 1.4, (n,)))
            for i in singles:
                for code, label in ((i.code, i.label), (f"{i.code} ** 2", f"{i.label}_SQUARE")):
                    terms.append(
                        Term(f"{code} / state.{n} ** 2", "drive", f"{label}_PER_{_up(n)}_SQUARE", 1.5, (*i.of, n))
                    )
        if low >= 0 and high > low and not wide:  # what cannot fall below zero stands there at times
            root = f"np.sqrt(state.{n})" if low > 0 else f"np.sqrt(np.maximum(state.{n}, 0))"
            terms.append(Term(root, "coupling", f"ROOT_{_up(n)}", 1.35, (n,)))
        elif low < 0 < high and len(straight) <= FEW:
            terms.append(
                Term(f"np.sign(state.{n}) * np.sqrt(np.abs(state.{n}))", "coupling", f"ROOT_{_up(n)}", 1.5, (n,))
            )
    limited = straight if not wide else [n for n in straight if n in (own.name, own.velocity)]
    for k, n in enumerate(limited):
        for m in limited[k:]:
            # Then its square is the quadratic loss.
            one_way = m == n == own.velocity and not spans[n][0] < 0 < spans[n][1]
            if (m, n) != (own.name, own.name) and not one_way:
                what = f"state.{n} ** 2" if m == n else f"state.{n} * state.{m}"
                terms.append(
                    Term(what, "coupling", f"{_up(n)}_{_up(m)}" if m != n else f"{_up(n)}_SQUARE", 1.4, (n, m))
                )
    if own.velocity:
        v = f"state.{own.velocity}"
        terms.append(Term(f"{v} ** 3", "viscous", "DRAG_THIRD", 1.3, (own.velocity,)))
        if own.name in straight:
            terms.append(Term(f"state.{own.name} ** 2 * {v}", "viscous", "DRAG_BEND", 1.4, (own.velocity, own.name)))
    for k, i in enumerate(singles):
        for j in singles[k + 1 :]:
            if i.of != j.of:
                terms.append(Term(f"{i.code} * {j.code}", "drive", f"{i.label}_{j.label}", 1.4, (*i.of, *j.of)))
    for other in reading.coordinates:
        if other is not own and other.angle == own.angle and not wide:
            away = f"(state.{own.name} - state.{other.name})"
            terms.append(Term(f"{away} ** 3", "spring", f"HARD_{_up(other.name)}", 1.4, (own.name, other.name)))
            if own.velocity is None and other.velocity is None:
                flow = f"np.sign{away} * np.sqrt(np.abs{away})"
                terms.append(
                    Term(flow, "coupling", f"ROOT_{_up(own.name)}_{_up(other.name)}", 1.45, (own.name, other.name))
                )
        if other is not own and own.velocity and other.velocity and not (own.angle or other.angle or wide):
            mine, its = f"state.{own.velocity}", f"state.{other.velocity}"
            drag = f"np.hypot({mine}, {its}) * {mine}"
            terms.append(
                Term(drag, "quadratic", f"DRAG_SQUARE_{_up(other.velocity)}", 1.3, (own.velocity, other.velocity))
            )
    return _once([*terms, *(machine_terms(reading, own, singles, turning, spans) if not wide else ())])


def _scanned(
    reading: Reading, own: Coordinate, inputs, shaped, turning, spans, wide, emptied: Collection[str]
) -> list[Term]:
    terms = list(shaped)
    straight = [
        n for n in reading.state_names if n in spans and not any(c.name == n and c.angle for c in reading.coordinates)
    ]
    v = f"state.{own.velocity}"
    if own.velocity:
        fast = max(abs(spans[own.velocity][0]), abs(spans[own.velocity][1])) or 1.0
        steep = tuple(np.geomspace(1.5, 300, 16) / fast)
        belt = tuple(
            spans[own.velocity][0] + (spans[own.velocity][1] - spans[own.velocity][0]) * np.linspace(0.02, 0.98, MANY)
        )
        slipping = f"np.sign({v} - {{inner}})"  # against something that moves by itself
        terms.append(Term(slipping, "dry", "SLIP", 2.2, (own.velocity,), belt, inner_label="BELT", smooth=False))
        terms.append(
            Term(
                f"np.tanh({{inner}} * {v})",
                "dry",
                "FRICTION_SMOOTH",
                2.1,
                (own.velocity,),
                steep,
                inner_label="FRICTION_STEEP",
            )
        )
    for turn in [own] if own in turning else []:
        for s in shaped:
            if s.grid and s.law in ("saturation", "dead zone"):
                terms.append(
                    Term(
                        f"{s.code} * np.cos(state.{turn.name})",
                        s.law,
                        f"{s.label}_COS",
                        2.3,
                        s.of,
                        s.grid,
                        inner_label=s.inner_label,
                    )
                )
    for s in shaped if not wide else ():
        for n in straight if s.grid and s.law in ("saturation", "dead zone") else ():
            label, of = f"{s.label}_{_up(n)}", (*s.of, n)
            terms.append(Term(f"{s.code} * state.{n}", s.law, label, 2.3, of, s.grid, inner_label=s.inner_label))
            if spans[n][0] > 0 or spans[n][1] < 0:
                label = f"{s.label}_PER_{_up(n)}"
                terms.append(Term(f"{s.code} / state.{n}", s.law, label, 2.25, of, s.grid, inner_label=s.inner_label))
    for heading in turning if not wide else ():
        if heading is not own:
            for s in shaped:
                if s.grid and s.law in ("saturation", "dead zone"):
                    for wave in ("cos", "sin"):
                        label = f"{s.label}_{_up(wave)}_{_up(heading.name)}"
                        terms.append(
                            Term(
                                f"{s.code} * np.{wave}(state.{heading.name})",
                                s.law,
                                label,
                                2.4,
                                (*s.of, heading.name),
                                s.grid,
                                inner_label=s.inner_label,
                            )
                        )
    for c in reading.coordinates if not wide else [own]:
        low, high = spans[c.name]
        span = high - low
        if span <= 0:
            continue
        place = f"state.{c.name}"
        inner = "" if c is own else f"_{_up(c.name)}"
        if not (c.angle and (c.wraps or len(c.columns) == 2)):
            # From a twentieth of a wave in the range that was seen to six of them.
            waves = tuple(np.geomspace(np.pi / 10 / span, 12 * np.pi / span, MANY))
            terms.append(
                Term(
                    f"np.sin({{inner}} * {place})",
                    "field",
                    f"WAVE_SIN{inner}",
                    2.0,
                    (c.name,),
                    waves,
                    inner_label=f"WAVE{inner}",
                )
            )
            terms.append(
                Term(
                    f"np.cos({{inner}} * {place})",
                    "field",
                    f"WAVE_COS{inner}",
                    2.0,
                    (c.name,),
                    waves,
                    inner_label=f"WAVE{inner}",
                )
            )
        else:
            terms += [
                Term(f"np.{w}({k} * {place})", "field", f"{_up(w)}_{k}{inner}", 1.4, (c.name,))
                for k in (2, 3)
                for w in ("sin", "cos")
            ]
        # Where a field is clipped, whatever it drives may end: an empty tank.
        edges = ((low,) if c.name in emptied else ()) + tuple(low + span * np.linspace(0.02, 0.98, MANY))
        beyond = f"({place} > {{inner}})"
        what = [("1.0", "PUSH"), *((i.code, i.label) for i in inputs if i.cost <= 1.0)]
        if c.name in emptied and c is not own:  # whatever drives may need something that runs out
            what += [(s.code, s.label) for s in shaped if not s.grid and s.label.endswith("_UP")]
        if own.velocity:
            what += [(v, "DRAG")]
        if c is own or not wide:
            for code, label in what:
                full = beyond if code == "1.0" else f"{beyond} * {code}"
                terms.append(
                    Term(
                        full,
                        "regional",
                        f"{label}_BEYOND{inner}",
                        2.2,
                        (c.name,),
                        edges,
                        inner_label=f"EDGE{inner}",
                        smooth=False,
                    )
                )
        if c is own:
            terms.append(
                Term(
                    f"np.maximum({place} - {{inner}}, 0)",
                    "soft stop",
                    "STOP_HIGH",
                    2.1,
                    (c.name,),
                    edges,
                    inner_label="HIGH_EDGE",
                )
            )
            terms.append(
                Term(
                    f"np.minimum({place} - {{inner}}, 0)",
                    "soft stop",
                    "STOP_LOW",
                    2.1,
                    (c.name,),
                    edges,
                    inner_label="LOW_EDGE",
                )
            )
            if low < 0 < high:
                reach = tuple(min(-low, high) * np.linspace(0.04, 0.98, MANY))
                within = f"np.clip({place}, -{{inner}}, {{inner}})"
                terms.append(
                    Term(f"({place} - {within})", "soft stop", "STOP", 2.05, (c.name,), reach, inner_label="EDGE")
                )
            if own.velocity:
                terms.append(
                    Term(
                        f"({place} < {{inner}}) * {v}",
                        "soft stop",
                        "STOP_DRAG_LOW",
                        2.2,
                        (c.name,),
                        edges,
                        inner_label="LOW_EDGE",
                        smooth=False,
                    )
                )
    terms += _rates_of_change(reading, inputs, shaped, spans)
    for c in reading.coordinates:
        if c is own or c.angle or wide:
            continue
        low, high = spans[c.name]
        span = max(high - low, 1e-9)
        shifts = tuple(span * np.geomspace(0.03, 30, 24) - low)
        for i in inputs:
            if i.cost <= 1.0:
                label = f"{i.label}_PER_{_up(c.name)}"
                terms.append(
                    Term(
                        f"{i.code} / (state.{c.name} + {{inner}})",
                        "drive",
                        label,
                        2.2,
                        (*i.of, c.name),
                        shifts,
                        inner_label=f"EMPTY_{_up(c.name)}",
                    )
                )
    return _once(terms)


def _rates_of_change(reading: Reading, inputs, shaped, spans) -> list[Term]:
    """What chemistry, biology and circuits add for few fields: third
    powers, saturation, exponential growth, rates by temperature.
    """
    straight = [
        n for n in reading.state_names if n in spans and not any(c.name == n and c.angle for c in reading.coordinates)
    ]
    if len(straight) > FEW:
        return []
    terms = []
    for i, n in enumerate(straight):
        for j, m in enumerate(straight[i:], i):
            for k in straight[j:]:
                factors = [f"state.{name}" for name in (n, m, k)]
                label = "_".join(_up(name) for name in (n, m, k))
                terms.append(Term(" * ".join(factors), "coupling", label, 1.6, tuple(dict.fromkeys((n, m, k)))))
    for i in (i for i in inputs if i.cost <= 1.01):
        for k, n in enumerate(straight):
            for m in straight[k:]:
                terms.append(
                    Term(
                        f"{i.code} * state.{n} * state.{m}", "drive", f"{i.label}_{_up(n)}_{_up(m)}", 1.6, (*i.of, n, m)
                    )
                )
    for s in (s for s in shaped if not s.grid):
        for n in straight:
            terms.append(Term(f"{s.code} * state.{n}", s.law, f"{s.label}_{_up(n)}", 1.6, (*s.of, n)))
    for n in straight:
        low, high = spans[n]
        size = max(abs(low), abs(high)) or 1.0
        place, up = f"state.{n}", _up(n)
        others = [(f" * state.{m}", f"_{_up(m)}", (n, m)) for m in straight if m != n]
        steep = tuple(np.geomspace(0.2, 20, 24) / size)
        terms.append(
            Term(
                f"np.tanh({{inner}} * {place})", "saturation", f"TANH_{up}", 2.1, (n,), steep, inner_label=f"STEEP_{up}"
            )
        )
        growth = tuple(sign * value for sign in (1, -1) for value in np.geomspace(0.05, 8, 20) / size)
        terms.append(
            Term(f"np.exp({{inner}} * {place})", "growth", f"EXP_{up}", 2.1, (n,), growth, inner_label=f"RATE_{up}")
        )
        if low > 0:
            half = tuple(size * np.geomspace(0.02, 10, 24))
            for code, label, of in (("", "", (n,)), *others):
                full = f"{place} / ({place} + {{inner}}){code}"
                terms.append(Term(full, "saturation", f"FULL_{up}{label}", 2.2, of, half, inner_label=f"HALF_{up}"))
                hot = f"np.exp(-{{inner}} / {place}){code}"
                terms.append(Term(hot, "growth", f"HEAT_{up}{label}", 2.3, of, half, inner_label=f"BARRIER_{up}"))
    return terms


def _may_turn(c: Coordinate, spans) -> bool:
    """Whether sines and cosines of the coordinate tell it from a straight line in the range that was seen."""
    low, high = spans[c.name]
    return c.angle or (high - low < 60 and max(abs(low), abs(high)) > 0.02)


def _once(terms: Sequence[Term]) -> list[Term]:
    return list({term.code: term for term in reversed(terms)}.values())[::-1]


def _up(name: str) -> str:
    return name.upper()
