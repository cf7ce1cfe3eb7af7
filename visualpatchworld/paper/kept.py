"""Cells that are all there: their reports from the results, so that a suite that goes on starts no process for them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from visualpatchworld.domain import PAPER, load_domain
from visualpatchworld.errors import VpwError
from visualpatchworld.paper.cell import Cell
from visualpatchworld.paper.evaluation import EvalConfig, measure, measure_floors, report
from visualpatchworld.paper.jobs import CellJob
from visualpatchworld.paper.record import read_written
from visualpatchworld.paper.results import OFFSET
from visualpatchworld.paper.task import Goals
from visualpatchworld.program.program import Program, read_program
from visualpatchworld.trace.episode import Episode
from visualpatchworld.trace.read import read_traces


def kept_reports(jobs: Sequence[CellJob], results: Path) -> dict[CellJob, dict[str, Any]]:
    """What `vpw plan --json` would print, for every job whose cell and floors have all their outcomes already."""
    episodes = cache(lambda source: read_traces(source.traces, load_domain(source.domain)).episodes)
    found = {}
    for job in jobs:
        try:
            request = _request(job, episodes(job.source))
            cells = [
                request.cell(request.method, job.observe, job.score),
                *(request.cell(name, "oracle", "none") for name in ("zero", "random")),
            ]
        except VpwError:
            continue  # whoever computes the cell says what is wrong
        if all(_is_whole(results, cell) for cell in cells):
            places = {"program": str(job.source.program) if request.program else None, "results": str(results), "films": []}
            found[job] = report(request, list(measure(results, request)), measure_floors(results, request)) | places
    return found


def _request(job: CellJob, episodes: Sequence[Episode]) -> EvalConfig:
    """What the job's command asks for."""
    world, options = load_domain(job.source.domain), dict(zip(job.options[::2], job.options[1::2], strict=True))
    program, written_by = None, ""
    if job.score != "simulator":
        path = job.source.program
        program, written_by = (Program(read_program(path), path), "") if job.source.rival is None else read_written(path)
    return EvalConfig(
        domain=world,
        constants=world.constants,
        vary={},
        method="engine" if job.score == "simulator" else job.source.method,
        program=program,
        observe=job.observe,
        score=job.score,
        episodes=episodes,
        source=job.source.traces.stem,
        count=job.tasks,
        offset=int(options.get("--offset", OFFSET)),
        seed=job.seed,
        metric=options.get("--metric", next(iter(world.metrics))),
        written_by=written_by,
        planner_name=options.get("--planner", PAPER),
        horizon=int(options["--horizon"]) if "--horizon" in options else None,
        goals=Goals(of=options.get("--goals", "same-episode"), tolerance=float(options.get("--tolerance", 1))),  # type: ignore[arg-type]
    )


def _is_whole(results: Path, cell: Cell) -> bool:
    path = results / cell.file_name
    return path.is_file() and path.read_bytes().count(b"\n") >= cell.n
