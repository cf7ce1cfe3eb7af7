"""The page of a run: each of its sections shows what is there, or says in one sentence what is missing."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8
from markupsafe import Markup

from visualpatchworld.errors import VpwError
from visualpatchworld.extras import PIL, imageio
from visualpatchworld.files import from_json
from visualpatchworld.paper.cell import Cell, Outcome
from visualpatchworld.paper.record import PROGRAM, SettingsRecord
from visualpatchworld.report.page import REPORT, Section, Written, coloured, data_url, in_steps, write_page
from visualpatchworld.report.run import (
    LARGEST_FILM,
    LARGEST_JSON,
    NotSent,
    Run,
    constant_rows,
    error_charts,
    evidence_of,
    read_run,
    sent,
    stretch,
    stretch_charts,
)
from visualpatchworld.report.world import is_world_run, write_world_report
from visualpatchworld.scene.calibrate import calibration_path, extractor, ways_in
from visualpatchworld.scene.picture import as_data_url
from visualpatchworld.scene.schema import SceneGraph, SceneObject
from visualpatchworld.scene.tool.look import Sighting
from visualpatchworld.simulator import FRAME_SIZE_PX
from visualpatchworld.trace.episode import for_tasks


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
        "listing": lambda run: coloured(run.program.text),
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
    return write_page(folder / REPORT, "run.html", sections(), read_run(folder), progress)


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


NUM_HUES = 5  # that the style sheet has for outlines
RING_PX = 6.0
LABEL_PX = (48.0, 10.0)  # room that a name takes in the frame


@dataclass(frozen=True)
class SceneView:
    """A frame, what lies over it, and the graph that says it in words and numbers."""

    frame: str  # a data URL
    lines: Markup
    graph: SceneGraph
    names: tuple[str, ...]  # of what is marked in the frame

    @property
    def objects(self) -> list[tuple[SceneObject, str]]:
        """Every object with its numbers, those that move first."""
        ordered = sorted(self.graph.objects, key=lambda item: item.fixed)
        return [(item, numbers(item)) for item in ordered]


def moment(run: Run) -> SceneView:
    """The start of a test episode, or of a world set up anew where no episodes are kept."""
    world = run.domain.simulator(run.constants)
    try:
        world.set_engine_state(for_tasks(run.traces.episodes)[0].engine_states[0])
    except VpwError:
        world.reset(seed=0)
    picture = world.render().astype(np.uint8)
    graph = run.domain.scene.oracle(world.get_state(), run.constants, step=0)
    sighting = _seen(run, world.get_state(), picture)
    moving = [item.name for item in graph.objects if not item.fixed]
    marked = tuple(name for name in moving if name in sighting.outlines)
    return SceneView(as_data_url(picture), _lines(sighting, moving), graph, marked)


def numbers(item: SceneObject) -> str:
    """What the graph says of an object, in one line."""
    parts = {
        **item.pose.model_dump(exclude_none=True),
        **{f"v{name}": value for name, value in item.velocity.model_dump(exclude_none=True).items()},
        **item.attributes,
    }
    return ", ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in parts.items()
    )


def _seen(run: Run, state: Float[np.ndarray, " S"], picture: UInt8[np.ndarray, "h w 3"]) -> Sighting:
    """Outlines where this look of the world was calibrated before, since that takes longer than a page is worth;
    else rings at places.
    """
    if calibration_path(run.domain, run.constants).is_file():
        return extractor(run.domain, run.constants).see(picture)
    if not calibration_path(run.domain, run.domain.constants).is_file():
        return Sighting()
    turn = np.linspace(0, 2 * np.pi, 25)
    ring = RING_PX * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return Sighting(outlines={name: (way[0] + ring,) for name, way in ways_in(run.domain)(state[None]).items()})


def _lines(sighting: Sighting, names: list[str]) -> Markup:
    """The outlines as an SVG layer of the frame's size, each with its name above it."""
    parts, labels = [], []
    places: list[tuple[float, float]] = []
    for i, name in enumerate(names):
        outlines = [line[np.isfinite(line).all(axis=1)] + 0.5 for line in sighting.outlines.get(name, ())]
        outlines = [line for line in outlines if len(line)]
        for line in outlines:
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in line)
            parts.append(
                Markup('<polyline class="case" points="{0}"/><polyline class="hue{1}" points="{0}"/>').format(
                    points, i % NUM_HUES
                )
            )
        if outlines:
            places.append(_label_place(np.concatenate(outlines), places))
            labels.append(
                Markup('<text class="hue{}" x="{:.0f}" y="{:.0f}">{}</text>').format(i % NUM_HUES, *places[-1], name)
            )
    size = FRAME_SIZE_PX
    return Markup('<svg viewBox="0 0 {} {}" aria-hidden="true">{}</svg>').format(
        size, size, Markup("").join(parts + labels)
    )


