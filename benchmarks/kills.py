"""What is left when a command is killed at any moment, and whether the next run goes on from there.

    python benchmarks/kills.py --kills 100

Every round starts a command in a folder, kills it with SIGKILL (alone, or with all its children) at a random moment or
shortly after it wrote something, and starts it again, some times over, until it ends by itself. After each kill every
file that has its final name must be whole; in the end nothing may be lost or doubled, no half-written file may lie
about, and what was made must be what an undisturbed run makes. The last round lets several writers fill one results
file at once.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  registers Blosc with HDF5

ROOT = Path(__file__).parent.parent
TOY = ROOT / "tests" / "toy"
PROGRAM = ROOT / "tests" / "toy_program.py"
MOST_KILLS = 4  # in one round, before the command may end
LONGEST_S = 600.0
OFTEN = ("seconds", "plan_seconds", "seconds_per_plan_median", "seconds_per_frame")  # what no two runs have in common


@dataclass(frozen=True)
class Job:
    """A command, and what it needs beforehand."""

    name: str
    arguments: tuple[str, ...]
    prepare: Callable[[Path], None] = field(default=lambda folder: None)

    def start(self, folder: Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "visualpatchworld", *self.arguments, "--json"]
        environment = {**os.environ, "VPW_DOMAINS": str(TOY), "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )


def _with_program(folder: Path) -> None:
    sys.path.insert(0, str(PROGRAM.parent))
    from toy_program import RIGHT

    (folder / "world_model.py").write_text(RIGHT.text)


COLLECT = Job("collect", ("collect", "slider", "--episodes", "300", "--out", "episodes.h5"))
PLAN = Job(
    "plan",
    ("plan", "slider", "--program", "world_model.py", "--episodes", "120", "--offset", "10", "--results", "results"),
    _with_program,
)
INDUCE = Job("induce", ("induce", "slider", "--episodes", "4", "--out", "induced"))
BENCH = Job("bench", ("bench", "smoke", "--domain", "slider", "--out", "bench"))
# The share of kills that each gets: those that take long get fewer.
JOBS = {COLLECT: 0.35, PLAN: 0.35, INDUCE: 0.2, BENCH: 0.1}


def finish(job: Job, folder: Path) -> float:
    """Let the command end by itself; seconds that it took."""
    began = time.monotonic()
    running = job.start(folder)
    _, said = running.communicate(timeout=LONGEST_S)
    assert running.returncode == 0, (
        f"{job.name} ended with {running.returncode}: {said.decode(errors='replace')[-2000:]}"
    )
    return time.monotonic() - began


def kill_somewhere(job: Job, folder: Path, usual_s: float, rng: random.Random) -> bool:
    """Start the command and kill it; False where it had ended before."""
    before = _sizes(folder)
    running = job.start(folder)
    if rng.random() < 0.5:
        moment = time.monotonic() + rng.uniform(0, usual_s)
    else:  # most of a run is loading: what happens while files change is worth more kills
        while running.poll() is None and _sizes(folder) == before:
            time.sleep(0.002)
        moment = time.monotonic() + rng.uniform(0, 0.3) * rng.random()
    while running.poll() is None and time.monotonic() < moment:
        time.sleep(0.001)
    ended = running.poll() is not None
    if not ended:
        if rng.random() < 0.5:
            os.killpg(running.pid, signal.SIGKILL)
        else:
            running.kill()
    running.communicate()
    return not ended


def check_whole(folder: Path) -> None:
    """Every file with its final name can be read to its end; a results file may end in a line that is not finished."""
    for path in folder.rglob("*"):
        if path.name.startswith(".") or not path.is_file():
            continue
        if path.suffix == ".h5":
            with h5py.File(path) as file:
                assert "ep_len" in file, f"{path} is not whole"
        elif path.suffix == ".json":
            json.loads(path.read_text())
        elif path.suffix == ".py":
            compile(path.read_text(), str(path), "exec")
        elif path.suffix == ".jsonl":
            for line in path.read_bytes().split(b"\n")[:-1]:
                json.loads(line)


def made(folder: Path) -> dict[str, Any]:
    """All that a command made, without what differs from run to run."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".h5":
            with h5py.File(path) as file:
                found[name] = {key: file[key][()].tolist() for key in file if isinstance(file[key], h5py.Dataset)}  # type: ignore[index]
        elif path.suffix == ".jsonl":
            lines = path.read_bytes().split(b"\n")
            assert lines[-1] == b"", f"{path} ends in half a line"
            found[name] = [_steady(json.loads(line)) for line in lines[:-1]]
            tasks = [row["outcome"]["task"] for row in found[name]]
            assert sorted(tasks) == list(range(found[name][0]["cell"]["n"])), f"{path} has the tasks {tasks}"
        elif path.suffix == ".json":
            found[name] = _steady(json.loads(path.read_text()))
        elif path.suffix == ".py":
            found[name] = path.read_text()
    return found


def _steady(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _steady(part) for key, part in value.items() if key not in OFTEN}
    return [_steady(part) for part in value] if isinstance(value, list) else value


def _sizes(folder: Path) -> list[tuple[str, int]]:
    sizes = []
    for path in sorted(folder.rglob("*")):
        try:
            sizes.append((str(path), path.stat().st_size))
        except FileNotFoundError:
            continue
    return sizes


def left_behind(folder: Path) -> list[Path]:
    """Half-written files."""
    return [path for path in folder.rglob(".*") if path.name.endswith(".part")]


def kill_round(job: Job, whole: dict[str, Any], usual_s: float, kills: int, rng: random.Random) -> int:
    """Kill a command so many times in one folder, let it end, and check what it made; how many kills hit it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        job.prepare(folder)
        hits = 0
        for _ in range(kills):
            hits += kill_somewhere(job, folder, usual_s, rng)
            check_whole(folder)
        finish(job, folder)
        assert not left_behind(folder), f"{job.name} left {left_behind(folder)}"
        found = made(folder)
        assert found.keys() == whole.keys(), f"{job.name} made {sorted(found)} in place of {sorted(whole)}"
        for path in whole:
            assert found[path] == whole[path], f"{job.name}: {path} is not what an undisturbed run makes"
        return hits


def two_writers(job: Job, whole: dict[str, Any], writers: int = 3) -> None:
    """Several of the same command at once: each task is done once."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        job.prepare(folder)
        running = [job.start(folder) for _ in range(writers)]
        for each in running:
            _, said = each.communicate(timeout=LONGEST_S)
            assert each.returncode == 0, said.decode(errors="replace")[-2000:]
        assert made(folder) == whole, "several writers made something else than one"


def undisturbed(job: Job) -> tuple[dict[str, Any], float]:
    """What the command makes, and how long it takes when it is warm."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        job.prepare(folder)
        seconds = finish(job, folder)
        return made(folder), seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    counts = dict.fromkeys((job.name for job in JOBS), 0)
    for job, share in JOBS.items():
        wanted = max(1, round(share * options.kills))
        whole, seconds = undisturbed(job)
        print(f"{job.name}: {seconds:.1f} s undisturbed", flush=True)
        while counts[job.name] < wanted:
            counts[job.name] += kill_round(job, whole, seconds, min(MOST_KILLS, wanted - counts[job.name]), rng)
        print(f"{job.name}: {counts[job.name]} kills, nothing lost, doubled or left behind", flush=True)
    whole, _ = undisturbed(PLAN)
    two_writers(PLAN, whole)
    print(
        f"{sum(counts.values())} kills "
        f"({', '.join(f'{count} {name}' for name, count in counts.items())}); three writers at once: the same"
    )


if __name__ == "__main__":
    main()
