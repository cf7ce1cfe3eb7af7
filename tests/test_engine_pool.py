"""Worker processes: order, failures with a name, restarts, and no process left behind."""

import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from visualpatchworld import engine_pool
from visualpatchworld.domain import load_domain
from visualpatchworld.errors import WorkerFailed

PUSHT = load_domain("pusht")


def worker_ids() -> set[int]:
    return set(engine_pool.map_on_cores(os.getpid, [()] * 50))


def is_running(process: int) -> bool:
    status = Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().split()[2] != "Z"


def test_answers_come_in_order_of_jobs():
    numbers = [float(number) for number in range(100)]
    assert engine_pool.map_on_cores(math.sqrt, [(number,) for number in numbers]) == [
        math.sqrt(number) for number in numbers
    ]


def test_workers_are_other_processes_that_live_on():
    first, second = worker_ids(), worker_ids()
    assert os.getpid() not in first
    assert len(first | second) <= engine_pool.NUM_WORKERS


def test_what_a_job_prints_does_not_disturb_its_answer():
    assert engine_pool.map_on_cores(os.system, [("echo loud",)]) == [0]


def test_failure_in_a_worker_is_named():
    with pytest.raises(WorkerFailed, match="ValueError"):
        engine_pool.map_on_cores(math.sqrt, [(-1.0,)])
    assert engine_pool.map_on_cores(math.sqrt, [(4.0,)]) == [2.0]


def test_death_of_a_worker_is_named_and_mended():
    with pytest.raises(WorkerFailed, match="exit status 7"):
        engine_pool.map_on_cores(os._exit, [(7,)])
    assert engine_pool.map_on_cores(math.sqrt, [(4.0,)]) == [2.0]


def test_closing_leaves_no_process():
    workers = worker_ids()
    engine_pool.close()
    assert not any(is_running(worker) for worker in workers)


def test_workers_end_when_their_parent_is_killed():
    script = """
import os, time
from visualpatchworld.engine_pool import map_on_cores
print(*set(map_on_cores(os.getpid, [()] * 20)), flush=True)
time.sleep(60)
"""
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    workers = [int(word) for word in parent.stdout.readline().split()]
    assert workers
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    for _ in range(100):
        if not any(is_running(worker) for worker in workers):
            return
        time.sleep(0.1)
    pytest.fail("a worker outlived its parent")


@pytest.mark.parametrize("num_candidates", [1, 3, 37])
def test_rollout_equals_stepping_in_contact(num_candidates: int):
    simulator = PUSHT.make({"gain": 80.0})
    # In touch with the stem, moving into it.
    simulator.set_state(np.array([236.0, 320.0, 256.0, 256.0, 0.0, 100.0, 0.0]))
    start = simulator.get_engine_state()
    actions = np.random.default_rng(1).uniform(-1, 1, (num_candidates, 6, 2))
    rolled = simulator.rollout(start, actions)
    for sequence, states in zip(actions, rolled, strict=True):
        simulator.set_engine_state(start)
        np.testing.assert_array_equal([simulator.step(action)[0] for action in sequence], states)
