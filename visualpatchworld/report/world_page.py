"""The page of a run in any world: fields, laws, rivals, program, reward and end, errors, plans, and what stays open."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from markupsafe import Markup

from visualpatchworld.errors import VpwError
from visualpatchworld.output import write_text
from visualpatchworld.program.dial import dials_of
from visualpatchworld.report.page import REPORT, Chart, Line, Written, data_url, render, svg
from visualpatchworld.report.run import LARGEST_FILM, sent
from visualpatchworld.report.sections import coloured
from visualpatchworld.report.world import CheckRecord, WorldRun, undetermined

MOST_FILMS = 3


def sections() -> dict[str, Callable[[WorldRun], Any]]:
    """What a page is made of; a section that raises a `VpwError` is replaced by its sentence."""
    return {
        "record": lambda run: run.record,
        "listing": lambda run: coloured(run.program),
        "meanings": lambda run: {dial.name: dial.meaning for dial in dials_of(run.program)},
        "edited": lambda run: run.edited,
        "error_chart": _error_chart,
        "check": lambda run: run.check,
        "field_rows": lambda run: _field_rows(run.check),
        "stretch_charts": lambda run: stretch_charts(run.check),
        "plan": lambda run: run.plan,
        "left_open": lambda run: undetermined(run.record, {dial.name: dial.meaning for dial in dials_of(run.program)}),
        "films": lambda run: [data_url(sent(run.folder, path, LARGEST_FILM), "video/mp4") for path in run.films[:MOST_FILMS]],
        "commands": _commands,
    }


def write_world_report(folder: Path, progress: Callable[[str], None] = lambda _: None) -> Written:
    """Write the page of a run in any world into its folder."""
    run = WorldRun(folder)
    shown: dict[str, Any] = {}
    absent: dict[str, str] = {}
    for name, make in sections().items():
        progress(name)
        try:
            shown[name] = make(run)
        except VpwError as error:
            absent[name] = str(error)
    path = folder / REPORT
    write_text(path, render("world.html", absent=absent, **dict.fromkeys(absent), **shown))
    return Written(path, tuple(dict.fromkeys(absent.values())))


def _error_chart(run: WorldRun) -> Markup:
    rows = run.record.normalised_error
    if not rows:
        raise VpwError("No errors were kept.")
    return svg(
        Chart(
            title="error over the spread of change",
            x_label="steps ahead",
            lines=(
                Line("mean", "quiet", [(steps, row.mean) for steps, row in rows.items()]),
                Line("median", "foreseen", [(steps, row.median) for steps, row in rows.items()]),
            ),
            band=[(steps, row.median, row.p90) for steps, row in rows.items()],
            logarithmic=True,
        )
    )


def _field_rows(check: CheckRecord) -> list[tuple[str, list[str]]]:
    """One row per field: its median error after each number of steps."""
    return [(name, [f"{by[name]:.2g}" if name in by else "still" for by in check.by_field.values()]) for name in check.names]


def stretch_charts(check: CheckRecord) -> list[Markup]:
    """One chart per field of the stretch that nobody has seen."""
    charts = []
    for i, name in enumerate(check.names):
        truth, ahead = (
            [(float(step), value) for step, row in enumerate(rows) if (value := row[i]) is not None]
            for rows in (check.true, check.imagined)
        )
        lines = (Line("truth", "truth", truth), Line("imagined", "foreseen dashed", ahead))
        charts.append(svg(Chart(title=name, x_label="step", lines=lines)))
    return charts


def _commands(run: WorldRun) -> list[str]:
    name, folder = shlex.quote(run.record.world), shlex.quote(run.folder.resolve().name)
    return [f"vpw run {name} --out {folder}", f"vpw live {folder}", f"vpw report {folder}"]
