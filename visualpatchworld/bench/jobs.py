"""Running jobs as processes of their own, some side by side: one that fails takes nothing else with it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from visualpatchworld.bench.suite import Job
from visualpatchworld.errors import WorkerFailed


def run_job(command: Sequence[str], logs: Path, title: str) -> dict[str, Any]:
    """Run a command that prints one JSON object; what it says on stderr is kept in a log."""
    log = logs / f"{title.replace(' ', '-').replace(',', '').replace('(', '').replace(')', '')}.log"
    with log.open("w", encoding="utf-8") as errors:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, text=True, check=False)
    if done.returncode != 0:
        said = log.read_text(encoding="utf-8").strip().splitlines()
        raise WorkerFailed(f"'{title}' failed: {said[-1] if said else 'it said nothing'} (see {log})")
    return json.loads(done.stdout)


def run_jobs(jobs: Sequence[Job], results: Path, logs: Path, workers: int) -> Iterator[dict[str, Any]]:
    """The report of every job, as they end; a failure is told when the others that run have ended."""
    with ThreadPoolExecutor(workers) as pool:
        running = [pool.submit(run_job, job.command(results), logs, job.title) for job in jobs]
        try:
            for future in as_completed(running):
                yield future.result()
        except BaseException:
            for future in running:
                future.cancel()
            raise
