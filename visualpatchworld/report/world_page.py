"""The page of a run in any world: fields, laws, rivals, program, reward and end, errors, plans, and what stays open."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from visualpatchworld.errors import VpwError
from visualpatchworld.files import write_text
from visualpatchworld.induction.windows import replay_errors
from visualpatchworld.program.edit import dials_of
from visualpatchworld.program.program import Program
from visualpatchworld.report.page import REPORT, Chart, Line, Written, data_url, render, svg
from visualpatchworld.report.recording import imagined
from visualpatchworld.report.run import LARGEST_FILM, sent
from visualpatchworld.report.sections import coloured
from visualpatchworld.report.world import CheckRecord, WorldRun, undetermined
from visualpatchworld.world.collect import collect
from visualpatchworld.world.log import LogWorld
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import World

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


STEPS = 400  # of a world that runs
HORIZON = 25
STRETCH = 100  # steps of the stretch that is shown
MOST_POINTS = 200
SEED_APART = 7_919  # from the seed of the search, so that episodes are others


def check(program: Program, world: World, names: Sequence[str], seed: int) -> dict[str, Any]:
    """Errors by horizon and field, and one stretch; of a log, what it holds out, else all of it."""
    unseen = not isinstance(world, LogWorld) or bool(world.held_out())
    if isinstance(world, LogWorld):
        seen = list(world.held_out() or world.logged())
    else:
        seen = collect(world, STEPS, np.random.default_rng(seed + SEED_APART))
    _, by_field = replay_errors(program, seen, HORIZON)
    longest = max(seen, key=len)
    steps = min(len(longest), max(STRETCH, _steps_of_motion(longest)))
    piece = Trajectory(longest.observations[: steps + 1], longest.actions[:steps])
    every = max(1, steps // MOST_POINTS)
    return {
        "names": list(names),
        "steps": sum(len(one) for one in seen),
        "unseen": unseen,
        "by_field": {steps: {names[int(i)]: error for i, error in row.items()} for steps, row in by_field.items()},
        "true": piece.observations[::every].tolist(),
        "imagined": imagined(program, piece, steps)[::every].tolist(),
        "program_hash": program.hash,
    }


def _steps_of_motion(trajectory: Trajectory) -> int:
    """Steps in which something happens: a log of a thousand rows a second shows nothing in a hundred of them."""
    seen = trajectory.observations
    spread = seen.std(axis=0)
    away = np.abs(seen - seen[0])[:, spread > 0] / spread[spread > 0]
    far = np.flatnonzero(away.max(axis=1, initial=0.0) > 1.0)
    return int(3 * far[0]) if len(far) else len(trajectory)
