"""What stands in the way: clips, walls and stops of a coordinate, cells that nobody enters, walls that
move, and discs that collide; each as a limit that may explain the steps in which it shows.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.induction.events import in_cells
from visualpatchworld.induction.motion import Limit, Number
from visualpatchworld.induction.reading import Coordinate, Reading
from visualpatchworld.induction.regress import robust_fit, shortest_between, solve
from visualpatchworld.induction.terms import Rows

LEAST_ROWS = 2  # a limit owns at least so many
MOST_OF_RANGE = 0.5  # of a field's range that it jumps by at least where it begins anew
MOST_CELLS = 40  # of a grid that are named one by one
MOVING_ROWS = 4  # that a wall which moves owns at least

LEAST_COLLISIONS = 3  # steps that show two bodies meeting
OPPOSITE = 0.98  # how closely two pushes must be opposite, as a correlation


class Unexplained(NamedTuple):
    """Steps that a program does not give: which rows, by how much in each field, and what counts as given."""

    rows: Bool[np.ndarray, " N"]
    off: Float[np.ndarray, "N S"]
    tolerance: Float[np.ndarray, " S"]

    @property
    def bits(self) -> float:
        """How much is left to explain: per row the logarithm of its largest error in units of what counts as given."""
        return float(np.sum(np.log2(1 + np.max(np.abs(self.off) / self.tolerance, axis=1)) * self.rows))


def clips(c: Coordinate, field: str, after, given, events, tolerance) -> list[Limit]:
    """A field that never passes a value: the value is the farthest that was seen."""
    phase = "velocity" if field == c.velocity or c.velocity is None else "coordinate"
    name, out = field.upper(), []
    high, low = float(after.max()), float(after.min())
    above = events & (given > high + tolerance) & (np.abs(after - high) <= 2 * tolerance)
    below = events & (given < low - tolerance) & (np.abs(after - low) <= 2 * tolerance)
    # The middle of the clipped values is surer than their extreme where rounding or noise moves them, and the surer the
    # more there are.
    high = float(np.median(after[above])) if above.any() else high
    low = float(np.median(after[below])) if below.any() else low
    if above.sum() + below.sum() >= LEAST_ROWS and abs(high + low) <= 2 * tolerance + 1e-6 * abs(high):
        top = _short((high - low) / 2, tolerance / (4 * np.sqrt(above.sum() + below.sum())))
        number = Number(f"{name}_TOP", top, doc=f"{field} is clipped there, both ways", free=False)
        out.append(Limit(phase, (f"{field} = np.clip({field}, -{name}_TOP, {name}_TOP)",), (number,), "clip", (field,)))
    if above.sum() >= LEAST_ROWS:
        number = Number(
            f"{name}_MOST",
            _short(high, tolerance / (4 * np.sqrt(above.sum()))),
            doc=f"{field} is clipped there",
            free=False,
        )
        out.append(Limit(phase, (f"{field} = np.minimum({field}, {name}_MOST)",), (number,), "clip", (field,)))
    if below.sum() >= LEAST_ROWS:
        number = Number(
            f"{name}_LEAST",
            _short(low, tolerance / (4 * np.sqrt(below.sum()))),
            doc=f"{field} is clipped there",
            free=False,
        )
        out.append(Limit(phase, (f"{field} = np.maximum({field}, {name}_LEAST)",), (number,), "clip", (field,)))
    return out


def turned_over(c: Coordinate, field: str, after, given, events, tolerance) -> list[Limit]:
    """A field that begins anew from the other end of its range:
    a clock, a heading in degrees, a world without borders.
    """
    jumps = after[events] - given[events]
    period = float(np.median(np.abs(jumps)))
    whole = np.abs(np.abs(jumps) - period) <= 4 * tolerance
    if c.angle or field == c.velocity or whole.sum() < LEAST_ROWS or period < MOST_OF_RANGE * np.ptp(after):
        return []
    down, up = (events.copy() for _ in range(2))
    down[events], up[events] = whole & (jumps < 0), whole & (jumps > 0)
    usual = given[~events]
    # A range begins at or below all that stays in it, and above all that comes into it from below.
    least = max([*(given[up]).tolist(), float(usual.max()) - period])
    most = min([*(given[down] - period).tolist(), float(usual.min())])
    if least >= most:
        return []
    name, size = field.upper(), _short(period, tolerance)
    begin = next((option for option in (0.0, -size / 2) if least < option <= most), shortest_between(least, most))
    numbers = [Number(f"{name}_PERIOD", size, doc=f"after which {field} begins anew", free=False)]
    line = f"{field} = {field} % {name}_PERIOD"
    if begin:
        numbers.append(Number(f"{name}_BEGIN", begin, doc=f"where the range of {field} begins", free=False))
        line = f"{field} = ({field} - {name}_BEGIN) % {name}_PERIOD + {name}_BEGIN"
    return [Limit("coordinate" if c.velocity else "velocity", (line,), tuple(numbers), "wrap", (field,))]


def walls(c: Coordinate, rows: Rows, given, open_rows: Unexplained) -> list[Limit]:
    """Stops and bounces of a coordinate at its least or greatest value."""
    assert c.velocity is not None
    i, j = rows.names.index(c.name), rows.names.index(c.velocity)
    q, v, new_q, new_v = given[:, i], given[:, j], rows.after[:, i], rows.after[:, j]
    slack_q, slack_v = open_rows.tolerance[i], open_rows.tolerance[j]
    events = open_rows.rows & ((np.abs(open_rows.off[:, i]) > slack_q) | (np.abs(open_rows.off[:, j]) > slack_v))
    out: list[Limit] = []
    for side, word, cmp in ((1, "HIGH", ">"), (-1, "LOW", "<")):
        hit = events & (side * v > 0)
        if hit.sum() < LEAST_ROWS:
            continue
        name = f"{c.name.upper()}_{word}"
        keep = "np.minimum" if side > 0 else "np.maximum"
        edges: dict[str, float] = {}
        held = hit & (np.abs(new_q - np.median(new_q[hit])) <= 4 * slack_q)
        if held.sum() >= LEAST_ROWS and held.mean() > 0:
            edges["clip"] = _short(float(np.median(new_q[held])), slack_q)
        extreme = float(new_q.max() if side > 0 else new_q.min())
        at_extreme = hit & (np.abs(new_q - extreme) <= 4 * slack_q)
        if at_extreme.sum() >= LEAST_ROWS:
            edges["extreme"] = _short(extreme, slack_q)
        middle = (new_q[hit] + q[hit]) / 2
        mirrored = float(np.median(middle))
        if (np.abs(middle - mirrored) <= 4 * slack_q).sum() >= LEAST_ROWS:
            edges["mirror"] = _short(mirrored, slack_q)
        sunk = _sunk(q[hit], new_q[hit], slack_q)
        if sunk is not None:
            edges["part"] = sunk
        usual = ~events & (side * v > 0)
        inside = float((side * q[usual]).max()) if usual.any() else -np.inf
        turned = hit & (side * new_v < 0)
        if turned.any():
            first = float((side * q[turned]).min())
            if np.isfinite(inside) and first > inside:
                edges["bracket"] = side * shortest_between(inside, first)
        for kind, edge in edges.items():
            beyond = hit & (side * (q - edge) > 0)
            if beyond.sum() < LEAST_ROWS:
                continue
            back = float(np.median(-new_v[beyond] / v[beyond]))
            back = 0.0 if np.abs(new_v[beyond]).max() <= 2 * slack_v else back
            number = Number(f"{name}_WALL", edge, doc=f"{c.name} is stopped there", free=False)
            test = f"({c.name} {cmp} {name}_WALL) & ({c.velocity} {cmp} 0)"
            moves = {
                "clip": [f"{c.name} = {keep}({c.name}, {name}_WALL)"],
                "extreme": [f"{c.name} = {keep}({c.name}, {name}_WALL)"],
                "mirror": [f"{c.name} = {keep}({c.name}, 2 * {name}_WALL - {c.name})"],
                "part": [f"{c.name} = {keep}({c.name}, {name}_WALL + {name}_BOUNCE * ({name}_WALL - {c.name}))"],
                "bracket": [],
            }[kind]
            if kind == "part" and not 0 < back <= 1.2:
                continue
            if abs(back) <= 1e-9:
                lines = (f"{c.velocity} = np.where({test}, 0.0, {c.velocity})", *moves)
                out.append(Limit("coordinate", lines, (number,), "stop", (c.name,)))
            elif 0 < back <= 1.2:
                bounce = Number(
                    f"{name}_BOUNCE",
                    _short(back, 1e-7 * max(1.0, back)),
                    doc="part of the speed that it leaves the wall with",
                    free=True,
                )
                lines = (f"{c.velocity} = np.where({test}, -{name}_BOUNCE * {c.velocity}, {c.velocity})", *moves)
                out.append(Limit("coordinate", lines, (number, bounce), "bounce", (c.name,)))
            if moves and kind != "part":
                out.append(Limit("coordinate", tuple(moves), (number,), "clip", (c.name,)))
    return out


def blocked_cells(reading: Reading, rows: Rows, given: Float[np.ndarray, "N S"], open_rows: Unexplained) -> list[Limit]:
    """Cells of a grid that nobody enters: whoever would, stays where he is."""
    if not in_cells(rows):
        return []
    names = [c.name for c in reading.coordinates]
    k = [rows.names.index(name) for name in names]
    before, after, wanted = rows.before[:, k], rows.after[:, k], np.round(given[:, k])
    entered = {tuple(cell) for cell in np.concatenate([before, after]).tolist()}
    stayed = open_rows.rows & (after == before).all(axis=1) & (wanted != before).any(axis=1)
    # Beyond the cells that were seen a clip says the same of all of them.
    stayed &= ((wanted >= after.min(axis=0)) & (wanted <= after.max(axis=0))).all(axis=1)
    cells = sorted({tuple(cell) for cell in wanted[stayed].tolist()} - entered)
    if not 0 < len(cells) <= MOST_CELLS:
        return []
    tests = [" & ".join(f"({name} == {value:g})" for name, value in zip(names, cell, strict=True)) for cell in cells]
    lines = [f"blocked = {tests[0]}", *(f"blocked = blocked | ({test})" for test in tests[1:])]
    lines += [f"{name} = np.where(blocked, state.{name}, {name})" for name in names]
    return [Limit("coordinate", tuple(lines), (), "wall", tuple(names))]


def _sunk(q: Float[np.ndarray, " N"], new_q: Float[np.ndarray, " N"], slack: float) -> float | None:
    """The wall from which coordinates come back by one part of how
    far they had sunk into it; None where no line shows one.
    """
    if len(q) < 2 * LEAST_ROWS or np.ptp(q) <= 4 * slack:
        return None
    fit = robust_fit(np.stack([q, np.ones(len(q))], axis=-1), new_q)
    part = -float(fit.coefficients[0])
    if not 0.01 < part < 1.2 or (np.abs(fit.left) <= 4 * slack).sum() < 2 * LEAST_ROWS:
        return None
    return _short(float(fit.coefficients[1]) / (1 + part), slack)


def moving_walls(c: Coordinate, other: Coordinate, rows: Rows, given, open_rows: Unexplained) -> list[Limit]:
    """Stops and bounces of a coordinate where another one is just then: a paddle, a piston."""
    if c.velocity is None or c.angle or other.angle:
        return []
    i, j, k = rows.names.index(c.name), rows.names.index(c.velocity), rows.names.index(other.name)
    out: list[Limit] = []
    for side, cmp, keep in ((1, ">", "np.minimum"), (-1, "<", "np.maximum")):
        beyond = open_rows.rows & (side * (given[:, i] - given[:, k]) > 0) & (side * given[:, j] > 0)
        met = beyond & (
            np.abs(rows.after[:, i] - rows.after[:, k]) <= 4 * (open_rows.tolerance[i] + open_rows.tolerance[k])
        )
        if met.sum() < MOVING_ROWS or met.sum() < 0.5 * beyond.sum():
            continue
        name = f"{c.name.upper()}_{other.name.upper()}_BOUNCE"
        back = float(np.median(-rows.after[met, j] / given[met, j]))
        test = f"({c.name} {cmp} {other.name}) & ({c.velocity} {cmp} 0)"
        moved = f"{c.name} = {keep}({c.name}, {other.name})"
        if abs(back) <= 1e-6:
            out.append(
                Limit(
                    "coordinate",
                    (f"{c.velocity} = np.where({test}, 0.0, {c.velocity})", moved),
                    (),
                    "stop",
                    (c.name, other.name),
                )
            )
        elif 0 < back <= 1.2:
            number = Number(name, _short(back, 1e-7), doc=f"part of the speed that {c.name} leaves {other.name} with")
            lines = (f"{c.velocity} = np.where({test}, -{name} * {c.velocity}, {c.velocity})", moved)
            out.append(Limit("coordinate", lines, (number,), "bounce", (c.name, other.name)))
    return out


def springy_walls(c: Coordinate, rows: Rows, given, open_rows: Unexplained) -> list[Limit]:
    """A spring and damper beyond an edge, which may also take the
    place of a part of the other forces, as engines' constraints do.
    """
    assert c.velocity is not None
    i, j = rows.names.index(c.name), rows.names.index(c.velocity)
    q, v, new_v, free_v = rows.before[:, i], rows.before[:, j], rows.after[:, j], given[:, j]
    events = np.abs(open_rows.off[:, j]) > open_rows.tolerance[j]
    out = []
    for side, word, cmp, push in ((1, "HIGH", ">", "np.minimum"), (-1, "LOW", "<", "np.maximum")):
        hit = events & (side * open_rows.off[:, j] < 0)
        usual = ~events
        if hit.sum() < 3 or not usual.any():
            continue
        first = float((side * q[hit]).min())
        below = side * q[usual]
        last = float(below[below <= first].max()) if (below <= first).any() else -np.inf
        # Beyond the edge only steps that the stop does not hold back may look usual.
        if not np.isfinite(last) or (below > first).sum() > 3 * hit.sum() or first < np.quantile(side * q, 0.5):
            continue
        name, place, speed = f"{c.name.upper()}_{word}", c.name, c.velocity
        change, free = new_v[hit] - v[hit], free_v[hit] - v[hit]
        fits: list[tuple[str, dict[str, float], float]] = []
        spring = np.stack([side * q[hit], np.ones(hit.sum()), v[hit]], axis=-1)
        for damped in (False, True):
            columns = spring if damped else spring[:, :2]
            beta = solve(columns, change - free)
            if side * beta[0] < 0:
                edge = float(-beta[1] / beta[0])
                fits.append(
                    (
                        "spring",
                        {"STIFF": -side * float(beta[0]), "DAMP": -float(beta[2]) if damped else 0.0},
                        side * edge,
                    )
                )
        if hit.sum() >= 6:
            edge = side * shortest_between(last, first)
            columns = np.stack([free, -(q[hit] - edge), -v[hit]], axis=-1)
            keep, stiff, damp = (float(x) for x in solve(columns, change))
            if 0 <= keep < 1 and damp > 0:
                fits.append(("constraint", {"KEEP": keep, "STIFF": stiff, "DAMP": damp}, edge))
        for kind, values, edge in fits:
            numbers = [Number(f"{name}_EDGE", edge, doc=f"{place} is pushed back beyond it", free=False)]
            numbers += [
                Number(f"{name}_{key}", value, doc=f"of the soft stop, per step: {key.lower()}")
                for key, value in values.items()
                if value
            ]
            parts = [f"{name}_STIFF * (state.{place} - {name}_EDGE)"] + (
                [f"{name}_DAMP * state.{speed}"] if values.get("DAMP") else []
            )
            kept = f"state.{speed} + {name}_KEEP * ({speed} - state.{speed})" if kind == "constraint" else speed
            pushed = f"{push}({speed}, {kept} - {' - '.join(parts)})"
            line = f"{speed} = np.where(state.{place} {cmp} {name}_EDGE, {pushed}, {speed})"
            out.append(Limit("velocity", (line,), tuple(numbers), "soft stop", (place,)))
    return out


def _short(value: float, slack: float) -> float:
    """The shortest number within the slack."""
    for digits in range(1, 12):
        option = float(f"{value:.{digits}g}")
        if abs(option - value) <= slack:
            return option
    return value


def collisions(
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
                found += _collisions_of(firsts, seconds, rows, given, off, tolerance)
    return found


def _collisions_of(
    firsts: list[Coordinate], seconds: list[Coordinate], rows: Rows, given, off, tolerance
) -> list[Limit]:
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
