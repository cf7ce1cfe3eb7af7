"""Limits that explain event rows: walls, stops, switches and collisions,
each kept only if it owns rows and breaks none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from visualpatchworld.induction.clock import NO_LIMIT, Clock
from visualpatchworld.induction.draft import Draft
from visualpatchworld.induction.march import march
from visualpatchworld.induction.motion import Limit, Rates
from visualpatchworld.induction.reading import Reading
from visualpatchworld.induction.stops import halts, soft_stops
from visualpatchworld.induction.switches import turns, turns_alone
from visualpatchworld.induction.terms import Rows
from visualpatchworld.induction.walls import (
    LEAST_ROWS,
    Unexplained,
    blocked_cells,
    clips,
    collisions,
    moving_walls,
    springy_walls,
    turned_over,
    walls,
)

LEAST_BITS = 4.0  # a limit lowers what is left by at least so much
MOST_LIMITS = 8
# Of what was left to explain: a limit that leaves no more than this may be a little off where nothing was.
FAR_LESS = 0.6
RUN_AWAY = 1e9  # stands for what is not finite
# This part of normal errors is below so many standard deviations; walls may own most rows.
QUIET, QUIET_SPREAD = 0.25, 0.3186


def unexplained(
    draft: Draft, rows: Rows, noise: Float[np.ndarray, " S"], tolerance: Float[np.ndarray, " S"] | None = None
) -> Unexplained:
    """Rows whose next state the draft misses by far more than it misses most, and by more than noise."""
    given = march(draft.program, rows.before, rows.actions[:, None, :])[:, 0]
    off = np.where(np.isfinite(given), rows.after - given, 1e9)
    if tolerance is None:
        usual = np.quantile(np.abs(off), QUIET, axis=0) / QUIET_SPREAD
        motion = np.maximum(np.std(rows.after - rows.before, axis=0), 1e-12)
        tolerance = np.maximum(np.maximum(10 * usual, 8 * noise), 1e-7 * motion)
    return Unexplained(np.asarray((np.abs(off) > tolerance).any(axis=1)), off, tolerance)


def find_limits(
    reading: Reading,
    rows: Rows,
    noise: Float[np.ndarray, " S"],
    build: Callable[[Sequence[Limit]], Draft],
    rates: Rates | None = None,
    clock: Clock = NO_LIMIT,
) -> tuple[list[Limit], Unexplained]:
    """Limits taken one after the other, each time the one that explains most rows; and the rows that stay unexplained.

    Stops that act as forces are tried where the rates that the draft is built of are given.
    """
    taken: list[Limit] = []
    open_rows = unexplained(build(taken), rows, noise)
    tolerance = open_rows.tolerance
    while open_rows.rows.sum() >= LEAST_ROWS and len(taken) < MOST_LIMITS and not clock.over:
        best, least, count = None, open_rows.bits - LEAST_BITS, int(open_rows.rows.sum())
        candidates = _candidates(reading, rows, build(taken), open_rows, taken)
        if rates is not None:
            candidates += soft_stops(reading, rates, rows, open_rows.off, tolerance, build, taken, clock)
        for limit in candidates:
            if clock.over:
                break
            try:
                trial = unexplained(build([*taken, limit]), rows, noise, tolerance)
            except (ValueError, NameError):  # two laws of one name, or a limit of what nothing moves
                continue
            # A dearer limit must explain more; one that breaks rows that were explained is invented, unless it explains
            # far more.
            if (trial.rows.sum() <= count or trial.bits < FAR_LESS * open_rows.bits) and trial.bits + len(
                limit.numbers
            ) < least:
                best, least = limit, trial.bits + len(limit.numbers)
        if best is None:
            break
        taken.append(best)
        open_rows = unexplained(build(taken), rows, noise, tolerance)
    return taken, open_rows


def _candidates(
    reading: Reading, rows: Rows, draft: Draft, open_rows: Unexplained, taken: Sequence[Limit]
) -> list[Limit]:
    given = march(draft.program, rows.before, rows.actions[:, None, :])[:, 0]
    given = np.where(np.isfinite(given), np.clip(given, -RUN_AWAY, RUN_AWAY), RUN_AWAY)
    found: list[Limit] = []
    used = {number.name for limit in taken for number in limit.numbers}
    for c in reading.coordinates:
        if turns_alone(reading, c, rows):
            found += turns(reading, c, rows)
            continue
        for field in (c.velocity, c.name):
            if field is None:
                continue
            k = rows.names.index(field)
            events = np.abs(open_rows.off[:, k]) > open_rows.tolerance[k]
            if events.sum() >= LEAST_ROWS:
                found += clips(c, field, rows.after[:, k], given[:, k], events, open_rows.tolerance[k])
                found += turned_over(c, field, rows.after[:, k], given[:, k], events, open_rows.tolerance[k])
        if c.velocity is not None:
            found += halts(c, rows, given, open_rows.off, open_rows.tolerance)
            found += walls(c, rows, given, open_rows)
            found += [
                wall
                for other in reading.coordinates
                if other is not c
                for wall in moving_walls(c, other, rows, given, open_rows)
            ]
            found += springy_walls(c, rows, given, open_rows)
    found += blocked_cells(reading, rows, given, open_rows)
    found += collisions(reading, rows, given, open_rows.off, open_rows.tolerance)
    return [limit for limit in found if not used & {number.name for number in limit.numbers}]
