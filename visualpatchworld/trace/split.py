"""Which episodes of a file are for fitting and which for tasks: the last fifth is never fitted to."""

from __future__ import annotations

from collections.abc import Sequence

from visualpatchworld.trace.episode import Episode

TASK_SHARE = 0.2


def for_fitting(episodes: Sequence[Episode]) -> Sequence[Episode]:
    """All episodes but the last fifth; a single one serves both ends."""
    return episodes[: len(episodes) - _num_held_out(episodes)] or episodes


def for_tasks(episodes: Sequence[Episode]) -> Sequence[Episode]:
    """The last fifth of the episodes, at least one."""
    return episodes[-max(1, _num_held_out(episodes)) :]


def _num_held_out(episodes: Sequence[Episode]) -> int:
    return round(TASK_SHARE * len(episodes))
