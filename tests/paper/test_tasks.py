"""Tasks are the protocol's draw: valid starts, without replacement, sorted, the same under a seed."""

from dataclasses import replace

import numpy as np
import pytest

from visualpatchworld.paper.task import TooFewTasks, draw_tasks, hash_tasks
from visualpatchworld.trace.episode import Episode

OFFSET = 5


def numbered_episodes(*lengths: int) -> list[Episode]:
    """Episodes whose states say where they are: 100 times the episode, plus the step."""
    episodes = []
    for index, length in enumerate(lengths):
        rows = 100.0 * index + np.arange(length)[:, None]
        episodes.append(Episode(index=index, observations=rows, engine_states=-rows, actions=rows[:-1, :1] + 0.5))
    return episodes


def test_every_valid_start_is_there_and_no_other():
    tasks = draw_tasks(numbered_episodes(8, 5, 6), count=4, offset=OFFSET, seed=0)
    # Valid steps are at most length - offset - 1: 0 to 2 of the first episode, none of the second, 0 of the third.
    assert [(task.episode, task.step) for task in tasks] == [(0, 0), (0, 1), (0, 2), (2, 0)]


def test_the_draw_is_the_protocol_s():
    episodes = numbered_episodes(40, 30)
    valid = [100.0 * i + t for i, length in ((0, 40), (1, 30)) for t in range(length - OFFSET)]
    wanted = np.sort(np.array(valid)[np.random.default_rng(42).choice(len(valid), 10, replace=False)])
    tasks = draw_tasks(episodes, count=10, offset=OFFSET, seed=42)
    assert [task.start[0] for task in tasks] == wanted.tolist()
    assert [task.number for task in tasks] == list(range(10))


def test_a_task_is_a_start_its_goal_and_what_came_before():
    tasks = draw_tasks(numbered_episodes(12), count=7, offset=OFFSET, seed=0)
    for task in tasks:
        assert task.goal[0] == task.start[0] + OFFSET
        assert (task.start_engine_state[0], task.goal_engine_state[0]) == (-task.start[0], -task.goal[0])
        assert len(task.earlier_engine_states) == len(task.earlier_actions) == min(3, task.step)
        assert [-state[0] for state in task.earlier_engine_states] == [
            task.step - 1 - i for i in range(min(3, task.step))
        ][::-1]
        assert [action[0] - 0.5 for action in task.earlier_actions] == [
            -state[0] for state in task.earlier_engine_states
        ]


def test_too_few_tasks_get_a_sentence():
    with pytest.raises(TooFewTasks, match="hold 4 tasks with a goal 5 steps ahead, not 5"):
        draw_tasks(numbered_episodes(8, 6), count=5, offset=OFFSET, seed=0)


def test_the_fingerprint_tells_tasks_apart():
    episodes = numbered_episodes(40)
    same, again, other = (hash_tasks(draw_tasks(episodes, count=10, offset=OFFSET, seed=seed)) for seed in (1, 1, 2))
    assert same == again != other
    assert same != hash_tasks(draw_tasks(episodes, count=10, offset=OFFSET + 1, seed=1))
    moved = [replace(episodes[0], observations=episodes[0].observations + 1e-3)]
    assert same != hash_tasks(draw_tasks(moved, count=10, offset=OFFSET, seed=1))
