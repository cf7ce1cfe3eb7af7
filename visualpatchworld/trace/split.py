"""Which episodes of a file are for fitting and which for tests: the last fifth, its test episodes, is never fitted to."""

from __future__ import annotations

from collections.abc import Sequence

from visualpatchworld.errors import BadTrace
from visualpatchworld.trace.episode import Episode

TEST_SHARE = 0.2
FEWEST = 3  # one to test on, and two for fitting, which sets one of them aside for validation


def for_fitting(episodes: Sequence[Episode]) -> Sequence[Episode]:
    """All episodes but the last fifth."""
    return episodes[: -_num_kept(episodes)]


def for_tasks(episodes: Sequence[Episode]) -> Sequence[Episode]:
    """The test episodes, the last fifth and at least one: tasks are drawn from them, and errors measured on them."""
    return episodes[-_num_kept(episodes) :]


def _num_kept(episodes: Sequence[Episode]) -> int:
    if len(episodes) < FEWEST:
        counted = "1 episode" if len(episodes) == 1 else f"{len(episodes)} episodes"
        raise BadTrace(f"{counted} cannot be split into some to fit to and others to test on; at least {FEWEST} are needed.")
    return max(1, round(TEST_SHARE * len(episodes)))
