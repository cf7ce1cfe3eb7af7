"""Scores `vpw induce` on drawn worlds: `python -m zoo.score --ids L1:0-19,L2:0-19`, run in benchmarks/; resumable.

Every world is induced in a process of its own, and its program is judged in another one. A line per world goes to
results/zoo/zoo.jsonl; worlds that are there are left out. The table of all lines is printed at the end, as
`vpw table zoo` does.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
from lines import ROOT, Lines, plain, stamp

from visualpatchworld.errors import VpwError, WorkerFailed
from visualpatchworld.extras import need
from visualpatchworld.paper.jobs import Job, cluster, run_on_cluster
from visualpatchworld.paper.results import read_results
from visualpatchworld.paper.table import as_text
from visualpatchworld.paper.tables import make_table
from zoo.record import record
from zoo.spec import Spec

BENCHMARKS = Path(__file__).resolve().parents[1]
EXACT, EXACT_P90, GOOD = 1e-3, 1e-2, 0.05
PATIENCE, GRACE_S = 6, 240  # a search that takes so many times its seconds, and so many more, is ended
JUDGE_S = 300
ENDED_WELL = (0, 3)  # 3: a program was written, but nothing is explained


def names_of(ids: str) -> Iterator[str]:
    """L1-0, L1-1 and so on, from L1:0-19,L2:3."""
    for part in ids.split(","):
        level, colon, seeds = part.strip().partition(":")
        first, _, last = seeds.partition("-")
        if not (level and colon and first.isdigit() and (last or first).isdigit()):
            raise VpwError(f"--ids takes LEVEL:SEED or LEVEL:FIRST-LAST, as in L1:0-19,L2:3, not '{part.strip()}'.")
        for seed in range(int(first), int(last or first) + 1):
            yield f"{level}-{seed}"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How worlds are scored, and where what comes of it is kept."""

    package: str = "zoo"  # of the families that worlds are drawn from
    seconds: float = 60.0  # of a search
    results: Path = ROOT / "results"
    programs: Path = ROOT / "runs" / "zoo"

    @property
    def lines(self) -> Lines:
        return Lines(self.results / "zoo" / "zoo.jsonl", ("id",))

    def check(self, name: str) -> None:
        """Refuse a world that the package does not have."""
        try:
            importlib.import_module(self.package)
        except ModuleNotFoundError:
            raise VpwError(f"There is no package '{self.package}' that draws worlds.") from None
        if f"{self.package}/{name}-v0" not in gymnasium.registry:
            raise VpwError(f"The package {self.package} has no world '{name}'.")

    def spec_of(self, name: str) -> Spec:
        return importlib.import_module(self.package).spec_of(name)


def scored(name: str, settings: Settings) -> dict[str, Any]:
    """One world's line of results."""
    spec = settings.spec_of(name)
    folder = settings.programs / name
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "world_model.py"
    program.unlink(missing_ok=True)
    began = time.perf_counter()
    found = _induce(f"{settings.package}:{settings.package}/{name}-v0", folder, settings.seconds)
    line = {"id": name, "level": name.partition("-")[0], "tags": spec.tags, "integrator": spec.integrator, **stamp()}
    line |= {"seconds": round(time.perf_counter() - began, 1), "limit_seconds": settings.seconds}
    line |= {"cores": os.cpu_count(), **found}
    return line | judged_line(line, spec, program)


def judged_line(line: dict[str, Any], spec: Spec, program: Path) -> dict[str, Any]:
    """What the judge says of the program that was written."""
    if not program.exists():
        return {"category": "crash", "crash": True, "false_explained": False}
    judged = _judge(spec, program)
    kind = category(judged.get("errors", {}))
    return judged | {
        "category": kind,
        "crash": False,
        "false_explained": line["verdict"] == "explained" and kind == "poor",
    }


def category(errors: dict[str, Any]) -> str:
    """Exact, good or poor, by the longest horizon."""
    if not errors:
        return "poor"
    far = errors[max(errors, key=int)]
    if far["worst"] <= EXACT and far["p90"] <= EXACT_P90:
        return "exact"
    return "good" if far["worst"] <= GOOD else "poor"


def _induce(world: str, folder: Path, seconds: float) -> dict[str, Any]:
    command = ["-m", "visualpatchworld", "induce", world, "--out", str(folder), "--seconds", str(seconds), "--json"]
    empty: dict[str, Any] = dict.fromkeys(("verdict", "why", "form", "env_steps", "program_hash"))
    try:
        done = _python(command, timeout=PATIENCE * seconds + GRACE_S)
    except subprocess.TimeoutExpired:
        return empty | {"rc": None, "message": "the search did not end in time"}
    try:
        report = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        report = {}
    message = "" if done.returncode in ENDED_WELL else (done.stderr or done.stdout).strip()[-600:]
    return {key: report.get(key) for key in empty} | {"rc": done.returncode, "message": message}


