"""When time is up there is still an answer, and an honest one."""

import time

import numpy as np
import pytest

from visualpatchworld.induction.chains import propose_chains
from visualpatchworld.induction.clock import NO_LIMIT, Clock
from visualpatchworld.induction.reward import find_reward
from visualpatchworld.induction.search import search_dynamics
from visualpatchworld.induction.transitions import transitions
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace


def test_a_share_of_a_clock_runs_out_first():
    clock = Clock.of(100)
    assert clock.part(0.5).until < clock.until
    assert not clock.over and Clock.of(-1).over
    assert NO_LIMIT.part(0.5) == NO_LIMIT and not NO_LIMIT.over


def test_a_process_that_waits_spends_no_time():
    """A busy machine makes a process wait: it has as long to compute as on an idle one."""
    clock = Clock.of(0.2)
    time.sleep(0.3)
    assert not clock.over


@pytest.mark.parametrize("links", [2, 12])
def test_a_search_without_time_still_answers(links: int):
    """Coupled springs that are too many, or too late, to be found: a
    program comes out, and the verdict does not praise what is wrong.
    """
    rng = np.random.default_rng(links)
    space = ActionSpace("continuous", (-1.0, -1.0), (1.0, 1.0), names=("a", "b"))
    ties = rng.normal(size=(links, links))
    episodes = []
    for _ in range(6):
        q, v, rows, acted = rng.normal(size=links), rng.normal(size=links), [], rng.uniform(-1, 1, (60, 2))
        for action in acted:
            rows.append([*q, *v])
            v = v + 0.05 * (np.sin(ties @ np.sin(q)) - q + np.tanh(ties[:, :2] @ action))
            q = q + 0.05 * v
        episodes.append(Trajectory(np.array([*rows, [*q, *v]]), acted, np.square(np.array(rows)).sum(axis=1)))
    found = search_dynamics(episodes, space, chains=propose_chains, seconds=0)
    assert found.draft.program.bind("numpy").step is not None
    assert found.verdict != "explained"
    reward = find_reward(found.reading, space, transitions(found.reading, episodes), Clock.of(-1))
    assert np.isfinite(reward.left)
