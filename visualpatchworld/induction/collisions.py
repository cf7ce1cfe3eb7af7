"""Collisions of discs: two bodies that are driven apart when they
are near and closing in, found by pushes that are opposite.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from jaxtyping import Float

from visualpatchworld.induction.motion import Limit, Number
from visualpatchworld.induction.reading import Coordinate, Reading
from visualpatchworld.induction.regress import robust_fit, shortest_between
from visualpatchworld.induction.terms import Rows

LEAST_COLLISIONS = 3  # steps that show two bodies meeting
OPPOSITE = 0.98  # how closely two pushes must be opposite, as a correlation


def contacts(
    reading: Reading,
    rows: Rows,
    given: Float[np.ndarray, "N S"],
    off: Float[np.ndarray, "N S"],
    tolerance: Float[np.ndarray, " S"],
) -> list[Limit]:
    """Limits that drive two bodies apart when they are near and
    closing in; bodies are found by pushes that are opposite.
    """
    moving = [c for c in reading.coordinates if c.velocity is not None and not c.angle]
    column = {name: k for k, name in enumerate(rows.names)}
    partners = []
    for one, other in combinations(moving, 2):
        j, k = column[one.velocity or ""], column[other.velocity or ""]
        both = (np.abs(off[:, j]) > tolerance[j]) & (np.abs(off[:, k]) > tolerance[k])
        if both.sum() < LEAST_COLLISIONS:
            continue
        a, b = off[both, j], off[both, k]
        likeness = float(a @ b / np.sqrt((a @ a) * (b @ b)))
        if likeness < -OPPOSITE:
            partners.append((one, other))
    found = []
    for size in (2, 1):
        for pairs in combinations(partners, size):
            firsts, seconds = [p[0] for p in pairs], [p[1] for p in pairs]
            if len({c.name for c in (*firsts, *seconds)}) == 2 * size:
                found += _collisions(firsts, seconds, rows, given, off, tolerance)
    return found


def _collisions(firsts: list[Coordinate], seconds: list[Coordinate], rows: Rows, given, off, tolerance) -> list[Limit]:
    column = {name: k for k, name in enumerate(rows.names)}
    places = [(column[a.name], column[b.name]) for a, b in zip(firsts, seconds, strict=True)]
    speeds = [(column[a.velocity or ""], column[b.velocity or ""]) for a, b in zip(firsts, seconds, strict=True)]
    hit = np.any([np.abs(off[:, j]) > tolerance[j] for j, _ in speeds], axis=0)
    out = []
    for phase, states in (("velocity", rows.before), ("coordinate", given)):
        gap = np.stack([states[:, b] - states[:, a] for a, b in places], axis=-1)
        far = np.linalg.norm(gap, axis=-1)
        normal = gap / np.maximum(far, 1e-12)[:, None]
        closing = np.sum([(given[:, a] - given[:, b]) * normal[:, n] for n, (a, b) in enumerate(speeds)], axis=0)
        lost = np.sum([-off[:, a] * normal[:, n] for n, (a, _) in enumerate(speeds)], axis=0)
        gained = np.sum([off[:, b] * normal[:, n] for n, (_, b) in enumerate(speeds)], axis=0)
        met = hit & (closing > 0)
        if met.sum() < LEAST_COLLISIONS:
            continue
        one = robust_fit(closing[met][:, None], lost[met])
        two = robust_fit(closing[met][:, None], gained[met])
        apart = ~hit & (closing > 0)
        if one.coefficients[0] <= 0 or two.coefficients[0] <= 0 or not apart.any():
            continue
        nearest = float(far[apart].min())
        farthest = float(np.quantile(far[met], 0.95))
        if nearest < 0.8 * farthest:
            continue
        touched = float(far[met & (far <= max(nearest, farthest))].max())
        reach = shortest_between(touched, nearest) if touched < nearest else touched
        out.append(_limit(firsts, seconds, phase, reach, float(one.coefficients[0]), float(two.coefficients[0])))
    return out


def _limit(firsts, seconds, phase, reach: float, one: float, two: float) -> Limit:
    tag = f"{firsts[0].name}_{seconds[0].name}"
    upper = tag.upper()
    prefix = "state." if phase == "velocity" else ""
    gaps = [f"gap_{tag}_{n + 1}" for n in range(len(firsts))]
    lines = [f"{g} = {prefix}{b.name} - {prefix}{a.name}" for g, a, b in zip(gaps, firsts, seconds, strict=True)]
    lines.append(f"far_{tag} = np.sqrt({' + '.join(f'{g} ** 2' for g in gaps)})")
    relative = " + ".join(f"({a.velocity} - {b.velocity}) * {g}" for a, b, g in zip(firsts, seconds, gaps, strict=True))
    lines.append(f"closing_{tag} = ({relative}) / far_{tag}")
    lines.append(
        f"hit_{tag} = np.where((far_{tag} < {upper}_REACH) & (closing_{tag} > 0), closing_{tag} / far_{tag}, 0.0)"
    )
    for a, b, g in zip(firsts, seconds, gaps, strict=True):
        lines.append(f"{a.velocity} = {a.velocity} - {upper}_PUSH * hit_{tag} * {g}")
        lines.append(f"{b.velocity} = {b.velocity} + {upper}_PUSHED * hit_{tag} * {g}")
    numbers = (
        Number(f"{upper}_REACH", reach, doc="distance at which the two collide", free=False),
        Number(f"{upper}_PUSH", one, doc="part of the closing speed that the first loses"),
        Number(f"{upper}_PUSHED", two, doc="part of the closing speed that the second gains"),
    )
    return Limit(phase, tuple(lines), numbers, "collision", tuple(c.name for c in (*firsts, *seconds)))
