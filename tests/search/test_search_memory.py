"""Hidden fields hold what was done and seen since an episode began, and follow their own rates and rules."""

from dataclasses import replace

import numpy as np
import pytest
from draws import SEED
from known_worlds import PUSH, small

from visualpatchworld.search.memory import Memory, clock, delay, lag, memories, switch, timers
from visualpatchworld.search.motion import Motion
from visualpatchworld.search.rows import Rows, find_fields, rows_of
from visualpatchworld.search.rules import predicted
from visualpatchworld.world.world import ActionSpace


def walk(space: ActionSpace = PUSH) -> Rows:
    rng = np.random.default_rng(SEED)
    world = small(
        lambda x, u: 0.9 * x + 0.1 * np.sum(u), lambda rng: rng.uniform(-1, 1, 1), ("x",), rng, space=space, episodes=3
    )
    return rows_of(world.trajectories, find_fields(world.trajectories, world.names), world.space)


def assert_keeps_itself(memory: Memory, rows: Rows) -> None:
    """One step of the memory's rates and rules takes its values before each row to those after it."""
    more = memory.added(rows)
    hidden = slice(len(rows.fields), None)
    after, _ = predicted(more, Motion(dict(memory.rates)), memory.rules)
    np.testing.assert_allclose(after[:, hidden], memory.after, atol=1e-12)
    first = rows.time == 0
    np.testing.assert_allclose(memory.before[first], [[f.start for f in memory.fields]] * int(first.sum()))
    inner = np.flatnonzero(~first)
    np.testing.assert_allclose(memory.before[inner], memory.after[inner - 1])


def test_a_clock_counts_steps():
    rows = walk()
    np.testing.assert_array_equal(clock(rows).before[:, 0], rows.time)
    assert_keeps_itself(clock(rows), rows)


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("space", [PUSH, ActionSpace("discrete", counts=(3,))], ids=lambda s: s.kind)
def test_a_late_action_waits_in_a_queue(steps: int, space: ActionSpace):
    rows = walk(space)
    memory = delay(rows, "action_0", steps)
    late = np.flatnonzero(rows.time >= steps)
    np.testing.assert_array_equal(memory.before[late, 0], rows.inputs["action_0"][late - steps])
    nothing = 0.0 if space.kind == "continuous" else -1.0
    assert set(memory.before[rows.time < steps, 0]) == {nothing}
    assert_keeps_itself(memory, rows)


def test_an_actuator_follows_slowly():
    rows = walk()
    memory = lag(rows, "action_0", 0.7)
    assert_keeps_itself(memory, rows)
    np.testing.assert_allclose(memory.after[0, 0], 0.3 * rows.inputs["action_0"][0])


def test_timers_go_round():
    rows = walk()
    for memory in timers(rows):
        assert_keeps_itself(memory, rows)


def test_a_switch_has_two_thresholds():
    rows = walk()
    x = rows.before[:, 0]
    low, high = np.quantile(x, [0.3, 0.7])
    memory = switch(rows, "x", float(low), float(high))
    mode = memory.before[:, 0]
    assert mode[x < low].all()
    assert not mode[x > high].any()
    between = np.flatnonzero((x >= low) & (x <= high) & (rows.time > 0))
    np.testing.assert_array_equal(mode[between], mode[between - 1])
    # Its rules act before motion: from the mode of the row before, they make the one of this row.
    more = memory.added(rows)
    earlier = more.before.copy()
    earlier[:, -1] = np.where(rows.time > 0, np.roll(mode, 1), 0.0)
    after, _ = predicted(replace(more, before=earlier), Motion({}), memory.rules)
    np.testing.assert_array_equal(after[:, -1], mode)


def test_proposals_start_with_the_simplest_and_are_added_beside_the_fields():
    rows = walk()
    found = list(memories(rows))
    assert found[0].name == "clock"
    assert len({memory.name for memory in found}) > 5
    more = found[0].added(rows)
    assert more.names == ("x", "clock")
    assert more.before.shape == (len(rows), 2)
    assert not more.fields[1].shown
