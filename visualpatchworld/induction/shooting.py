"""Multiple shooting: constants refined together with the states
that windows start from, which are seen with noise or in part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.induction.clock import NO_LIMIT, Clock
from visualpatchworld.induction.draft import Draft, Stretches
from visualpatchworld.induction.march import march

ROUNDS = 30
NUDGE = 1e-6
FAR = 4.0  # standard deviations from which a residual counts less
WINDOW = 20  # steps of a window of multiple shooting
ENOUGH_SHOTS = 20  # windows without events that tell constants well
SHORTEST_WINDOW = 6
MOST_SHOTS = 60


@dataclass(frozen=True)
class Shot:
    """A refined draft, the starts that were found, and the standard deviation of noise in every field."""

    draft: Draft
    starts: Float[np.ndarray, "N S"]
    noise: Float[np.ndarray, " S"]
    misfit: float  # half the sum of squares of what is left in units of noise, large ones counting less


def refine_noisy(
    draft: Draft,
    stretches: Stretches,
    *,
    seen: Bool[np.ndarray, " S"] | None = None,
    noise: Float[np.ndarray, " S"] | None = None,
    rounds: int = ROUNDS,
    fixed: bool = False,
    clock: Clock = NO_LIMIT,
) -> Shot:
    """The draft with constants that explain what was seen of every
    window, its start included, up to noise; with their standard errors.

    Only `seen` fields are measured; the others (hidden velocities) are free. Noise is taken from `noise` at first and
    then from what is left, unless it is `fixed`. When the clock runs out, what was reached counts.
    """
    width = stretches.starts.shape[1]
    seen = np.ones(width, bool) if seen is None else seen
    names = draft.free
    values = np.array([float(draft.program.constants[name]) for name in names])
    unit = np.where(values == 0, 1.0, np.abs(values))
    size = np.maximum(np.std(stretches.truths[:, -1] - stretches.starts, axis=0), 1e-12)
    level: np.ndarray = np.where(seen, size * 1e-2 if noise is None else np.maximum(noise, 1e-9 * size), np.inf)
    measured = np.concatenate([stretches.starts[:, None], stretches.truths], axis=1)
    starts: np.ndarray = stretches.starts.copy()

    def run(place: np.ndarray, begin: np.ndarray) -> np.ndarray:
        given = march(draft.program, begin, stretches.actions, dict(zip(names, place * unit, strict=True)))
        return np.concatenate([begin[:, None], np.where(np.isfinite(given), given, 1e9)], axis=1)

    def left(place: np.ndarray, begin: np.ndarray) -> np.ndarray:
        return np.clip((run(place, begin) - measured) / level, -1e6, 1e6)

    def cost(residual: np.ndarray) -> float:
        """Half the sum of squares near zero, and straight far from it."""
        return float(np.sum(FAR**2 * (np.sqrt(1 + (residual / FAR) ** 2) - 1)))

    # Types are given: a checker would follow each through all rounds of the loop.
    place: np.ndarray = values / unit
    now: np.ndarray = left(place, starts)
    schur: np.ndarray = np.eye(len(names))
    damping: float = 1e-4
    for turn in range(rounds):
        if clock.over:
            break
        weight: np.ndarray = 1 / np.sqrt(1 + (now / FAR) ** 2)
        at = (place, starts)
        by_start: np.ndarray = (
            _slopes(lambda begin, at=at: run(at[0], begin), starts, size) / level[None, None, :, None]
        )
        by_constant: np.ndarray = np.zeros((*now.shape, 0))
        if names:
            columns = [_slope(lambda p, at=at: run(p, at[1]), place, k) for k in range(len(names))]
            by_constant = np.stack(columns, axis=-1) / level[None, None, :, None]
        ws: np.ndarray = by_start * weight[..., None]
        wc: np.ndarray = by_constant * weight[..., None]
        ss: np.ndarray = np.einsum("nhsi,nhsj->nij", ws, by_start)
        sc: np.ndarray = np.einsum("nhsi,nhsj->nij", ws, by_constant)
        cc: np.ndarray = np.einsum("nhsi,nhsj->ij", wc, by_constant)
        gs: np.ndarray = np.einsum("nhsi,nhs->ni", ws, now)
        gc: np.ndarray = np.einsum("nhsi,nhs->i", wc, now)
        if not all(np.isfinite(part).all() for part in (ss, sc, cc, gs, gc)):
            break  # rollouts that run away tell nothing of their constants
        improved: bool = False
        gain: float = 0.0
        for _ in range(8):
            damped: np.ndarray = (
                ss + damping * np.einsum("nii->ni", ss)[:, :, None] * np.eye(width) + 1e-12 * np.eye(width)
            )
            try:
                solved: np.ndarray = np.linalg.solve(damped, np.concatenate([sc, gs[..., None]], axis=-1))
                schur = cc - np.einsum("nij,nik->jk", sc, solved[..., :-1])
                right: np.ndarray = gc - np.einsum("nij,ni->j", sc, solved[..., -1])
                if not (np.isfinite(schur).all() and np.isfinite(right).all()):
                    raise np.linalg.LinAlgError
                inner: np.ndarray = schur + damping * np.diag(np.diag(cc))
                step: np.ndarray = -np.linalg.lstsq(inner, right, rcond=1e-14)[0] if names else np.zeros(0)
            except np.linalg.LinAlgError:
                damping *= 8
                continue
            begin: np.ndarray = starts - solved[..., -1] - np.einsum("nij,j->ni", solved[..., :-1], step)
            then: np.ndarray = left(place + step, begin)
            if cost(then) < cost(now):
                gain = 1 - cost(then) / cost(now)
                place, starts, now, damping, improved = place + step, begin, then, max(damping / 5, 1e-10), True
                break
            damping *= 8
            gain = 0.0
        if fixed and (not improved or gain < 1e-5):
            break
        if not fixed and (turn % 4 == 3 or not improved or gain < 1e-5):
            fresh: np.ndarray = _noise(
                now * np.where(np.isfinite(level), level, 1.0), seen, size, stretches.starts.shape[0], len(names)
            )
            done: bool = np.allclose(fresh[seen], level[seen], rtol=2e-2)
            level = np.where(seen, fresh, np.inf)
            now = left(place, starts)
            if done and (not improved or gain < 1e-5):
                break
    determined = bool(names) and bool(np.isfinite(schur).all())
    spread = (
        np.sqrt(np.maximum(np.diag(np.linalg.pinv(schur)), 0)) * unit if determined else np.full(len(names), np.inf)
    )
    constants = {name: float(f"{value:.12g}") for name, value in zip(names, place * unit, strict=True)}
    errors = {name: float(e) for name, e in zip(names, spread, strict=True)}
    return Shot(
        replace(draft, program=draft.program.edited(constants), stderr=errors),
        starts,
        np.where(seen, level, 0.0),
        cost(now),
    )


def _noise(residual, seen, size, windows: int, constants: int) -> Float[np.ndarray, " S"]:
    """What is left per field, with the freedom that starts and constants took counted off."""
    count = residual.shape[0] * residual.shape[1]
    freedom = max(1 - (windows * residual.shape[2] + constants) / max(count * seen.sum(), 1), 0.1)
    robust = 1.4826 * np.median(np.abs(residual), axis=(0, 1))
    plain = np.sqrt(np.mean(np.clip(residual, -FAR * robust - 1e-300, FAR * robust + 1e-300) ** 2, axis=(0, 1)))
    return np.maximum(plain / np.sqrt(freedom), 1e-9 * size)


def _slopes(run, starts, size) -> np.ndarray:
    sides = []
    for k in range(starts.shape[1]):
        nudge = np.zeros(starts.shape[1])
        nudge[k] = NUDGE * max(size[k], 1e-9)
        sides.append((run(starts + nudge) - run(starts - nudge)) / (2 * nudge[k]))
    return np.nan_to_num(np.stack(sides, axis=-1), posinf=0, neginf=0)


def _slope(run, place, k: int) -> np.ndarray:
    nudge = np.zeros(len(place))
    nudge[k] = NUDGE * max(abs(place[k]), 1e-3)
    return np.nan_to_num((run(place + nudge) - run(place - nudge)) / (2 * nudge[k]), posinf=0, neginf=0)


def shooting_windows(states, actions, usable=None) -> Stretches:
    """Stretches that share no observation, without events where
    enough are left: where events are many, shorter ones.
    """
    length = max(2, min(WINDOW, max(len(a) for a in actions)))
    places = [(i, t) for i, a in enumerate(actions) for t in range(0, len(a) - length + 1, length + 1)]
    if usable is not None:
        shorter = length
        while (
            len(clear := _clear_places(usable, shorter)) < min(ENOUGH_SHOTS, len(places)) and shorter > SHORTEST_WINDOW
        ):
            shorter //= 2
        if len(clear) >= 3:
            length, places = shorter, clear
    places = [places[k] for k in np.unique(np.linspace(0, len(places) - 1, min(MOST_SHOTS, len(places))).astype(int))]
    return Stretches(
        np.array([states[i][t] for i, t in places]),
        np.array([actions[i][t : t + length] for i, t in places]),
        np.array([states[i][t + 1 : t + length + 1] for i, t in places]),
    )


def _clear_places(usable: Sequence[np.ndarray], length: int) -> list[tuple[int, int]]:
    """Where stretches of this length without events begin, each as early as it can after the one before or an event."""
    places = []
    for i, marks in enumerate(usable):
        t = 0
        while t + length <= len(marks):
            bad = np.flatnonzero(~marks[t : t + length])
            if not len(bad):
                places.append((i, t))
            t += length + 1 if not len(bad) else int(bad[-1]) + 1
    return places
