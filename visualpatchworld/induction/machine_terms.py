"""Products that vehicles, cranes and pucks have: the tangent of a steering
angle, a pendulum whose length changes, dry friction in a plane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from visualpatchworld.induction.reading import Coordinate, Reading
from visualpatchworld.induction.terms import Term

STEERS = 1.5  # rad: beyond it the tangent of an angle is no law
SLOW = 1e-6  # speeds below which a direction is nothing

Spans = Mapping[str, tuple[float, float]]


def machine_terms(
    reading: Reading, own: Coordinate, inputs: Sequence[Term], turning: Sequence[Coordinate], spans: Spans
) -> list[Term]:
    """Such terms for the rate of one coordinate."""
    straight = [n for n in reading.state_names if not any(c.name == n and c.angle for c in reading.coordinates)]
    terms = []
    for n in straight:
        low, high = spans.get(n, (0.0, 0.0))
        if low < 0 < high and max(-low, high) < STEERS and own.velocity is None:
            for m in straight:
                if n not in (own.name, m):
                    code = f"state.{m} * np.tan(state.{n})"
                    terms.append(Term(code, "coupling", f"{m}_TAN_{n}".upper(), 1.5, (m, n)))
        if own.velocity and own in turning and low * high > 0 and n != own.name:
            terms += _over_length(own, inputs, n, [c.velocity for c in reading.coordinates if c.velocity])
    for other in reading.coordinates:
        if other is not own and own.velocity and other.velocity and not (own.angle or other.angle):
            mine, its = f"state.{own.velocity}", f"state.{other.velocity}"
            code = f"{mine} / np.maximum(np.hypot({mine}, {its}), {SLOW})"
            label = f"FRICTION_{other.velocity}".upper()
            terms.append(Term(code, "dry", label, 1.3, (own.velocity, other.velocity)))
    return terms


def _over_length(own: Coordinate, inputs: Sequence[Term], length: str, speeds: Sequence[str]) -> list[Term]:
    """What turns a pendulum of this length: weight, and what its pivot and its own length do."""
    terms = [
        Term(f"{i.code} * state.{own.velocity} / state.{length}", "drive", f"{i.label}_DRAG_PER_{length}".upper(), 1.5,
             (*i.of, str(own.velocity), length))
        for i in inputs
    ]  # fmt: skip
    for wave in ("sin", "cos"):
        code, word = f"np.{wave}(state.{own.name}) / state.{length}", f"{wave}_PER_{length}".upper()
        terms.append(Term(code, "field", word, 1.3, (own.name, length)))
        terms += [
            Term(f"{i.code} * {code}", "drive", f"{i.label}_{word}", 1.45, (*i.of, own.name, length)) for i in inputs
        ]
        terms += [
            Term(f"state.{v} * {code}", "coupling", f"{v}_{word}".upper(), 1.5, (v, own.name, length))
            for v in speeds
            if v != own.velocity
        ]
    return terms
