"""`vpw report`: a run, or all tables and figures, as one page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualpatchworld.cli._options import AsJson
from visualpatchworld.cli._show import show, working
from visualpatchworld.errors import VpwError


def report(
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="What `vpw run --out DIR` filled; the page becomes its report.html.")
    ] = None,
    paper: Annotated[bool, typer.Option("--paper", help="All tables and figures of the paper beside ours, in place of a run.")] = False,
    results: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Results for --paper; the folder `results` where there is one, else runs/bench."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the page of --paper goes; report.html beside the results.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write one HTML file that shows everything: it loads nothing, so that it opens from disk and can be sent to someone.

    A run's program is code: it is shown, and foresees nowhere but in the sandbox. Nothing outside DIR is read.

    Example: vpw report runs/DOMAIN

    Example: vpw report --paper --results runs/bench
    """
    if paper == (folder is not None):
        raise VpwError("Say which run, as `vpw report DIR`, or `vpw report --paper` for all tables and figures.")
    if not paper and (results is not None or out is not None):
        raise VpwError("--results and --out go with --paper; the page of a run is the report.html in its folder.")
    with working("writing the page") as stage:
        if folder is not None:
            from visualpatchworld.report.run_page import write_report

            written = write_report(folder, stage)
        else:
            from visualpatchworld.report.paper import write_paper

            written = write_paper(results or _usual_results(), out, stage)
    result = {"report": str(written.path), "bytes": written.path.stat().st_size, "missing": list(written.missing)}
    show(result, as_json, "\n".join([*written.missing, f"report: {written.path}"]))


def _usual_results() -> Path:
    return Path("results") if Path("results").is_dir() else Path("runs/bench")
