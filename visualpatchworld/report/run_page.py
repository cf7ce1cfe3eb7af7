"""The page of a run: each of its sections shows what is there, or says in one sentence what is missing."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from visualpatchworld.errors import VpwError
from visualpatchworld.files import from_json, write_text
from visualpatchworld.paper.induction_record import SettingsRecord
from visualpatchworld.report.page import REPORT, Written, render
from visualpatchworld.report.pictures import films_of, moment
from visualpatchworld.report.run import LARGEST_JSON, PROGRAM, NotSent, Run, read_run, sent
from visualpatchworld.report.sections import coloured, constant_rows, error_charts, evidence_of, stretch, stretch_charts
from visualpatchworld.report.world import is_world_run
from visualpatchworld.report.world_page import write_world_report

Section = Callable[[Run], Any]


@dataclass(frozen=True)
class Stage:
    """A stage of the run and how long it took; `share` is of the longest one."""

    name: str
    seconds: float
    share: float


def sections() -> dict[str, Section]:
    """What a page is made of; a section that raises a `VpwError` is replaced by its sentence."""
    return {
        "induction": lambda run: run.induction,
        "moment": moment,
        "evidence": lambda run: evidence_of(run.induction, run.domain.probe_tolerances),
        "listing": lambda run: coloured(run.program),
        "constants": lambda run: constant_rows(run.induction, run.domain),
        "edited": lambda run: run.edited,
        "errors": lambda run: error_charts(run.induction),
        "stretch": _stretch,
        "measured": lambda run: run.measured,
        "other_program": lambda run: run.measured != run.measured_as_it_stands,
        "films": lambda run: films_of(run.films, run.measured[0].result.cell, run.measured[0].result.outcomes),
        "stages": _stages,
        "facts": _facts,
        "commands": _commands,
    }


def write_report(folder: Path, progress: Callable[[str], None] = lambda _: None) -> Written:
    """Write the page of a run into its folder, of a domain or of any world."""
    if is_world_run(folder):
        return write_world_report(folder, progress)
    run = read_run(folder)
    shown: dict[str, Any] = {}
    absent: dict[str, str] = {}
    for name, make in sections().items():
        progress(name)
        try:
            shown[name] = make(run)
        except VpwError as error:
            absent[name] = str(error)
    path = folder / REPORT
    write_text(path, render("run.html", run=run, absent=absent, **dict.fromkeys(absent), **shown))
    return Written(path, tuple(dict.fromkeys(absent.values())))


def _stretch(run: Run) -> dict[str, Any]:
    found = stretch(run.program, run.traces, run.domain)
    return {"found": found, "charts": stretch_charts(found, run.domain)}


def _stages(run: Run) -> list[Stage]:
    """Collecting, probing, fitting and planning, as far as their time is known."""
    seconds = dict(run.seconds)
    if not {"probe", "fit"} & set(seconds):
        with suppress(VpwError):
            seconds["probe and fit"] = run.induction.seconds
    with suppress(VpwError):
        seconds["plan"] = sum(value for outcome in run.measured[0].result.outcomes for value in outcome.plan_seconds)
    if not seconds:
        raise VpwError("No timings were kept.")
    longest = max(seconds.values()) or 1.0
    return [Stage(name, value, value / longest) for name, value in seconds.items()]


def _facts(run: Run) -> list[tuple[str, str]]:
    """Where everything comes from."""
    return [(name, said) for name, said in _told(run) if said]


def _told(run: Run) -> Iterator[tuple[str, str]]:
    yield "domain", f"{run.domain.name}, on {run.domain.engine}"
    yield "constants varied", ", ".join(f"{name} = {value}" for name, value in _varied(run).items()) or "none"
    settings = _settings(run)
    if settings is not None:
        yield "episodes", f"{settings.episodes} collected with seed {settings.seed}; the last fifth was never fitted to"
        yield "induced with", f"visualpatchworld {settings.version}"
    try:
        yield "program", f"{run.program.hash} ({PROGRAM})"
        yield "edited since", f"yes, it was induced as {run.induction.program_hash}" if run.edited else "no"
    except VpwError:
        pass
    try:
        cell = run.measured[0].result.cell
    except VpwError:
        return
    yield "tasks", f"{cell.n} from {cell.source}, seed {cell.seed}, fingerprint {cell.tasks}"
    yield "planner", cell.planner
    yield "measured with", ", ".join(f"{name} {value}" for name, value in _versions(run, cell.file_name).items())


def _versions(run: Run, file_name: str) -> dict[str, str]:
    """What a results file says it was made with."""
    try:
        path = sent(run.folder, run.results.folder / file_name, LARGEST_JSON)
        with path.open(encoding="utf-8") as file:
            return dict(from_json(file.readline())["versions"])
    except (OSError, ValueError, KeyError, TypeError, NotSent):
        return {}


def _settings(run: Run) -> SettingsRecord | None:
    try:
        return run.induction.settings
    except VpwError:
        return None


def _varied(run: Run) -> dict[str, Any]:
    nominal, actual = dataclasses.asdict(run.domain.constants), dataclasses.asdict(run.constants)
    return {name: value for name, value in actual.items() if value != nominal[name]}


def _commands(run: Run) -> list[str]:
    """What to type to get the same again."""
    name, folder = run.domain.name, run.name
    vary = "".join(f" --vary {shlex.quote(f'{key}={value}')}" for key, value in _varied(run).items())
    settings = _settings(run)
    if settings is None:
        return [f"vpw induce {name} --out {folder}{vary}", f"vpw report {folder}"]
    try:
        tasks = f" --tasks {run.measured[0].result.cell.n}"
    except VpwError:
        tasks = ""
    repeat = f"vpw run {name} --out {folder} --episodes {settings.episodes}{tasks} --seed {settings.seed}{vary}"
    rollout = f"vpw rollout {folder}/{PROGRAM} --domain {name} --traces {folder}/episodes.h5"
    return [repeat, rollout, f"vpw report {folder}"]
