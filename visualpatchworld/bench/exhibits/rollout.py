"""How far open-loop rollouts stray from test episodes, step by step up to the planning horizon of the paper."""

from __future__ import annotations

import numpy as np

from visualpatchworld.bench.exhibit import Measured
from visualpatchworld.bench.exhibits._foresight import foresight
from visualpatchworld.bench.subject import Subject, plain
from visualpatchworld.errors import VpwError
from visualpatchworld.induction.windows import cut_windows

OF = "program"
HORIZON = 25
NUM_WINDOWS = 1000


def measure(subject: Subject) -> Measured:
    """Mean, median and 90th percentile of every quantity after 1 to 25 steps; a rollout that is not finite counts as infinitely far off."""
    recordings = subject.recordings
    if max(len(recording.actions) for recording in recordings) < HORIZON:
        raise VpwError(f"No test episode of '{subject.source}' has {HORIZON} steps; give --traces FILE.h5 with longer ones.")
    windows = cut_windows(recordings, HORIZON, NUM_WINDOWS, np.random.default_rng(subject.seed))
    with foresight(subject) as foresee:
        predicted = foresee(windows)
    errors = {}
    for name, quantity in subject.domain.quantities.items():
        by_step = quantity(predicted, windows.truths)
        by_step = np.where(np.isfinite(by_step), by_step, np.inf)
        with np.errstate(invalid="ignore"):  # between two infinite errors lies no number
            errors[name] = {
                "mean": plain(by_step.mean(axis=0)),
                "median": plain(np.median(by_step, axis=0)),
                "p90": plain(np.percentile(by_step, 90, axis=0)),
            }
    failed = int((~np.isfinite(predicted)).any(axis=(1, 2)).sum())
    return Measured({"horizon": HORIZON, "windows": len(windows), "not_finite": failed, "rollout_error": errors})
