"""Undriven smooth worlds: the law of curves at any times and with noise, and how well it is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from visualpatchworld.search.find import Law
from visualpatchworld.search.motion import Motion, Rate, Scheme
from visualpatchworld.search.rows import Field, find_fields, read, rows_of
from visualpatchworld.search.shoot import Shot, roll, slope_of
from visualpatchworld.search.smooth_rates import find_rates, form_of
from visualpatchworld.search.weak import Curve, curves_of
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace

MOST_FIELDS = 6  # that move: more make too many products
MOST_ROWS = 3000  # of all curves: more take minutes
LONGEST = 1500  # rows of one curve
LOUD = 0.5  # of the spread of a field: with more noise nothing is known of its motion
EVERY = 5  # one part of so many is held out
HORIZONS = (1, 5, 25)
SAME_STEP = 1e-6  # of a step: how far it may be from another one
SUBSTEPS = (1, 2, 4, 8, 16)
STEPPED = 1e-6  # of the spread: what a step may change with twice as many sub-steps
UNSEEN = 2  # times as many sub-steps: other states may move faster
FAR_OFF = 1e3  # of the spread of motion: the error of a rollout that runs away


@dataclass(frozen=True)
class Smooth:
    """A law of curves, and how well it is known."""

    law: Law
    errors: Mapping[str, tuple[tuple[float, ...], ...]]  # standard errors of each rate's weights, per step, and numbers
    left: float  # root mean square of residuals of rollouts in units of noise, in the worst field
    held_out: Mapping[int, Mapping[str, float]]  # errors of the law that the rest gives, by rows ahead
    agreed: bool  # whether the rest gives the same terms
    noisy: bool
    even: bool  # whether all rows are a step apart


def find_smooth(
    pieces: Sequence[tuple[Float[np.ndarray, " T"], Float[np.ndarray, "T C"]]],
    names: Sequence[str],
    dt: float,
    progress: Callable[[str], None] = lambda _: None,
) -> Smooth | None:
    """The law of undriven trajectories, given as times and rows; None where they are not smooth, or too many."""
    if not pieces:
        return None
    trajectories = [Trajectory(rows, np.zeros((len(rows) - 1, 0))) for _, rows in pieces]
    every = np.concatenate([rows for _, rows in pieces])
    fields = find_fields(trajectories, names)
    moving = [f for f in fields if f.kind in ("plain", "angle")]
    still = {f.columns[0]: float(every[0, f.columns[0]]) for f in fields if _stands_still(f, every)}
    if len(moving) + len(still) < len(fields) or not 1 <= len(moving) <= MOST_FIELDS:
        return None
    curves = curves_of([(times, read(rows, moving)) for times, rows in pieces])
    counts = [len(curve.times) for curve in curves]
    spread = np.std(np.concatenate([curve.rows for curve in curves]), axis=0) if curves else np.ones(1)
    if not 0 < sum(counts) <= MOST_ROWS or max(counts) > LONGEST or any(_loud(curve, spread) for curve in curves):
        return None
    own = [f.name for f in moving]
    shot = find_rates(curves, own, progress)
    if shot is None:
        return None
    progress("holding rows out")
    part, rest = _split(curves)
    first = find_rates(part, own) if rest else shot
    held_out = rollout_errors(first, rest, own) if first is not None else {}
    agreed = first is not None and all(
        set(form_of(first.rates[name].terms)) == set(form_of(shot.rates[name].terms)) for name in own
    )
    rates = {name: Rate(r.terms, tuple(w * dt for w in r.weights)) for name, r in shot.rates.items()}
    motion = Motion(rates, Scheme("rk4", _substeps(shot, curves, own, dt)))
    law = Law(tuple(moving), motion, (), {}, still, rows=rows_of(trajectories, moving, ActionSpace("continuous")))
    errors = {name: tuple((e[0] * dt, *e[1:]) for e in one) for name, one in shot.errors.items()}
    left = float(np.sqrt(np.mean(shot.residual**2, axis=0)).max())
    noisy = any(curve.noisy.any() for curve in curves)
    even = all(np.allclose(np.diff(curve.times), dt, rtol=SAME_STEP) for curve in curves)
    return Smooth(law, errors, left, held_out, agreed, noisy, even)


def _stands_still(f: Field, rows: Float[np.ndarray, "T C"]) -> bool:
    seen = rows[:, f.columns[0]]
    return f.kind == "steady" and float(np.ptp(seen)) <= 1e-6 * max(float(np.abs(seen).max()), 1e-12)


def _loud(curve: Curve, spread: Float[np.ndarray, " F"]) -> bool:
    return bool(np.any(np.median(curve.noise, axis=0) > LOUD * spread))


def _split(curves: Sequence[Curve]) -> tuple[list[Curve], list[Curve]]:
    """Curves to learn from and curves that are held out: the end of the longest one where there are few."""
    if len(curves) >= EVERY:
        return (
            [curve for k, curve in enumerate(curves) if k % EVERY != EVERY - 1],
            [curve for k, curve in enumerate(curves) if k % EVERY == EVERY - 1],
        )
    longest = max(range(len(curves)), key=lambda k: len(curves[k].times))
    count = len(curves[longest].times)
    cut = count - count // EVERY
    if count - cut <= HORIZONS[-1]:
        return list(curves), []
    begun, ended = curves[longest].part(0, cut), curves[longest].part(cut - 1, count)
    return [begun if k == longest else curve for k, curve in enumerate(curves)], [ended]


def rollout_errors(shot: Shot, curves: Sequence[Curve], names: Sequence[str]) -> dict[int, dict[str, float]]:
    """By rows ahead, errors of free rollouts in units of the spread of each field's change over as many rows."""
    slope, found = slope_of(shot.rates, names), {}
    for horizon in HORIZONS:
        off = []
        for curve in curves:
            count = len(curve.times) - horizon
            if count < 1:
                continue
            places = np.arange(count) + np.arange(horizon + 1)[:, None]
            gaps = np.diff(curve.times[places], axis=0)
            usual = float(np.median(np.diff(curve.times)))
            last = roll(slope, curve.rows[:count].T, gaps, usual, np.inf)[-1].T
            truth = curve.rows[horizon:]
            change = np.maximum(np.std(truth - curve.rows[:count], axis=0), 1e-12)
            size = np.abs(last - truth) / change
            off.append(np.sqrt(np.mean(np.minimum(np.where(np.isfinite(size), size, FAR_OFF), FAR_OFF) ** 2, axis=1)))
        if off:
            sizes = np.concatenate(off)
            found[horizon] = {
                "mean": float(sizes.mean()),
                "median": float(np.median(sizes)),
                "p90": float(np.quantile(sizes, 0.9)),
            }
    return found


def _substeps(shot: Shot, curves: Sequence[Curve], names: Sequence[str], dt: float) -> int:
    """Sub-steps of rk4 that are enough among the states seen, and some more."""
    slope = slope_of(shot.rates, names)
    seen = np.concatenate([curve.at(curve.times) for curve in curves]).T
    spread = np.std(seen, axis=1)[:, None]
    for count in SUBSTEPS:
        once, twice = (roll(slope, seen, np.full((n, 1), dt / n), dt, np.inf)[-1] for n in (count, 2 * count))
        if np.nanmax(np.abs(once - twice) / spread) <= STEPPED:
            return UNSEEN * count
    return UNSEEN * SUBSTEPS[-1]
