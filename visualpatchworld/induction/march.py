"""Programs run over many rows at once under numpy, and constants
settled that way: no compilation, so a rival costs milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import least_squares

from visualpatchworld.induction.clock import NO_LIMIT, Clock
from visualpatchworld.induction.draft import WORST, Draft, Stretches, motion_scales, predict
from visualpatchworld.program.program import Program

NUDGE = 1e-6  # relative, for slopes by differences
OUTLIER = 8.0  # so many times the typical error of a stretch is an event
ENOUGH = 1e-11  # an error that no double precision improves on


class _Late(Exception):
    """The clock ran out within a fit; the best place so far counts."""


def march(
    program: Program,
    starts: Float[np.ndarray, "N S"],
    actions: Float[np.ndarray, "N H A"],
    constants: Mapping[str, Any] | None = None,
) -> Float[np.ndarray, "N H S"]:
    """Open-loop rollouts with one array per field of the State; the program must treat numbers and arrays alike."""
    dynamics = program.bind("numpy", constants)
    width = starts.shape[1]
    extra = [
        np.full(len(starts), float(value)) for value in list(getattr(dynamics.State, "_field_defaults", {}).values())
    ]
    fields = [*starts.T, *extra][: len(dynamics.State._fields)]  # pyright: ignore[reportAttributeAccessIssue]
    state = dynamics.State(*fields)
    out = np.empty((len(starts), actions.shape[1], width))
    with np.errstate(all="ignore"):
        for t in range(actions.shape[1]):
            state = dynamics.step(state, actions[:, t].T)
            for k in range(width):
                out[:, t, k] = state[k]
    return out


def marches(program: Program, starts: Float[np.ndarray, "N S"], actions: Float[np.ndarray, "N H A"]) -> bool:
    """Whether the program can be run over many rows at once and gives the same as row by row."""
    some = slice(0, 3)
    try:
        together = march(program, starts[some], actions[some, :1])
        dynamics = program.bind("numpy")
        with np.errstate(all="ignore"):
            alone = [
                dynamics.step(dynamics.State(*start), acted[0])[: starts.shape[1]]
                for start, acted in zip(starts[some], actions[some], strict=True)
            ]
        return np.allclose(together[:, 0], np.array(alone, float), rtol=1e-9, atol=1e-9, equal_nan=True)
    except Exception:
        return False


def predicted(program: Program, stretches: Stretches) -> Float[np.ndarray, "N H S"]:
    """Rollouts of the program over the stretches, by numpy where it can and else by JAX."""
    if marches(program, stretches.starts, stretches.actions):
        return march(program, stretches.starts, stretches.actions)
    return predict(program, stretches)


def polish(
    draft: Draft,
    stretches: Stretches,
    *,
    usable: Bool[np.ndarray, "N S"] | None = None,
    extra: tuple[str, ...] = (),
    evaluations: int = 25,
    robust: bool = True,
    clock: Clock = NO_LIMIT,
) -> Draft:
    """The draft with its free constants (and `extra` ones) moved
    to where short rollouts stay closest; slopes by differences.

    `usable` says per stretch and field whether it counts; residuals are in units of each field's typical motion.
    """
    names = (*draft.free, *(name for name in extra if name in draft.program.constants))
    if not names or not len(stretches.starts) or clock.over:
        return draft
    scales = motion_scales(stretches)
    first = np.array([float(draft.program.constants[name]) for name in names])
    unit = np.where(first == 0, 1.0, np.abs(first))
    weight = (
        np.ones(stretches.truths.shape)
        if usable is None
        else np.broadcast_to(usable[:, None, :], stretches.truths.shape)
    )

    def residuals(place: np.ndarray) -> np.ndarray:
        values = dict(zip(names, place * unit, strict=True))
        delta = (march(draft.program, stretches.starts, stretches.actions, values) - stretches.truths) / scales * weight
        return np.where(np.isfinite(delta), np.clip(delta, -WORST, WORST), WORST).ravel()

    def slopes(place: np.ndarray) -> np.ndarray:
        sides = []
        for k in range(len(place)):
            if clock.over:
                raise _Late
            nudge = np.zeros(len(place))
            nudge[k] = NUDGE * max(abs(place[k]), 1e-3)
            sides.append((residuals(place + nudge) - residuals(place - nudge)) / (2 * nudge[k]))
        return np.stack(sides, axis=-1)

    place = first / unit
    left = residuals(place)
    for _ in range(2 if robust else 1):
        sizes = np.abs(left)
        typical = max(3 * float(np.median(sizes[sizes > 0])) if (sizes > 0).any() else 1.0, 1e-10)
        kept = _Best(residuals, typical, clock)
        with suppress(_Late, ValueError, np.linalg.LinAlgError):  # the best place so far is kept
            least_squares(
                kept,
                place,
                jac=slopes,  # pyright: ignore[reportArgumentType]
                loss="soft_l1" if robust else "linear",
                f_scale=typical,
                x_scale="jac",
                max_nfev=evaluations,
                xtol=1e-14,
                ftol=1e-14,
                gtol=1e-14,
            )
        if kept.place is None:
            break
        place, left = kept.place, kept.left
    values = {name: float(f"{value:.12g}") for name, value in zip(names, place * unit, strict=True)}
    moved = replace(draft, program=draft.program.edited(values))
    try:
        slope = slopes(place)
    except _Late:
        return moved
    size = max(float(np.median(np.abs(left[left != 0]))) if (left != 0).any() else 0.0, 1e-15)
    inside = (np.abs(left) <= 6 * size) & (weight.ravel() > 0)
    noise = float(np.sqrt(np.mean(left[inside] ** 2))) if inside.any() else 0.0
    covariance = np.linalg.pinv(slope[inside].T @ slope[inside]) * noise**2
    spread = np.sqrt(np.maximum(np.diag(covariance), 0)) * unit
    errors = {name: float(e) for name, e in zip(names, spread, strict=True) if name in draft.free}
    return replace(moved, stderr=errors)


class _Best:
    """Residuals that remember where the least was left, large ones
    counting less: an optimiser that is stopped says nothing.
    """

    def __init__(self, residuals: Callable[[np.ndarray], np.ndarray], typical: float, clock: Clock):
        self.residuals, self.typical, self.clock = residuals, typical, clock
        self.place: np.ndarray | None = None
        self.left, self.cost = np.zeros(0), np.inf

    def __call__(self, place: np.ndarray) -> np.ndarray:
        if self.clock.over:
            raise _Late
        left = self.residuals(place)
        cost = float(np.sum(np.sqrt(1 + (left / self.typical) ** 2)))
        if cost < self.cost or self.place is None:
            self.place, self.left, self.cost = place.copy(), left, cost
        return left


@dataclass(frozen=True)
class Settled:
    """Constants where rollouts come closest, the error that is left, and how each constant shows in it."""

    values: dict[str, float]
    error: float  # root mean square, in units of each field's typical motion over a stretch
    stderr: dict[str, float]
    effects: dict[str, float]  # root mean square of what a constant as a whole does to the rollouts, in the same units
    residuals: Float[np.ndarray, "N R"]  # of the stretches that are not outliers
    slopes: Float[np.ndarray, "N R C"]


def roll_columns(
    program: Program, stretches: Stretches, constants: Mapping[str, float | np.ndarray]
) -> Float[np.ndarray, "*V N H S"]:
    """Open-loop rollouts of all stretches at once: a field is a column
    of N numbers, a constant one number or a column of V variants.
    """
    dynamics = program.bind("numpy", constants)
    shape = np.broadcast_shapes((len(stretches.starts),), *(np.shape(value) for value in constants.values()))
    state, after = dynamics.State(*stretches.starts.T), []
    with np.errstate(all="ignore"):
        for t in range(stretches.actions.shape[1]):
            state = dynamics.step(state, stretches.actions[:, t].T)
            after.append(np.stack([np.broadcast_to(field, shape) for field in state[: stretches.starts.shape[1]]], -1))
    return np.stack(after, axis=-2)


def settle(
    program: Program, free: Sequence[str], stretches: Stretches, *, rounds: int = 12, clock: Clock = NO_LIMIT
) -> Settled:
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
