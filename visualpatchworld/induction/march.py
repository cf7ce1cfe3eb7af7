"""Programs run over many rows at once under numpy: no compilation, so that a rival costs milliseconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import least_squares

from visualpatchworld.induction.clock import NO_LIMIT, Clock
from visualpatchworld.induction.draft import WORST, Draft, Stretches, motion_scales, predict
from visualpatchworld.program.program import Program

NUDGE = 1e-6  # relative, for slopes


class _Late(Exception):
    """The clock ran out within a fit; the best place so far counts."""


def march(
    program: Program, starts: Float[np.ndarray, "N S"], actions: Float[np.ndarray, "N H A"], constants: Mapping[str, Any] | None = None
) -> Float[np.ndarray, "N H S"]:
    """Open-loop rollouts with one array per field of the State; the program must treat numbers and arrays alike."""
    dynamics = program.bind("numpy", constants)
    width = starts.shape[1]
    extra = [np.full(len(starts), float(value)) for value in list(getattr(dynamics.State, "_field_defaults", {}).values())]
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
    """The draft with its free constants (and `extra` ones) moved to where short rollouts stay closest; slopes by differences.

    `usable` says per stretch and field whether it counts; residuals are in units of each field's typical motion.
    """
    names = (*draft.free, *(name for name in extra if name in draft.program.constants))
    if not names or not len(stretches.starts) or clock.over:
        return draft
    scales = motion_scales(stretches)
    first = np.array([float(draft.program.constants[name]) for name in names])
    unit = np.where(first == 0, 1.0, np.abs(first))
    weight = np.ones(stretches.truths.shape) if usable is None else np.broadcast_to(usable[:, None, :], stretches.truths.shape)

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
        with suppress(_Late):
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
    """Residuals that remember where the least was left, large ones counting less: an optimiser that is stopped says nothing."""

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


def steps_of(before: Float[np.ndarray, "N S"], after: Float[np.ndarray, "N S"], actions: Float[np.ndarray, "N A"]) -> Stretches:
    """Single steps as stretches."""
    return Stretches(before, actions[:, None, :], after[:, None, :])
