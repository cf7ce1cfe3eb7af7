"""Hidden speeds in every row, as places ask for them, and constants that are fitted with the speeds moving along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.search.fit import costs_of, floor_of
from visualpatchworld.search.motion import Motion, Rate
from visualpatchworld.search.regress import OUTLYING, data_bits, weights_of
from visualpatchworld.search.rows import Field, Rows

SOLVING = 5  # Newton steps for speeds
STEPS = 8  # Gauss-Newton steps for constants
ROUGH = 3.0  # times a place's floor: the floor of a speed, which is made of differences
NUDGE = 1e-6  # relative, of a numerical slope


def successors(rows: Rows) -> Bool[np.ndarray, " N"]:
    """Rows that another row of the same episode follows."""
    found = np.zeros(len(rows), bool)
    found[:-1] = (rows.episode[1:] == rows.episode[:-1]) & (rows.time[1:] == rows.time[:-1] + 1)
    return found


def with_speeds(
    rows: Rows, places: Mapping[str, str], speeds: Float[np.ndarray, "N h"]
) -> tuple[Rows, Bool[np.ndarray, " N"]]:
    """The rows that have a successor, speeds of this and of the next row beside the fields; and which rows those are."""
    known = np.asarray(np.isfinite(speeds).all(axis=1))
    follows = successors(rows) & known & np.append(known[1:], False)
    at = np.flatnonzero(follows)
    first = rows.time == 0
    starts = [float(np.nanmean(column[first])) if np.isfinite(column[first]).any() else 0.0 for column in speeds.T]
    fields = [
        Field(speed, (), start=start, speed_of=place)
        for (place, speed), start in zip(places.items(), starts, strict=True)
    ]
    part = rows.taken(at)
    floors = [ROUGH * rows.floors[rows.at(place)] for place in places]
    return replace(
        part,
        fields=(*rows.fields, *fields),
        before=np.concatenate([part.before, speeds[at]], axis=1),
        after=np.concatenate([part.after, speeds[at + 1]], axis=1),
        floors=np.concatenate([part.floors, floors]),
    ), follows


def solved(
    rows: Rows,
    motion: Motion,
    places: Mapping[str, str],
    speeds: Float[np.ndarray, "N h"],
    used: Bool[np.ndarray, " N"],
) -> Float[np.ndarray, "N h"]:
    """The speeds with which each place comes to where it is seen next.

    Where something else happened to a place (rows that are not `used`), the speed is what motion made of the one before.
    """
    wide, step = _stepper(rows, motion, places)
    columns = [rows.at(place) for place in places]
    count = len(columns)
    wanted = rows.after[:, columns]
    speeds = np.where(np.isfinite(speeds), speeds, rows.change[:, columns])
    slope = np.broadcast_to(np.eye(count), (len(rows), count, count))
    size = np.maximum(np.nanmedian(np.abs(speeds), axis=0), 1e-9)
    for turn in range(SOLVING):
        given = step(wide, speeds)
        if turn in (0, 2):
            nudged = [step(wide, speeds + NUDGE * size * unit)[:, columns] for unit in np.eye(count)]
            slope = np.stack(
                [(n - given[:, columns]) / (NUDGE * s) for n, s in zip(nudged, size, strict=True)], axis=-1
            )
            fine = np.isfinite(slope).all(axis=(1, 2)) & (np.abs(np.linalg.det(np.nan_to_num(slope))) > 1e-3)
            slope = np.where(fine[:, None, None], slope, np.eye(count))
        off = np.nan_to_num(wanted - given[:, columns], posinf=0.0, neginf=0.0)
        speeds = speeds + np.linalg.solve(slope, off[:, :, None])[:, :, 0]
    return _carried(rows, step, wide, speeds, used, count)


def _carried(rows, step, wide, speeds, used, count) -> Float[np.ndarray, "N h"]:
    lost = np.flatnonzero(~used & np.append(False, successors(rows)[:-1]))
    for _ in range(8):  # several such rows may follow each other
        if not len(lost):
            break
        speeds = speeds.copy()
        speeds[lost] = step(wide, speeds)[lost - 1][:, -count:]
    return speeds


def _stepper(rows: Rows, motion: Motion, places: Mapping[str, str]):
    """All rows with room for the speeds, and a step of them with given speeds."""
    fields = [Field(speed, (), speed_of=place) for place, speed in places.items()]
    room = np.zeros((len(rows), len(places)))
    wide = replace(
        rows,
        fields=(*rows.fields, *fields),
        before=np.concatenate([rows.before, room], axis=1),
        after=np.concatenate([rows.after, room], axis=1),
        floors=np.concatenate([rows.floors, np.ones(len(places))]),
    )

    def step(wide: Rows, speeds: np.ndarray, motion: Motion = motion) -> np.ndarray:
        before = wide.before.copy()
        before[:, -len(places) :] = speeds
        return motion.step(wide, start=before)[0]

    return wide, step


def _numbers(motion: Motion, speeds: Sequence[str]) -> list[tuple[str, int, int]]:
    """The numbers of the rates of speeds: by field and term, the weight (-1) and those inside."""
    return [
        (name, place, slot)
        for name in speeds
        for place, term in enumerate(motion.rates[name].terms)
        for slot in range(-1, len(term.free_values))
    ]


def _value(motion: Motion, key: tuple[str, int, int]) -> float:
    rate = motion.rates[key[0]]
    return rate.weights[key[1]] if key[2] < 0 else rate.terms[key[1]].free_values[key[2]]


def _changed(motion: Motion, key: tuple[str, int, int], value: float) -> Motion:
    name, place, slot = key
    rate = motion.rates[name]
    terms, weights = list(rate.terms), list(rate.weights)
    if slot < 0:
        weights[place] = value
    else:
        inner = list(terms[place].free_values)
        inner[slot] = value
        terms[place] = terms[place].with_free(inner)
    return replace(motion, rates={**motion.rates, name: Rate(tuple(terms), tuple(weights))})


@dataclass(frozen=True)
class Fit:
    motion: Motion
    speeds: Float[np.ndarray, "N h"]
    residual: Float[np.ndarray, "M h"]  # of the speeds, in rows that have a successor
    bits: float


def fit_speeds(
    rows: Rows,
    motion: Motion,
    places: Mapping[str, str],
    speeds: Float[np.ndarray, "N h"],
    used: Bool[np.ndarray, " N"],
) -> Fit:
    """The constants with which speeds that places ask for follow their own rates, by Gauss-Newton.

    A constant moves the speeds, too: both are varied together.
    """
    names = list(places.values())
    best: Fit | None = None
    for _ in range(STEPS):
        speeds = solved(rows, motion, places, speeds, used)
        now = _judged(rows, motion, places, speeds, used)
        if best is not None and now.bits > best.bits - 1.0:
            return now if now.bits < best.bits else best
        best = now
        keys = _numbers(motion, names)
        if not keys:
            break
        slopes = slopes_of(rows, motion, places, speeds, keys)
        _, mask = pairs(rows, used)
        for column in range(slopes.shape[2]):  # rows far off the rest follow another rule
            off = np.abs(now.residual[:, column])
            mask &= off <= OUTLYING * max(float(np.median(off[mask])), 1e-300) if mask.any() else mask
        floors = np.array([floor_of(rows, rows.at(place)) for place in places])
        table = np.concatenate([slopes[mask][:, :, c] / floors[c] for c in range(len(names))])
        wanted = np.concatenate([now.residual[mask][:, c] / floors[c] for c in range(len(names))])
        if not np.isfinite(table).all() or len(table) < 2 * len(keys):
            break
        moves = weights_of(table, wanted)
        for key, move in zip(keys, moves, strict=True):
            value = _value(motion, key)
            limit = np.inf if key[2] < 0 else 0.3 * max(abs(value), 1e-6)
            motion = _changed(motion, key, value + float(np.clip(move, -limit, limit)))
    assert best is not None
    return best


def pairs(rows: Rows, used: Bool[np.ndarray, " N"]) -> tuple[np.ndarray, Bool[np.ndarray, " M"]]:
    at = np.flatnonzero(successors(rows))
    return at, used[at] & used[at + 1]


def _judged(rows: Rows, motion: Motion, places: Mapping[str, str], speeds: np.ndarray, used: np.ndarray) -> Fit:
    wide, step = _stepper(rows, motion, places)
    at, mask = pairs(rows, used)
    residual = speeds[at + 1] - step(wide, speeds)[at][:, -len(places) :]
    bits = 0.0
    for c, (place, speed) in enumerate(places.items()):
        left = np.nan_to_num(residual[mask, c], nan=1e30)
        bits += data_bits(left, floor_of(rows, rows.at(place))) + float(costs_of(motion.rates[speed].terms).sum())
    return Fit(motion, speeds, residual, bits)


def slopes_of(
    rows: Rows, motion: Motion, places: Mapping[str, str], speeds: np.ndarray, keys: Sequence[tuple[str, int, int]]
) -> Float[np.ndarray, "M p h"]:
    """By row, number and speed: how much less is left of the speed when the number grows."""
    wide, step = _stepper(rows, motion, places)
    columns = [rows.at(place) for place in places]
    count = len(columns)
    at = np.flatnonzero(successors(rows))
    base = step(wide, speeds)
    size = np.maximum(np.nanmedian(np.abs(speeds), axis=0), 1e-9)
    by_speed = np.stack(
        [
            (step(wide, speeds + NUDGE * s * unit) - base) / (NUDGE * s)
            for s, unit in zip(size, np.eye(count), strict=True)
        ],
        axis=-1,
    )
    inverse = np.linalg.pinv(np.nan_to_num(by_speed[:, columns]))
    found = []
    for key in keys:
        value = _value(motion, key)
        nudge = NUDGE * max(abs(value), 1e-3)
        moved = (step(wide, speeds, _changed(motion, key, value + nudge)) - base) / nudge
        along = -np.einsum("nij,nj->ni", inverse, np.nan_to_num(moved[:, columns]))  # what the speed does then
        ahead = moved[at][:, -count:] + np.einsum("nij,nj->ni", by_speed[at][:, -count:], along[at])
        found.append(ahead - along[at + 1])
    return np.stack(found, axis=1)
