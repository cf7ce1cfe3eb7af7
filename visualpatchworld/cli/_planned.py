"""Planning as verbs report it: floors, outcomes and films, with progress while they come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from visualpatchworld.bench.film import write_films
from visualpatchworld.bench.measure import Request, measure, measure_floors, report
from visualpatchworld.cli._show import progress, working
from visualpatchworld.output import make_folder

NUM_FILMS = 3  # tasks that are filmed


def planned(request: Request, program: Path | None, results: Path, video: Path | None) -> dict[str, Any]:
    """The fields of `vpw plan --json`; what the results hold already is not computed again."""
    folder = make_folder(results)
    with working("planning") as stage:
        stage("resting and acting at random")
        floors = measure_floors(folder, request)
    with progress(measure(folder, request), "planning", request.count) as done:
        outcomes = list(done)
    films = []
    if video is not None:
        failed = [outcome.task for outcome in outcomes if not outcome.success]
        with progress(write_films(make_folder(video), request, NUM_FILMS, failed), "filming", 2 * NUM_FILMS) as written:
            films = [str(path) for path in written]
    places = {"program": None if program is None else str(program), "results": str(folder), "films": films}
    return report(request, outcomes, floors) | places