def _label_place(points: Float[np.ndarray, "N 2"], taken: list[tuple[float, float]]) -> tuple[float, float]:
    """Just above an outline and within the picture; lower where other names are in the way."""
    x = float(np.clip(points[:, 0].mean(), LABEL_PX[0] / 2, FRAME_SIZE_PX - LABEL_PX[0] / 2))
    y = float(np.clip(points[:, 1].min() - 4, LABEL_PX[1], FRAME_SIZE_PX - 4))
    while any(abs(x - other_x) < LABEL_PX[0] and abs(y - other_y) < LABEL_PX[1] for other_x, other_y in taken):
        y += 1
    return x, y


MOST_CHARACTERS = 12_000_000  # of films in a page; what would go beyond is left out and named


@dataclass(frozen=True)
class Film:
    """A film that plays from the page itself."""

    task: int
    success: bool | None  # None where no result says how the task ended
    steps: int | None
    url: str
    still: str  # empty where there is none

    @property
    def ending(self) -> str:
        if self.steps is None:
            return "not measured"
        return (
            f"goal met after {in_steps(self.steps)}" if self.success else f"goal not met within {in_steps(self.steps)}"
        )


@dataclass(frozen=True)
class Films:
    """The films of one cell, failures first, and the names of those that are too
    large to take along or cannot be read.
    """

    shown: tuple[Film, ...]
    left_out: tuple[str, ...]


def films_of(paths: Sequence[Path], cell: Cell, outcomes: Sequence[Outcome]) -> Films:
    """The films of a cell's tasks, as `vpw plan --video` names them."""
    begins = f"{cell.domain}-{cell.method}-{cell.observe}-{cell.score}-{cell.seed}-task"
    ended = {outcome.task: outcome for outcome in outcomes}
    numbered = [
        (int(found[1]), path) for path in paths if (found := re.fullmatch(re.escape(begins) + r"(\d+)", path.stem))
    ]
    shown, left_out, size = [], [], 0
    for task, path in sorted(numbered, key=lambda item: (item[0] not in ended or ended[item[0]].success, item[0])):
        outcome = ended.get(task)
        known = (None, None) if outcome is None else (outcome.success, outcome.steps)
        try:
            read = sent(path.parent, path, LARGEST_FILM)
            film = Film(
                task,
                *known,
                data_url(read, "video/mp4"),
                _still(sent(path.parent, path.with_suffix(".gif"), LARGEST_FILM)),
            )
        except (OSError, NotSent):
            left_out.append(path.name)
            continue
        size += len(film.url) + len(film.still)
        if size <= MOST_CHARACTERS:
            shown.append(film)
        else:
            left_out.append(path.name)
    return Films(tuple(shown), tuple(left_out))


def _still(gif: Path) -> str:
    try:
        return as_data_url(imageio.v3.imread(gif, plugin="pillow", index=0, mode="RGB"))
    except (OSError, ValueError, EOFError, PIL.Image.DecompressionBombError):
        return ""
