"""The verdict on a search: explained, valid inside, ambiguous or unexplained, with the reason in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float

from visualpatchworld.induction.draft import Stretches, cut, normalised_errors
from visualpatchworld.induction.events import smooth_fit
from visualpatchworld.induction.march import predicted
from visualpatchworld.induction.rivals import Rival
from visualpatchworld.induction.walls import Unexplained

Verdict = Literal["explained", "valid-inside", "ambiguous", "unexplained"]
GOOD = 1e-3  # of the spread of motion, over the horizon
FAIR = 0.05
CONSISTENT = 1.5  # times the error that noise alone makes
TINY = 1e-5  # of the spread of motion: next to nothing
SHORT_EXACT_SUM = 5  # constants per coordinate of a law that leaves next to nothing
SHORT_SUM = 3  # constants per coordinate up to which a sum of terms is a law that no chain need explain
MOST_NOISE = 0.5  # of the spread of motion: what noise makes more of explains nothing, whatever makes it
LEAST_ROWS_PER_TERM = 5
LEAST_STEPS = 100  # that must follow each other before noise of the world can be estimated
ROUNDING = 1e-13  # of a field's size: less is arithmetic
NOTHING = 1e-4  # of a field's motion in a step: less is no noise
ALIKE = 0.12  # correlation, or part of the variance, from which something is left to find
SAME = 0.2  # of the error: rivals whose predictions are closer than this say the same


def judge(evidence: Sequence[Rival]) -> tuple[Verdict, str]:
    """What the best of these rivals (the first) is worth, and why."""
    best = evidence[0]
    data, horizon = best.experience, best.experience.horizon
    rows = len(data.rows.before)
    said = (
        f"{horizon}-step error {best.error:.1g} of the spread of motion on held-out stretches (90 % "
        f"below {best.error_p90:.1g})"
    )
    if rows < LEAST_ROWS_PER_TERM * max(len(best.draft.free), 1):
        return "unexplained", f"{rows} steps are too few for {len(best.draft.free)} constants; {said}."
    missed = open_rows(best)
    worst = _worst(best)
    expected = expected_error(best) if data.noisy or best.error > GOOD else 0.0
    consistent = 0 < best.error <= min(CONSISTENT * expected, MOST_NOISE)
    if data.noisy or consistent:
        said += f"; {'noise' if data.noisy else 'rounding'} of observations alone makes {expected:.1g}"
    # A short sum that leaves noise alone, or next to nothing, is a law, however the regression that proposed it ended.
    tiny = best.error < TINY and best.error_p90 < GOOD
    most = SHORT_SUM if data.noisy else SHORT_EXACT_SUM
    short = (data.noisy or tiny) and best.constants <= most * len(best.reading.coordinates)
    lawful = not best.draft.empirical or short
    if not data.noisy and not consistent and best.error > GOOD:
        left = process_noise(best)
        if left is not None:
            expected = expected_error(best, left)
            said += (
                "; what is left of single steps nothing predicts, as noise in the world itself, and that "
                f"alone makes {expected:.1g}"
            )
            # A law that runs away would make any error of its noise.
            consistent = lawful = expected <= MOST_NOISE and best.error <= min(CONSISTENT * expected, MOST_NOISE)
    if best.error > FAIR and not consistent:
        return "unexplained", f"{said}; {worst}."
    rival = next(
        (
            e
            for e in evidence[1:]
            if e.draft.laws != best.draft.laws and e.constants <= best.constants and _differ(e, best)
        ),
        None,
    )
    if rival is not None and rival.error < (1.1 if data.noisy else 3) * best.error and best.error > 1e-5:
        return "ambiguous", f"'{rival.draft.name}' does nearly as well ({rival.error:.1g}); {said}."
    if consistent and lawful:
        return "explained", f"{said}."
    if not lawful or best.error > GOOD or best.error_p90 > FAIR or missed.rows.sum() > 1:
        where = _where(missed, best)
        return "valid-inside", f"{said}; {where or worst}."
    return "explained", f"{said}."


def expected_error(best: Rival, process: Float[np.ndarray, " S"] | None = None) -> float:
    """The error that noise makes even for a perfect program: of starts
    and ends of held-out stretches, or in every step of the world.
    """
    data = best.experience
    far = cut(data.held_states, data.held_actions, data.horizon)
    if not len(far.starts):
        return 0.0
    rng = np.random.default_rng(0)
    clean = predicted(best.draft.program, far)
    if process is None:
        moved = far._replace(starts=far.starts + rng.normal(size=far.starts.shape) * data.noise)
        dirty = predicted(best.draft.program, moved) + rng.normal(size=clean.shape) * data.noise
        return float(np.median(normalised_errors(dirty, clean, far.starts)))
    state = far.starts
    for t in range(far.actions.shape[1]):
        step = Stretches(state, far.actions[:, t : t + 1], far.truths[:, t : t + 1])
        state = predicted(best.draft.program, step)[:, 0] + rng.normal(size=state.shape) * process
    return float(np.median(normalised_errors(state[:, None], clean[:, -1:], far.starts) * _ratio(clean, far)))


def _ratio(clean: Float[np.ndarray, "N H S"], far: Stretches) -> float:
    """Errors count against what was seen to change, not against what the program changes."""
    ours, seen = (np.std(ends - far.starts, axis=0) for ends in (clean[:, -1], far.truths[:, -1]))
    live = (ours > 1e-12) & (seen > 1e-12)
    return float(np.sqrt(np.mean((ours[live] / seen[live]) ** 2))) if live.any() else 1.0


def process_noise(best: Rival) -> Float[np.ndarray, " S"] | None:
    """What is left of a single step by field, if nothing that was seen predicts any of it; else None."""
    rows = best.experience.rows
    off = open_rows(best).off
    size = np.maximum(np.std(rows.after - rows.before, axis=0), 1e-12)
    levels = np.zeros(off.shape[1])
    next_one = np.flatnonzero((np.diff(rows.episode) == 0) & (np.diff(rows.time) == 1))
    if len(next_one) < LEAST_STEPS:
        return None
    for k in range(off.shape[1]):
        levels[k] = float(np.std(off[:, k]))
        if levels[k] < NOTHING * size[k]:
            continue
        a, b = off[next_one, k], off[next_one + 1, k]
        fit = smooth_fit(off[:, k], rows, 0.0)
        tail = np.mean(np.abs(off[:, k]) > 5 * levels[k])
        explained = 1 - np.var(fit.left) / np.var(off[:, k]) / fit.freedom
        if abs(np.mean(a * b)) > ALIKE * levels[k] ** 2 or explained > ALIKE or tail > 0.002:
            return None
    return levels if (levels > NOTHING * size).any() else None


def _differ(one: Rival, other: Rival) -> bool:
    """Whether two rivals predict different things; the same law in other words is no rival."""
    data = other.experience
    far = cut(data.held_states, data.held_actions, data.horizon)
    if not len(far.starts) or one.draft.program.text.count("_ago") != other.draft.program.text.count("_ago"):
        return True
    if one.reading.state_names != other.reading.state_names:
        return True
    apart = normalised_errors(predicted(one.draft.program, far), predicted(other.draft.program, far), far.starts)
    return float(np.median(apart)) > SAME * other.error


def open_rows(best: Rival) -> Unexplained:
    """Steps of what was learned from that the program misses by far more than it misses most."""
    data = best.experience
    rows = data.rows
    given = predicted(best.draft.program, Stretches(rows.before, rows.actions[:, None], rows.after[:, None]))[:, 0]
    off = np.where(np.isfinite(given), rows.after - given, 1e9)
    motion = np.maximum(np.std(rows.after - rows.before, axis=0), 1e-12)
    tolerance = np.maximum(np.maximum(10 * 1.4826 * np.median(np.abs(off), axis=0), 8 * data.noise), 1e-4 * motion)
    tolerance = np.maximum(tolerance, ROUNDING * np.abs(rows.after).max(axis=0))
    return Unexplained(np.asarray((np.abs(off) > tolerance).any(axis=1)), off, tolerance)


def _where(missed: Unexplained, best: Rival) -> str:
    """In which steps the program fails, named by the field whose range they fill least."""
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


def _worst(best: Rival) -> str:
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