def _judge(spec: Spec, program: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        episodes = Path(folder) / "episodes.npz"
        record(spec, episodes)
        try:
            done = _python(["-m", "zoo.judge", str(program), str(episodes)], timeout=JUDGE_S)
        except subprocess.TimeoutExpired:
            return {"judge": "the judge did not end in time"}
    if done.returncode:
        return {"judge": f"the judge failed: {done.stderr.strip()[-400:]}"}
    return json.loads(done.stdout)


def _python(arguments: list[str], timeout: float) -> subprocess.CompletedProcess[str]:
    """Run this Python with the drawn worlds, and this very package, on its path."""
    paths = os.pathsep.join([str(BENCHMARKS), str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    command, settings = [sys.executable, *arguments], {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=settings, check=False)


@dataclass(frozen=True)
class WorldJob(Job):
    """One world to score, as a command that a worker of a cluster runs."""

    world: str
    settings: Settings

    @property
    def title(self) -> str:
        return f"zoo {self.world}"

    def command(self, results: Path) -> list[str]:
        level, _, seed = self.world.rpartition("-")
        options = {"--ids": f"{level}:{seed}", "--package": self.settings.package, "--seconds": self.settings.seconds}
        places = {"--results": results, "--programs": self.settings.programs}
        words = [str(part) for option in (options | places).items() for part in option]
        return [sys.executable, "-m", "zoo.score", *words, "--again", "--json"]


@contextmanager
def workers(asked: str, folder: Path) -> Iterator[Any]:
    """A cluster behind an address, or of so many workers on this machine."""
    if not asked.isdigit():
        with cluster(asked, folder) as client:
            yield client
        return
    need("dask")
    from distributed import LocalCluster

    # Threads will do: all that a worker does is to wait for a process.
    local = LocalCluster(n_workers=int(asked), threads_per_worker=1, processes=False, dashboard_address=None)
    with local, cluster(local.scheduler_address, folder) as client:
        yield client


def score_here(names: list[str], settings: Settings) -> Iterator[dict[str, Any]]:
    """Score one world after the other; each line is kept as soon as it is there."""
    for name in names:
        settings.lines.put(line := scored(name, settings))
        yield line


def score_on_cluster(names: list[str], settings: Settings, dask: str) -> Iterator[dict[str, Any] | WorkerFailed]:
    """Score all worlds on Dask: only commands travel, and each keeps its own line in the shared folder."""
    logs = settings.programs / "logs"
    for folder in (settings.results, logs):
        folder.mkdir(parents=True, exist_ok=True)
    jobs = [WorldJob(name, settings) for name in names]
    # Commands run where this process stands, so that workers find the package of drawn worlds.
    with chdir(BENCHMARKS), workers(dask, settings.results) as client:
        yield from run_on_cluster(client, jobs, settings.results, logs)


def main() -> None:
    usual = Settings()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ids", default="L1:0-9,L2:0-9,L3:0-9,L4:0-9", help="levels with their seeds: L1:0-19,L2:3")
    parser.add_argument("--package", default=usual.package, help="that draws the worlds; it has a function spec_of")
    parser.add_argument("--seconds", type=float, default=usual.seconds, help="that a search may take")
    parser.add_argument("--dask", metavar="N|ADDRESS", help="so many worlds side by side here, or on a cluster")
    parser.add_argument("--results", type=Path, default=usual.results)
    parser.add_argument("--programs", type=Path, default=usual.programs, help="folder for the programs that are found")
    parser.add_argument("--again", action="store_true", help="score also the worlds that the results hold")
    parser.add_argument("--rejudge", action="store_true", help="only judge the programs that are there again")
    parser.add_argument("--json", action="store_true", help="print the lines instead of a table")
    given = parser.parse_args()
    settings = Settings(
        package=given.package,
        seconds=given.seconds,
        results=given.results.resolve(),
        programs=given.programs.resolve(),
    )
    try:
        run(given, settings)
    except VpwError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


def run(given: argparse.Namespace, settings: Settings) -> None:
    """Score or judge what is asked for, then show the table."""
    names = list(names_of(given.ids))
    for name in names:
        settings.check(name)
    if given.rejudge:
        for line in settings.lines.read():
            if line["id"] in names:
                program = settings.programs / line["id"] / "world_model.py"
                settings.lines.put(line | judged_line(line, settings.spec_of(line["id"]), program))
    else:
        todo = [name for name in names if given.again or not settings.lines.has(id=name)]
        lines = score_on_cluster(todo, settings, given.dask) if given.dask else score_here(todo, settings)
        for line in lines:
            if given.json:
                print(json.dumps(plain(line)), flush=True)
            elif isinstance(line, WorkerFailed):
                print(line, file=sys.stderr, flush=True)
            else:
                print(f"{line['id']}: {line['category']}, {line['verdict']}, {line['seconds']:.0f} s", flush=True)
    if not given.json:
        print(as_text(make_table("zoo", read_results(settings.results)), 100))


if __name__ == "__main__":
    main()
