"""The verdict on a search: explained, valid inside, ambiguous or unexplained, with the reason in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from visualpatchworld.induction.draft import Stretches, cut, normalised_errors
from visualpatchworld.induction.limits import Unexplained
from visualpatchworld.induction.march import predicted
from visualpatchworld.induction.rivals import Evidence

Verdict = Literal["explained", "valid-inside", "ambiguous", "unexplained"]
GOOD = 1e-3  # of the spread of motion, over the horizon
FAIR = 0.05
CONSISTENT = 1.5  # times the error that noise alone makes
LEAST_ROWS_PER_TERM = 5


def judge(evidence: Sequence[Evidence]) -> tuple[Verdict, str]:
    """What the best of these rivals (the first) is worth, and why."""
    best = evidence[0]
    data, horizon = best.experience, best.experience.horizon
    rows = len(data.rows.before)
    said = f"{horizon}-step error {best.error:.1g} of the spread of motion on held-out stretches (90 % below {best.error_p90:.1g})"
    if rows < LEAST_ROWS_PER_TERM * max(len(best.draft.free), 1):
        return "unexplained", f"{rows} steps are too few for {len(best.draft.free)} constants; {said}."
    missed = open_rows(best)
    worst = _worst(best)
    expected = expected_error(best) if data.noisy else 0.0
    if data.noisy:
        said += f"; noise of observations alone makes {expected:.1g}"
    consistent = data.noisy and best.error <= CONSISTENT * expected
    if best.error > FAIR and not consistent:
        return "unexplained", f"{said}; {worst}."
    rival = next((e for e in evidence[1:] if e.draft.laws != best.draft.laws and e.constants <= best.constants), None)
    if rival is not None and rival.error < (1.1 if data.noisy else 3) * best.error and best.error > 1e-5:
        return "ambiguous", f"'{rival.draft.name}' does nearly as well ({rival.error:.1g}); {said}."
    if consistent and not best.draft.empirical:
        return "explained", f"{said}."
    if best.draft.empirical or best.error > GOOD or best.error_p90 > FAIR or missed.rows.sum() > 1:
        where = _where(missed, best)
        return "valid-inside", f"{said}; {where or worst}."
    return "explained", f"{said}."


def expected_error(best: Evidence) -> float:
    """The error that noise of the starts and ends of held-out stretches makes even for a perfect program."""
    data = best.experience
    far = cut(data.held_states, data.held_actions, data.horizon)
    if not len(far.starts):
        return 0.0
    rng = np.random.default_rng(0)
    clean = predicted(best.draft.program, far)
    moved = far._replace(starts=far.starts + rng.normal(size=far.starts.shape) * data.noise)
    dirty = predicted(best.draft.program, moved) + rng.normal(size=clean.shape) * data.noise
    return float(np.median(normalised_errors(dirty, clean, far.starts)))


def open_rows(best: Evidence) -> Unexplained:
    """Steps of what was learned from that the program misses by far more than it misses most."""
    data = best.experience
    rows = data.rows
    given = predicted(best.draft.program, Stretches(rows.before, rows.actions[:, None], rows.after[:, None]))[:, 0]
    off = np.where(np.isfinite(given), rows.after - given, 1e9)
    motion = np.maximum(np.std(rows.after - rows.before, axis=0), 1e-12)
    tolerance = np.maximum(np.maximum(10 * 1.4826 * np.median(np.abs(off), axis=0), 8 * data.noise), 1e-4 * motion)
    return Unexplained((np.abs(off) > tolerance).any(axis=1), off, tolerance)


def _where(missed: Unexplained, best: Evidence) -> str:
    """In which steps the program fails, told by the field whose range they fill least."""
    data = best.experience
    if missed.rows.sum() < 2:
        return ""
    failing, all_rows = data.rows.before[missed.rows], data.rows.before
    spans = np.maximum(np.ptp(all_rows, axis=0), 1e-12)
    k = int(np.argmin(np.ptp(failing, axis=0) / spans))
    return (
        f"{int(missed.rows.sum())} of {len(missed.rows)} steps are not explained, "
        f"{data.names[k]} between {failing[:, k].min():.4g} and {failing[:, k].max():.4g}"
    )


def _worst(best: Evidence) -> str:
    """The field of which most is left."""
    data, horizon = best.experience, best.experience.horizon
    far = cut(data.held_states, data.held_actions, horizon)
    if not len(far.starts):
        return "no stretch was held out"
    off = predicted(best.draft.program, far)[:, -1] - far.truths[:, -1]
    change = np.maximum(np.std(far.truths[:, -1] - far.starts, axis=0), 1e-12)
    parts = np.sqrt(np.mean(np.where(np.isfinite(off), off, 1e9) ** 2, axis=0)) / change
    k = int(np.argmax(parts))
    return f"most is left of {data.names[k]}: {parts[k]:.2g} of its spread after {horizon} steps"
