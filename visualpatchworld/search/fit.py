"""The fit of one rate: weights and inner numbers, their standard errors, and what they cost in bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.grammar.expr import Expr
from visualpatchworld.search.motion import Both, Motion, Rate, Stages, averages
from visualpatchworld.search.regress import (
    OUTLYING,
    data_bits,
    steady_weights,
    weights_of,
)
from visualpatchworld.search.rows import Rows, free_rows

WEIGHT_BITS = 14.0  # of a term's own weight: the digits that data can tell
POLISH = 6  # Gauss-Newton steps of inner numbers in a first look
SURE = 3000.0  # standard errors: data without noise tell the weight of a true term to far more digits
Support = tuple[Expr, ...]


def costs_of(terms: Sequence[Expr]) -> Float[np.ndarray, " m"]:
    return np.array([term.bits + WEIGHT_BITS for term in terms])


def floor_of(rows: Rows, k: int) -> float:
    """The residual of a change that rounding alone explains: both ends are rounded, and so is what rates are made of."""
    return 4.0 * float(rows.floors[k])


def fitted(
    rows: Rows, rate: Rate, stages: Stages, fast: bool, target: np.ndarray, used: np.ndarray, floor: float
) -> Rate:
    """Weights and, by one Gauss-Newton step, inner numbers of one rate."""
    if not rate.terms or used.sum() < 2 * len(rate.terms):
        return rate
    terms, slots = list(rate.terms), []
    for place, (term, weight) in enumerate(zip(rate.terms, rate.weights, strict=True)):
        for slot, value in enumerate(term.free_values):
            step = 1e-6 * max(abs(value), 1e-3)
            moved = list(term.free_values)
            moved[slot] += step
            slots.append((place, slot, step, weight))
            terms.append(term.with_free(moved))
    means = averages(terms, rows, stages, fast)
    count = len(rate.terms)
    for j, (place, _, step, weight) in enumerate(slots):
        means[:, count + j] = weight * (means[:, count + j] - means[:, place]) / step
    moving = np.abs(means[used]).max(axis=0) > 0
    moving[:count] = True
    keep = np.flatnonzero(moving & np.isfinite(means[used]).all(axis=0))
    if not set(range(count)) <= set(keep.tolist()):
        return rate
    weights, inside = steady_weights(means[:, keep], target, used, floor)
    moves = {int(k): float(w) for k, w in zip(keep, weights, strict=True)}
    found, clipped = list(rate.terms), False
    for j, (place, slot, _, _) in enumerate(slots):
        if count + j in moves:
            values = list(found[place].free_values)
            limit = 0.3 * max(abs(values[slot]), 1e-6)  # a Gauss-Newton step is only trusted nearby
            clipped |= abs(moves[count + j]) > limit
            values[slot] += float(np.clip(moves[count + j], -limit, limit))
            found[place] = found[place].with_free(values)
    if slots:
        means = averages(found, rows, stages, fast)
        return (
            Rate(tuple(found), tuple(weights_of(means, target, inside))) if np.isfinite(means[inside]).all() else rate
        )
    return Rate(tuple(found), tuple(moves[k] for k in range(count)))


def standard_errors(
    rows: Rows, motion: Motion, used: Bool[np.ndarray, " N"], events: Both | None = None
) -> dict[str, tuple[tuple[float, ...], ...]]:
    """By field and term, the standard errors of the weight and of the numbers inside."""
    after, stages = motion.step(rows, events)
    found = {}
    for name, rate in motion.rates.items():
        k = rows.at(name)
        mask = free_rows(rows, k, used & ~stages.ruled)
        terms, slots = list(rate.terms), []
        for place, (term, weight) in enumerate(zip(rate.terms, rate.weights, strict=True)):
            for slot, value in enumerate(term.free_values):
                size = 1e-6 * max(abs(value), 1e-3)
                moved = list(term.free_values)
                moved[slot] += size
                slots.append((place, size, weight))
                terms.append(term.with_free(moved))
        means = averages(terms, rows, stages, bool(motion.fast(rows.names)[k]))
        for j, (place, size, weight) in enumerate(slots):
            column = len(rate.terms) + j
            means[:, column] = weight * (means[:, column] - means[:, place]) / size
        left = (rows.after[:, k] - after[:, k])[mask]
        near = (
            left[np.abs(left) <= OUTLYING * max(float(np.median(np.abs(left))), floor_of(rows, k))]
            if len(left)
            else left
        )
        noise = max(float(np.sqrt(np.mean(near**2))) if len(near) else 0.0, float(rows.floors[k]))
        part = means[mask]
        scale = np.maximum(np.sqrt(np.mean(part**2, axis=0)) if len(part) else np.ones(part.shape[1]), 1e-300)
        cover = np.linalg.pinv((part / scale).T @ (part / scale), rcond=1e-12) * noise**2
        error = np.sqrt(np.maximum(np.diag(cover), 0.0)) / scale
        inner = [[] for _ in rate.terms]
        for j, (place, _, _) in enumerate(slots):
            inner[place].append(float(error[len(rate.terms) + j]))
        found[name] = tuple((float(error[p]), *inner[p]) for p in range(len(rate.terms)))
    return found


def sureness(rows: Rows, motion: Motion, used: Bool[np.ndarray, " N"], events: Both | None = None) -> dict[str, float]:
    """By field, the least weight of a term in units of its standard error: how well data tell its terms apart."""
    errors = standard_errors(rows, motion, used, events)
    return {
        name: min((abs(w) / max(e[0], 1e-300) for w, e in zip(rate.weights, errors[name], strict=True)), default=np.inf)
        for name, rate in motion.rates.items()
        if rows.fields[rows.at(name)].kind != "whole"
    }


def total_bits(rows: Rows, motion: Motion, residual: np.ndarray, used: np.ndarray) -> float:
    bits = 0.0
    for name, rate in motion.rates.items():
        k = rows.at(name)
        bits += data_bits(residual[used, k], floor_of(rows, k)) + float(costs_of(rate.terms).sum())
    return bits
