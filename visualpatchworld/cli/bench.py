"""`vpw bench`: whole suites of cells; what is there already is not computed again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualpatchworld.cli._options import AsJson
from visualpatchworld.cli._show import progress, show
from visualpatchworld.domain import find_domains
from visualpatchworld.errors import UnknownName, VpwError

# A fifth of these holds the tasks, and 50 of them the training episodes that are fitted to.
EPISODES, SEED = 62, 1


def bench(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="smoke, main, multiseed, ablation or metrics.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for traces, programs and results.")] = Path("runs/bench"),
    workers: Annotated[int, typer.Option(min=1, metavar="N", help="Cells side by side; one plan alone can use all cores.")] = 1,
    domain: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this domain (repeatable).")] = None,
    traces: Annotated[list[str] | None, typer.Option(metavar="DOMAIN=FILE.h5", help="Also tasks from this file (repeatable).")] = None,
    as_json: AsJson = False,
) -> None:
    """Collect, induce and plan for all cells of a suite; run it again to go on where it stopped.

    Example: vpw bench smoke --out runs/bench
    """
    from visualpatchworld.bench.jobs import run_job, run_jobs
    from visualpatchworld.bench.suite import Source, collection, find_suite, jobs
    from visualpatchworld.output import make_folder

    chosen, found = find_suite(suite), find_domains()
    names = domain or list(found)
    for name in names:
        if name not in found:
            raise UnknownName("domain", name, found)
    folders = {name: make_folder(out / name) for name in ("traces", "results", "programs", "logs")}
    sources = [Source(name, folders["traces"] / f"{name}.h5", folders["programs"] / name / "world_model.py") for name in names]
    for entry in traces or ():
        name, equals, path = entry.partition("=")
        if not equals or name not in found:
            raise VpwError(f"--traces takes DOMAIN=FILE.h5 with a domain of {', '.join(found)}, not '{entry}'.")
        if name in names:
            sources.append(Source(name, Path(path), folders["programs"] / Path(path).stem / "world_model.py"))

    sources = [wanted for source in sources for wanted in chosen.sources(source)]
    with progress(sources, "programs", len(sources)) as each:
        for source in each:
            if not source.traces.exists():
                run_job(collection(source.domain, source.traces, EPISODES, SEED), folders["logs"], f"collect {source.domain}")
            if not source.program.exists():
                run_job(
                    source.induction(), folders["logs"], f"induce {source.domain} from {source.traces.stem} {source.sketch or ''}".strip()
                )
    planned = jobs(chosen, sources)
    with progress(run_jobs(planned, folders["results"], folders["logs"], workers), "cells", len(planned)) as rows:
        reports = list(rows)
    show({"suite": suite, "out": str(out), "cells": reports}, as_json, _table(reports))


def _table(reports: list[dict]):
    from rich.table import Table

    table = Table(title="success in percent")
    for name in ("domain", "tasks from", "condition", "seed", "success", "zero", "random", "engine rollouts / plan"):
        table.add_column(name)
    for row in reports:
        low, high = row["ci95"]
        table.add_row(
            row["domain"],
            row["source"],
            f"{row['observe']} + {row['score']}",
            str(row["seed"]),
            f"{row['success']:.0f} [{low:.0f}, {high:.0f}]",
            f"{row['floor_zero']:.0f}",
            f"{row['floor_random']:.0f}",
            f"{row['engine_rollouts_per_plan']:.0f}",
        )
    return table
