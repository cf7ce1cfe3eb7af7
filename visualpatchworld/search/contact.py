"""Contact of two bodies: what speeds exchange along the line of centres, and what is shoved out of another's way.

Bodies are fields that lie on the same axes, one axis or two. Guards are the distance of two bodies and whether they come
closer; what is set changes along the line between them. Nothing is known of radii, masses or losses: they are fitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.grammar.expr import Expr, call, number, product, total, var
from visualpatchworld.search.guards import FALSE_ALARM, LEAST, stumps
from visualpatchworld.search.motion import Motion, States
from visualpatchworld.search.rows import Rows

TOGETHER = 0.5  # of the rows in which one field of a contact is off, the others are off as well
ALIKE = 0.4  # of what was exchanged may be left: inside sub-steps contact does not show as it is
SAME = 0.5  # of the rows of a shove end at one and the same distance
CLOSE = 1e-5  # relative: distances that are the same

Contact = tuple[tuple[Expr, ...], tuple[tuple[str, Expr], ...]]  # guards, and what they set
Axes = tuple[tuple[str, str], ...]  # the fields of both bodies on each axis


def contacts(
    rows: Rows, motion: Motion, targets: Sequence[str], after: States, off: Bool[np.ndarray, "N F"]
) -> Iterator[Contact]:
    """Guards and assignments of contacts that rows which are off tell of."""
    yield from _impacts(rows, motion, targets, after, off)
    yield from _shoves(rows, motion, targets, after, off)


def _places(motion: Motion, targets: Sequence[str]) -> dict[str, str]:
    """By speed, the place that moves by it alone."""
    found = {}
    for place, rate in motion.rates.items():
        speed = rate.terms[0].name if len(rate.terms) == 1 else ""
        if speed in targets and place in targets and speed != place:
            found[speed] = place
    return found


def _impacts(
    rows: Rows, motion: Motion, targets: Sequence[str], after: States, off: Bool[np.ndarray, "N F"]
) -> Iterator[Contact]:
    place_of = _places(motion, targets)
    speeds = [name for name in place_of if off[:, rows.at(name)].sum() >= LEAST]
    for axes in _axes(speeds):
        columns = [rows.at(name) for pair in axes for name in pair]
        hit = np.asarray(off[:, columns].all(axis=1))
        if hit.sum() < LEAST or hit.sum() < TOGETHER * off[:, columns].any(axis=1).sum():
            continue
        gaps = [var(place_of[b]) - var(place_of[a]) for a, b in axes]
        apart, closing, along = _line(axes, gaps)
        values = rows.values(after)
        sets = []
        for pair in axes:
            for name in pair:
                change = (rows.after - after)[hit, rows.at(name)]
                shares = np.asarray(along[name].evaluate(values), float)[hit]
                large = np.abs(shares) >= np.median(np.abs(shares))
                weight = float(np.median(change[large] / np.where(shares[large] == 0, 1.0, shares[large])))
                if np.median(np.abs(change - weight * shares)) > ALIKE * np.median(np.abs(change)):
                    break
                sets.append((name, var(name) + number(weight, free=True) * along[name]))
        if len(sets) < len(columns):
            continue
        speed = np.asarray(closing.evaluate(values), float)
        side = "lt" if np.median(speed[hit]) < 0 else "gt"
        nearer = call(side, closing, 0.0)
        coming = np.asarray(speed < 0 if side == "lt" else speed > 0)
        reach = np.asarray(apart.evaluate(values), float)
        best = max(
            stumps(apart, reach, np.asarray(hit), np.asarray(coming | hit), FALSE_ALARM),
            key=lambda item: item[0],
            default=None,
        )
        if best is not None:
            yield (best[1], nearer), tuple(sets)


def _axes(speeds: Sequence[str]) -> Iterator[Axes]:
    """Ways in which speeds may belong to two bodies in a plane, or on a line."""
    for a, b, c, d in combinations(speeds, 4):
        yield from (((a, b), (c, d)), ((a, c), (b, d)), ((a, d), (b, c)))
    yield from (((a, b),) for a, b in combinations(speeds, 2))


def _line(axes: Axes, gaps: Sequence[Expr]) -> tuple[Expr, Expr, Mapping[str, Expr]]:
    """The distance of two bodies, how fast they come closer, and the part of that speed along each axis, by field."""
    if len(axes) == 1:
        ((a, b),) = axes
        relative = var(b) - var(a)
        return gaps[0], relative, {a: relative, b: relative}
    apart = call("hypot", *gaps)
    closing = total([(var(b) - var(a)) * gap for (a, b), gap in zip(axes, gaps, strict=True)])
    share = closing / total([gap * gap for gap in gaps])
    return apart, closing, {n: share * gap for pair, gap in zip(axes, gaps, strict=True) for n in pair}


def _shoves(
    rows: Rows, motion: Motion, targets: Sequence[str], after: States, off: Bool[np.ndarray, "N F"]
) -> Iterator[Contact]:
    """Two fields that otherwise stay, and that end at one distance of two others wherever they were moved."""
    still = [name for name in targets if name not in motion.rates or not motion.rates[name].terms]
    still = [name for name in still if off[:, rows.at(name)].sum() >= LEAST]
    others = [f.name for f in rows.fields if f.kind == "plain" and f.columns and f.name not in still]
    for b in combinations(still, 2):
        hit = off[:, [rows.at(name) for name in b]].any(axis=1)
        for a in permutations(others, 2):
            ends = rows.values(rows.after)
            reach = _same(np.hypot(*(ends[b[k]] - ends[a[k]] for k in range(2)))[hit])
            if reach is None:
                continue
            gaps = [var(b[k]) - var(a[k]) for k in range(2)]
            apart = call("hypot", *gaps)
            far = number(reach, free=True)
            stretch = far / apart
            yield (
                (call("lt", apart, far),),
                tuple((b[k], var(a[k]) + product(stretch, gaps[k])) for k in range(2)),
            )


def _same(values: Float[np.ndarray, " N"]) -> float | None:
    """The value that most of these are, if there is one."""
    ordered = np.sort(values)
    count = max(int(np.ceil(SAME * len(ordered))), LEAST)
    if len(ordered) < count:
        return None
    widths = ordered[count - 1 :] - ordered[: len(ordered) - count + 1]
    first = int(np.argmin(widths))
    middle = float(np.median(ordered[first : first + count]))
    return middle if widths[first] <= CLOSE * max(abs(middle), 1e-9) else None
