"""Settling constants without compiling anything: whole columns of states go through the program under numpy, slopes are differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.induction.clock import NO_LIMIT, Clock
from visualpatchworld.induction.draft import Stretches, motion_scales
from visualpatchworld.program.program import Program

NUDGE = 1e-6  # of a constant, or of one where it is zero
OUTLIER = 8.0  # so many times the typical error of a stretch is an event
ENOUGH = 1e-11  # an error that no double precision improves on


@dataclass(frozen=True)
class Settled:
    """Constants where rollouts come closest, the error that is left, and how each constant shows in it."""

    values: dict[str, float]
    error: float  # root mean square, in units of each field's typical motion over a stretch
    stderr: dict[str, float]
    effects: dict[str, float]  # root mean square of what a constant as a whole does to the rollouts, in the same units
    residuals: Float[np.ndarray, "N R"]  # of the stretches that are not outliers
    slopes: Float[np.ndarray, "N R C"]


def roll_columns(program: Program, stretches: Stretches, constants: Mapping[str, float | np.ndarray]) -> Float[np.ndarray, "*V N H S"]:
    """Open-loop rollouts of all stretches at once: a field is a column of N numbers, a constant one number or a column of V variants."""
    dynamics = program.bind("numpy", constants)
    shape = np.broadcast_shapes((len(stretches.starts),), *(np.shape(value) for value in constants.values()))
    state, after = dynamics.State(*stretches.starts.T), []
    with np.errstate(all="ignore"):
        for t in range(stretches.actions.shape[1]):
            state = dynamics.step(state, stretches.actions[:, t].T)
            after.append(np.stack([np.broadcast_to(field, shape) for field in state[: stretches.starts.shape[1]]], -1))
    return np.stack(after, axis=-2)


def settle(program: Program, free: Sequence[str], stretches: Stretches, *, rounds: int = 12, clock: Clock = NO_LIMIT) -> Settled:
    """Gauss-Newton steps on the rollouts' errors, outlying stretches left out; a step that does not help is halved."""
    scales = motion_scales(stretches)
    place = np.array([float(program.constants[name]) for name in free])

    def missed(at: Float[np.ndarray, "*V C"]) -> Float[np.ndarray, "*V N R"]:
        variants = {name: at[..., c, None] if at.ndim > 1 else float(at[c]) for c, name in enumerate(free)}
        off = (roll_columns(program, stretches, variants) - stretches.truths) / scales
        return np.where(np.isfinite(off), np.clip(off, -1e3, 1e3), 1e3).reshape(*off.shape[:-2], -1)

    def slopes_at(at: Float[np.ndarray, " C"], base: Float[np.ndarray, "N R"]) -> Float[np.ndarray, "N R C"]:
        if not len(at):
            return np.zeros((*base.shape, 0))
        nudges = NUDGE * np.where(at == 0, 1.0, np.abs(at))
        return np.moveaxis((missed(at + np.diag(nudges)) - base) / nudges[:, None, None], 0, -1)

    off = missed(place)
    inside = _inside(off)
    error = _size(off[inside])
    slopes = slopes_at(place, off)
    for _ in range(rounds):
        if error <= ENOUGH or not len(place) or clock.over:
            break
        step = least(slopes[inside].reshape(off[inside].size, len(place)), -off[inside].ravel())
        for share in (1.0, 0.5, 0.1, 0.02):
            tried = missed(place + share * step)
            if _size(tried[inside]) < error:
                place, off = place + share * step, tried
                break
        else:
            break
        inside, before = _inside(off), error
        error = _size(off[inside])
        slopes = slopes_at(place, off)
        if error > 0.99 * before:
            break
    rows = _flat(slopes[inside])
    spread = _standard_errors(slopes[inside], off[inside])
    effects = np.sqrt(np.mean(rows**2, axis=0)) * np.abs(place) if len(rows) else np.zeros(len(place))
    named = (dict(zip(free, numbers.tolist(), strict=True)) for numbers in (place, spread, effects))
    found, stderr, effect = named
    return Settled(found, error, stderr, effect, off[inside], slopes[inside])


def least(rows: Float[np.ndarray, "R C"], right: Float[np.ndarray, " R"]) -> Float[np.ndarray, " C"]:
    """Linear least squares with columns of even size."""
    size = np.linalg.norm(rows, axis=0)
    unit = np.where(size > 0, size, 1.0)
    return np.linalg.lstsq(rows / unit, right, rcond=1e-12)[0] / unit


def _standard_errors(slopes: Float[np.ndarray, "N R C"], off: Float[np.ndarray, "N R"]) -> Float[np.ndarray, " C"]:
    """From how the stretches' own votes for a constant scatter: the errors within one stretch are not independent."""
    rows = _flat(slopes)
    size = np.linalg.norm(rows, axis=0)
    unit = np.where(size > 0, size, 1.0)
    inverse = np.linalg.pinv((rows / unit).T @ (rows / unit), rcond=1e-14)
    floor = np.maximum(np.abs(off), ENOUGH) * np.where(off < 0, -1.0, 1.0)
    votes = np.einsum("nrc,nr->nc", slopes / unit, floor) @ inverse
    few = len(off) / max(len(off) - slopes.shape[-1] / max(off.shape[1], 1), 1.0)
    return np.sqrt(np.sum(votes**2, axis=0) * few) / unit


def _flat(slopes: Float[np.ndarray, "N R C"]) -> Float[np.ndarray, "R C"]:
    """One row per residual; a program without free constants has rows of no width."""
    return slopes.reshape(slopes.shape[0] * slopes.shape[1], slopes.shape[2])


def _inside(off: Float[np.ndarray, "N R"]) -> Bool[np.ndarray, " N"]:
    sizes = np.sqrt(np.mean(off**2, axis=-1))
    return sizes <= OUTLIER * max(float(np.median(sizes)), ENOUGH)


def _size(off: Float[np.ndarray, "N R"]) -> float:
    return float(np.sqrt(np.mean(off**2)))
