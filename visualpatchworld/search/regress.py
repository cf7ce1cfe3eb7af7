"""Sparse sums of terms: a beam over supports on one Gram matrix, and the bits that a sum leaves in the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

WIDTH = 24  # supports that are kept per size
SPREAD = 12  # best additions that are tried of each support
MOST = 10  # terms of one sum
DEPENDENT = 1e-10  # a column of which others leave less than this share adds nothing
OUTLYING = 8.0  # times the median residual: rows beyond follow another rule
STEADY_PASSES = 3  # fits, each without the rows that the one before left far off


@dataclass(frozen=True)
class Sum:
    """A weighted sum of candidate terms, by their places in the library, and what it leaves."""

    support: tuple[int, ...]
    weights: Float[np.ndarray, " k"]
    bits: float  # of the data given the sum, and of the sum


def data_bits(residual: Float[np.ndarray, " N"], floor: float) -> float:
    """The length of residuals in bits: nothing for what is within the floor, and no more than a logarithm for outliers."""
    off = np.abs(residual) / floor
    return float(np.sum(np.log2(1.0 + np.where(np.isfinite(off), off, 1e30))))


def beam(
    gram: Float[np.ndarray, "m m"],
    cross: Float[np.ndarray, " m"],
    groups: Sequence[Sequence[int]] | None = None,
    most: int = MOST,
    width: int = WIDTH,
    spread: int = SPREAD,
    begin: Sequence[tuple[int, ...]] = (),
) -> list[list[tuple[int, ...]]]:
    """The supports of each size, from one group of columns on, that leave the smallest sum of squares.

    Columns have unit length; supports to begin with join those of their size. A group comes as a whole: what each
    choice of an action does is one table.
    """
    groups = [(j,) for j in range(len(cross))] if groups is None else groups
    widest = max(map(len, groups))
    index = np.array([[*group, *[-1] * (widest - len(group))] for group in groups])
    real = index >= 0
    pairs = real[:, :, None] & real[:, None, :]
    inside = np.where(pairs, gram[index[:, :, None], index[:, None, :]], np.eye(widest))
    kept: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    found: list[list[tuple[int, ...]]] = []
    for _ in range(min(most, len(groups))):
        options: dict[tuple[int, ...], float] = {}
        for chosen, gained in kept:
            places = [column for group in chosen for column in groups[group]]
            left, own = cross, inside
            if places:
                block = gram[places]
                solved = np.linalg.solve(gram[np.ix_(places, places)] + 1e-13 * np.eye(len(places)), block)
                left = cross - cross[places] @ solved
                taken = np.einsum("kgi,kgj->gij", block[:, index], solved[:, index])
                own = np.where(pairs, inside - taken, np.eye(widest))
            gain = _gains(own, np.where(real, left[index], 0.0))
            gain[list(chosen)] = -1.0
            for g in np.argpartition(-gain, min(spread, len(gain) - 1))[:spread]:
                if gain[g] > 0:
                    options[tuple(sorted((*chosen, int(g))))] = gained + float(gain[g])
        for chosen in begin if len(found) + 1 in map(len, begin) else ():
            if len(chosen) == len(found) + 1 and chosen not in options:
                places = [column for group in chosen for column in groups[group]]
                solved = np.linalg.lstsq(gram[np.ix_(places, places)], cross[places], rcond=1e-13)[0]
                options[chosen] = float(cross[places] @ solved)
        if not options:
            break
        kept = sorted(options.items(), key=lambda item: -item[1])[:width]
        found.append([tuple(column for group in chosen for column in groups[group]) for chosen, _ in kept])
    return found


def _gains(own: Float[np.ndarray, "g w w"], left: Float[np.ndarray, "g w"]) -> Float[np.ndarray, " g"]:
    """The sum of squares that each group would take; groups that others already contain take nothing."""
    if own.shape[1] == 1:
        size = own[:, 0, 0]
        return np.where(size > DEPENDENT, left[:, 0] ** 2 / np.maximum(size, DEPENDENT), -1.0)
    independent = np.linalg.eigvalsh(own)[:, 0] > DEPENDENT
    safe = np.where(independent[:, None, None], own, np.eye(own.shape[1]))
    gain = np.einsum("gi,gi->g", left, np.linalg.solve(safe, left[:, :, None])[:, :, 0])
    return np.where(independent, gain, -1.0)


def normalised(columns: Float[np.ndarray, "N m"]) -> tuple[Float[np.ndarray, "N m"], Float[np.ndarray, " m"]]:
    """Columns of unit length and their lengths; what is not finite or zero becomes zero."""
    with np.errstate(all="ignore"):
        length = np.sqrt(np.einsum("nm,nm->m", columns, columns))
        usable = np.isfinite(length) & (length > 1e-12)
        return np.where(usable, columns, 0.0) / np.where(usable, length, 1.0), np.where(usable, length, 0.0)


def weights_of(
    columns: Float[np.ndarray, "N k"], target: Float[np.ndarray, " N"], rows: Bool[np.ndarray, " N"] | None = None
) -> Float[np.ndarray, " k"]:
    """Least squares on these rows, columns scaled first."""
    if rows is not None:
        columns, target = columns[rows], target[rows]
    size = np.maximum(np.sqrt(np.mean(columns**2, axis=0)), 1e-300)
    return np.linalg.lstsq(columns / size, target, rcond=1e-14)[0] / size


def steady_weights(
    columns: Float[np.ndarray, "N k"],
    target: Float[np.ndarray, " N"],
    rows: Bool[np.ndarray, " N"],
    floor: float,
    passes: int = STEADY_PASSES,
) -> tuple[Float[np.ndarray, " k"], Bool[np.ndarray, " N"]]:
    """Weights from most rows, and which rows those were: rows far off the rest are left out."""
    used = rows
    if np.array_equal(target, np.round(target)):  # whole numbers: most rows are met exactly, and the rest not at all
        return least_absolute(columns, target, rows), rows
    weights = weights_of(columns, target, used)
    for _ in range(passes):
        residual = np.abs(target - columns @ weights)
        near = rows & (residual <= OUTLYING * max(float(np.median(residual[used])), floor))
        if near.sum() < max(2 * columns.shape[1], 8) or np.array_equal(near, used):
            break
        used = near
        weights = weights_of(columns, target, used)
    return weights, used


def least_absolute(
    columns: Float[np.ndarray, "N k"], target: Float[np.ndarray, " N"], rows: Bool[np.ndarray, " N"]
) -> Float[np.ndarray, " k"]:
    """Weights of the least sum of absolute residuals, by weighted least squares, to whole numbers where those fit."""
    part, wanted = columns[rows], target[rows]
    weights = weights_of(part, wanted)
    for sharp in (0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6):
        scale = 1.0 / np.sqrt(np.abs(wanted - part @ weights) + sharp)
        weights = weights_of(part * scale[:, None], wanted * scale)
    whole = np.round(weights)
    return whole if np.abs(wanted - part @ whole).sum() <= np.abs(wanted - part @ weights).sum() + 1e-3 else weights


def best_sums(
    columns: Float[np.ndarray, "N m"],
    target: Float[np.ndarray, " N"],
    costs: Float[np.ndarray, " m"],
    rows: Bool[np.ndarray, " N"],
    floor: float,
    groups: Sequence[Sequence[int]] | None = None,
    *,
    most: int = MOST,
    width: int = WIDTH,
    per_size: int = 2,
    passes: int = 2,
) -> list[Sum]:
    """Sums of few columns that explain the target on most rows, the fewest bits first.

    The beam runs again without the rows that its best sum leaves far off, since a few events bend squares a lot.
    """
    groups = [(j,) for j in range(columns.shape[1])] if groups is None else groups
    usable = np.isfinite(columns[rows]).all(axis=0)
    columns = np.where(usable, columns, 0.0)
    used, found = rows, [empty_sum(target, rows, floor)]
    for _ in range(passes):
        unit, length = normalised(columns[used])
        gram, cross = unit.T @ unit, unit.T @ target[used]
        live = [group for group in groups if all(length[c] > 0 for c in group)]
        tried = beam(gram, cross, live, most, width) if live else []
        for supports in tried:
            for support in supports[:per_size]:
                places = list(support)
                weights, _ = steady_weights(columns[:, places], target, used, floor, 1)
                left = data_bits((target - columns[:, places] @ weights)[rows], floor)
                found.append(Sum(tuple(int(p) for p in places), weights, left + float(costs[places].sum())))
        best = min(found, key=lambda s: s.bits)
        residual = np.abs(target - columns[:, list(best.support)] @ best.weights)
        again = rows & (residual <= OUTLYING * max(float(np.median(residual[rows])), floor))
        if again.sum() < 0.5 * rows.sum() or np.array_equal(again, used):
            break
        used = again
    unique = {s.support: s for s in sorted(found, key=lambda s: -s.bits)}
    return sorted(unique.values(), key=lambda s: s.bits)


def empty_sum(target: np.ndarray, rows: np.ndarray, floor: float) -> Sum:
    return Sum((), np.zeros(0), data_bits(target[rows], floor))


def score_tests(
    columns: Float[np.ndarray, "N m"], residual: Float[np.ndarray, " N"], basis: Float[np.ndarray, "N k"]
) -> Float[np.ndarray, " m"]:
    """How much of the residual's sum of squares each column would take, beside the basis."""
    with np.errstate(all="ignore"):
        q = np.linalg.qr(basis)[0] if basis.shape[1] else np.zeros((len(residual), 0))
        rest = residual - q @ (q.T @ residual)
        size = np.einsum("nm,nm->m", columns, columns)
        own = size - np.einsum("km,km->m", q.T @ columns, q.T @ columns)
        gain = (rest @ columns) ** 2 / np.where(own > 1e-9 * size, own, np.inf)
    return np.where(np.isfinite(gain), gain, 0.0)
