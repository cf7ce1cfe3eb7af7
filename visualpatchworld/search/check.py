"""How well a law predicts: its own states along an episode, and errors of rollouts on episodes that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from visualpatchworld.search.find import Law
from visualpatchworld.search.rows import Rows, action_name, only, rows_of, usual
from visualpatchworld.search.rules import predicted
from visualpatchworld.search.speeds import solved, successors
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace

STILL = 1e3  # floors: a field whose changes differ by less, such as a clock, says nothing about a law


def followed(law: Law, trajectories: Sequence[Trajectory], space: ActionSpace) -> Rows:
    """Rows of these trajectories in the law's fields, hidden ones carried along by the law itself."""
    rows = rows_of(trajectories, law.fields, space)
    # An action that is held in all of these episodes is still an input of the law.
    acted = np.concatenate([trajectory.actions for trajectory in trajectories]).astype(float)
    rows = rows.with_inputs({action_name(k): column for k, column in enumerate(acted.T)})
    hidden = np.array([not f.columns and not f.speed_of for f in law.fields])
    if hidden.any():
        before, after = rows.before.copy(), rows.after.copy()
        for t in range(int(rows.time.max()) + 1):
            here = np.flatnonzero(rows.time == t)
            if t:
                before[np.ix_(here, hidden)] = after[np.ix_(here - 1, hidden)]
            part = replace(rows.taken(here), before=before[here])
            after[np.ix_(here, hidden)] = predicted(part, law.motion, law.rules)[0][:, hidden]
        rows = replace(rows, before=before, after=after)
    return _with_speeds(law, rows) if any(f.speed_of for f in law.fields) else rows


def _with_speeds(law: Law, rows: Rows) -> Rows:
    """The rows with hidden speeds as places ask for them; the last one of an episode is what motion makes of it."""
    unseen = [k for k, f in enumerate(law.fields) if f.speed_of]
    shown = [k for k, f in enumerate(law.fields) if not f.speed_of]
    base = only(rows, [law.fields[k].name for k in shown])
    places = {law.fields[k].speed_of: law.fields[k].name for k in unseen}
    used = usual(base)
    start = np.full((len(rows), len(unseen)), np.nan)
    speeds = solved(base, law.motion, places, start, used)
    before, after = rows.before.copy(), rows.after.copy()
    before[:, unseen] = speeds
    after[:, unseen] = predicted(replace(rows, before=before), law.motion, law.rules)[0][:, unseen]
    ahead = np.roll(speeds, -1, axis=0)
    after[:, unseen] = np.where(successors(rows)[:, None], ahead, after[:, unseen])
    return replace(rows, before=before, after=after)


def rollout_errors(
    law: Law, trajectories: Sequence[Trajectory], space: ActionSpace, horizons: Sequence[int]
) -> dict[int, dict[str, float]]:
    """By horizon, errors of free rollouts in units of the spread of each shown field's change over as many steps."""
    trajectories = [t for t in trajectories if len(t)]
    if not trajectories:
        return {}
    rows = followed(law, trajectories, space)
    shown = np.array([bool(f.columns) and f.kind != "steady" for f in law.fields])
    found = {}
    for horizon in horizons:
        length = np.bincount(rows.episode)[rows.episode]
        starts = np.flatnonzero(rows.time + horizon <= length)
        if not len(starts) or not shown.any():
            continue
        now = rows.before[starts]
        for step in range(horizon):
            part = replace(rows.taken(starts + step), before=now)
            now = predicted(part, law.motion, law.rules)[0]
        truth = rows.after[starts + horizon - 1]
        change = np.std(truth - rows.before[starts], axis=0)
        live = shown & (change > STILL * rows.floors)
        off = np.abs((now - truth)[:, live] / change[live])
        off = np.where(np.isfinite(off), off, 1e3)
        size = np.sqrt(np.mean(off**2, axis=1)) if live.any() else np.zeros(len(starts))
        found[horizon] = {
            "mean": float(size.mean()),
            "median": float(np.median(size)),
            "p90": float(np.quantile(size, 0.9)),
        }
    return found
