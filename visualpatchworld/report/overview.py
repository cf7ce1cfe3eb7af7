"""Pages of all results: the tables and figures of the paper beside ours,
and every world of which a program was found.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure
from pydantic import Field, ValidationError

from visualpatchworld.errors import VpwError, first_problem
from visualpatchworld.files import from_json, write_text
from visualpatchworld.paper.figures.draw import find_figures, make_figure, write_figure
from visualpatchworld.paper.record import ConstantRecord
from visualpatchworld.paper.results import NoResults, Results, read_results
from visualpatchworld.paper.table import as_html
from visualpatchworld.paper.tables import ABOUT_WORLDS, find_tables, make_table, read_lines
from visualpatchworld.program.dial import dials_of
from visualpatchworld.program.program import MOST_BYTES, Program, read_program
from visualpatchworld.report.page import REPORT, Written, coloured, data_url, in_steps, render
from visualpatchworld.report.run import check_records, sent
from visualpatchworld.report.world import (
    CheckRecord,
    EndRecord,
    FieldRecord,
    LawRecord,
    Record,
    RewardRecord,
    stretch_charts,
)

LARGEST_DRAWING = 600_000  # bytes of a figure as lines; one with more of them is put in as a picture
WORLDS = "worlds.html"


@dataclass(frozen=True)
class Item:
    """A table or a figure; where it could not be made, `absent` says why and what computes it."""

    id: str
    title: str
    content: Markup | None
    absent: str = ""


def write_paper(folder: Path, out: Path | None = None, progress: Callable[[str], None] = lambda _: None) -> Written:
    """Write the page of the paper's tables and figures from a folder of results;
    beside that folder when no place is named.
    """
    results = _checked(folder)
    if not results.results:
        raise NoResults(
            f"There are no results in '{folder}'; `vpw bench main --out DIR` computes some, then give --results DIR."
        )
    tables = _tables((name for name in find_tables() if name not in ABOUT_WORLDS), results, progress)
    figures = [
        _item(name, title, lambda name=name: _figure(name, results), progress) for name, title in find_figures().items()
    ]
    path = out or results.folder.parent / REPORT
    write_text(path, render("paper.html", tables=tables, figures=figures))
    return Written(path, _absent([*tables, *figures]))


def write_worlds(folder: Path, out: Path | None = None, progress: Callable[[str], None] = lambda _: None) -> Written:
    """Write the page of every world with a program, and of the tables about them;
    programs lie beside the folder of results.
    """
    results = _checked(folder)
    tables = _tables(ABOUT_WORLDS, results, progress)
    if not any(table.content for table in tables):
        raise NoResults(f"There are no results of worlds in '{folder}'; `python benchmarks/worlds.py` computes some.")
    worlds = []
    for kind in KINDS:
        for line in read_lines(results, kind):
            progress(str(line["name"]))
            worlds.append(_world(results, kind, line))
    path = out or results.folder.parent / WORLDS
    write_text(path, render("worlds.html", tables=tables, worlds=worlds, kinds=KINDS))
    return Written(path, _absent([*tables, *worlds]))


# Files of lines that name programs, and what a reader calls their worlds.
KINDS: Mapping[str, str] = {"worlds": "Environments", "cwmb": "Recorded trajectories", "real": "Real machines"}


class _Line(Record):
    """What a line of results says of one program; lines of logs and of recorded trajectories say less."""

    name: str
    seed: int = 0
    ok: bool = True
    failed: str = ""
    form: str = ""
    laws: tuple[LawRecord, ...] = ()
    fields: tuple[FieldRecord, ...] = ()
    dt: float | None = None
    integrator: str = ""
    constants: dict[str, ConstantRecord] = Field(default_factory=dict)
    reward: RewardRecord | None = None
    terminated: EndRecord | None = None
    verdict: str = ""
    why: str = ""
    env_steps: int = 0
    cpu_seconds: float | None = None
    program: str = ""
    program_hash: str = ""


@dataclass(frozen=True)
class WorldItem:
    """One program of a world with all that was measured of it; where something is not there, `absent` says so."""

    id: str
    kind: str
    line: _Line
    listing: Markup | None
    meanings: Mapping[str, str]
    figures: tuple[tuple[str, str], ...]
    charts: tuple[Markup, ...]
    plan: Mapping[str, Any]
    absent: str = ""


def _world(results: Results, kind: str, line: Mapping[str, Any]) -> WorldItem:
    name = f"{kind}-{line['name']}-{line.get('seed', 0)}"
    try:
        told = _Line.model_validate({**(line.get("fitted") or {}), **line})
    except ValidationError as error:
        why = f"The line of {line['name']} is damaged ({first_problem(error, 'the line')})."
        return WorldItem(name, kind, _Line(name=str(line["name"]), ok=False), None, {}, (), (), {}, why)
    if not told.ok or not told.program:
        return WorldItem(name, kind, told, None, {}, (), (), {}, told.failed or f"No program of {told.name} was found.")
    plans = {
        (plan["name"], plan.get("seed", 0)): plan
        for plan in read_lines(results, "plans" if kind == "worlds" else f"{kind}_plans")
    }
    programs = results.folder.parent / "programs"
    try:
        program = read_program(sent(programs, programs / told.program, MOST_BYTES), Path(told.program))
    except VpwError as error:
        return WorldItem(name, kind, told, None, {}, _figures(line), (), {}, str(error))
    changed = program.hash != told.program_hash
    plan = plans.get((told.name, told.seed), {})
    return WorldItem(
        name,
        kind,
        told,
        coloured(program.text),
        {dial.name: dial.meaning for dial in dials_of(program)},
        _figures(line),
        tuple(_stretch(results, program)),
        plan if plan.get("ok") else {},
        f"{told.program} is not the program that was measured." if changed else "",
    )


def _figures(line: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """What was measured of a program, in words and figures, whichever file the line is from."""
    rows = []
    for of, what in (("errors", "error"), ("networks", "networks on the same steps, error")):
        for steps, spread in (line.get(of) or {}).items():
            if isinstance(spread, Mapping):
                middle = spread.get("median")
                rows.append((f"{what} after {in_steps(int(steps))}", "diverges" if middle is None else f"{middle:.2g}"))
    for value in line.get("rmse") or ():
        rows.append(
            (
                f"free simulation, root mean square ({line.get('unit', '')})",
                "diverges" if value is None else f"{value:.3g}",
            )
        )
    for part, what in (
        ("fitted", "on the steps that it learned from"),
        ("held_out", "on trajectories that were held out"),
    ):
        if "isclose" in (line.get(part) or {}):
            rows.append((f"accuracy {what}", f"{line[part]['isclose']:.4g}"))
    return tuple(rows)


def _stretch(results: Results, program: Program) -> Iterator[Markup]:
    """Charts of a stretch that was kept of this very program; none where there is none."""
    kept = results.folder / "worlds" / "stretches" / f"{program.hash}.json"
    try:
        if kept.is_file():
            yield from stretch_charts(CheckRecord.model_validate(from_json(kept.read_bytes())))
    except (ValueError, OSError):
        return


def _checked(folder: Path) -> Results:
    check_records(folder)
    return read_results(folder)


def _absent(items: Iterable[Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item.absent for item in items if item.absent))


def _tables(names: Iterable[str], results: Results, progress: Callable[[str], None]) -> list[Item]:
    known = find_tables()
    return [_item(name, known[name].source, lambda name=name: _table(name, results), progress) for name in names]


def _item(name: str, title: str, make: Callable[[], tuple[str, Markup]], progress: Callable[[str], None]) -> Item:
    progress(name)
    try:
        made_title, content = make()
        return Item(name, made_title, content)
    except VpwError as error:
        return Item(name, title, None, str(error))


def _table(name: str, results: Results) -> tuple[str, Markup]:
    table = make_table(name, results)
    return table.title, Markup(as_html(table))


def _figure(name: str, results: Results) -> tuple[str, Markup]:
    title = find_figures()[name]
    url = drawn(make_figure(name, results))
    return title, Markup('<img class="plate" src="{}" alt="{}">').format(url, title)


def drawn(figure: Figure) -> str:
    """A figure as a data URL: as lines, which stay sharp, unless there are too many of them."""
    with tempfile.TemporaryDirectory() as folder:
        lines, picture = Path(folder) / "figure.svg", Path(folder) / "figure.png"
        write_figure(lines, figure, "svg")
        if lines.stat().st_size <= LARGEST_DRAWING:
            return data_url(lines, "image/svg+xml")
        write_figure(picture, figure, "png")
        return data_url(picture, "image/png")
