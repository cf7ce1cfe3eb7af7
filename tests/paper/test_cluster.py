"""Cells on a Dask cluster of this machine: the same lines as
alone, also when a worker is lost with the job that it runs.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import toy_program
from cli.conftest import Vpw, vpw  # noqa: F401  a fixture

from visualpatchworld.errors import VpwError, WorkerFailed
from visualpatchworld.paper import jobs as job_runners
from visualpatchworld.paper.suite import SUITES

pytest.importorskip("distributed", reason="A cluster needs Dask: pip install 'visualpatchworld[dask]'.")

LOOPBACK = ("--host", "127.0.0.1", "--no-dashboard")
START_S = 60.0


class Started:
    """A process of the cluster, with all that it starts; gone for good when it is killed, as a machine would be."""

    def __init__(self, module: str, *arguments: str, said: Path):
        with said.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{module}", *arguments],
                stderr=log,
                stdout=log,
                start_new_session=True,
            )

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@contextmanager
def two_workers(folder: Path) -> Iterator[tuple[str, list[Started]]]:
    """A scheduler and two workers on loopback: the address, and the workers."""
    place = folder / "scheduler.json"
    scheduler = Started(
        "dask_scheduler", *LOOPBACK, "--port", "0", "--scheduler-file", str(place), said=folder / "scheduler.log"
    )
    arguments = (
        *LOOPBACK,
        "--scheduler-file",
        str(place),
        "--nthreads",
        "1",
        "--no-nanny",
        "--local-directory",
        str(folder),
    )
    workers = [Started("dask_worker", *arguments, said=folder / f"worker-{i}.log") for i in range(2)]
    try:
        deadline = time.monotonic() + START_S
        while not place.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        yield json.loads(place.read_text())["address"], workers
    finally:
        for started in (*workers, scheduler):
            started.kill()


def prepared(folder: Path, toy_file: Path) -> Path:
    """A folder that has the toy's episodes and its program already."""
    (folder / "traces").mkdir(parents=True)
    shutil.copy(toy_file, folder / "traces" / "slider.h5")
    program = folder / "programs" / "slider" / "world_model.py"
    program.parent.mkdir(parents=True)
    program.write_text(toy_program.RIGHT.text)
    return folder


def lines(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Every result line, but for how long planning took."""
    found = {
        path.name: [json.loads(line) for line in path.read_text().splitlines()]
        for path in (folder / "results").glob("*.jsonl")
    }
    for rows in found.values():
        for row in rows:
            assert row["outcome"].pop("plan_seconds") is not None
    return found


def test_a_lost_worker_changes_no_line(vpw: Vpw, tmp_path: Path, toy_file: Path, monkeypatch: pytest.MonkeyPatch):  # noqa: F811
    import psutil

    monkeypatch.setitem(SUITES, "smoke", replace(SUITES["smoke"], tasks=2, conditions=(("oracle", "induced"),)))
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "compiled"))
    arguments = ("bench", "smoke", "--domain", "slider", "--json")
    alone, spread = (prepared(tmp_path / name, toy_file) for name in ("alone", "spread"))
    (report,) = json.loads(vpw(*arguments, "--out", alone))["cells"]
    with two_workers(tmp_path) as (address, workers):

        def kill_the_busy_one() -> None:
            deadline = time.monotonic() + START_S
            busy: list[Started] = []
            while not busy and time.monotonic() < deadline:
                time.sleep(0.05)
                busy = [worker for worker in workers if psutil.Process(worker.process.pid).children()]
            for worker in busy:
                worker.kill()

        killing = threading.Thread(target=kill_the_busy_one)
        killing.start()
        told = json.loads(vpw(*arguments, "--out", spread, "--dask", address))
        killing.join()
        assert sorted(str(worker.process.poll()) for worker in workers) == [str(-signal.SIGKILL), "None"]
    assert told["missing"] == []
    assert {len(rows) for rows in lines(alone).values()} == {2}
    assert lines(spread) == lines(alone)
    (cell,) = told["cells"]
    timed = ("program", "results", "seconds_per_plan_median")
    assert {name: value for name, value in cell.items() if name not in timed} == {
        name: value for name, value in report.items() if name not in timed
    }


class Forever:
    """A job that nobody takes."""

    title = "a job"

    def command(self, results: Path) -> list[str]:
        return ["python", "-c", "pass"]


def test_nobody_waits_for_ever(tmp_path: Path):
    from distributed import Client, LocalCluster

    settings: dict[str, Any] = {"n_workers": 0, "dashboard_address": None, "host": "127.0.0.1"}
    with LocalCluster(**settings) as nobody, Client(nobody) as client:
        jobs: Any = [Forever()]
        (failure,) = job_runners.run_on_cluster(client, jobs, tmp_path, tmp_path, gone_s=0.1)
        assert isinstance(failure, WorkerFailed) and "waits for a worker" in str(failure)


def test_no_cluster_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(job_runners, "REACHED_S", 0.5)
    for address in ("tcp://127.0.0.1:9", "nonsense://"):
        with pytest.raises(VpwError, match="No Dask scheduler answers"), job_runners.cluster(address, tmp_path):
            pass
