"""The page of the paper: all its tables and figures in our measure, with what was published beside it, marked as quoted."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup
from matplotlib.figure import Figure

from visualpatchworld.errors import VpwError
from visualpatchworld.output import write_text
from visualpatchworld.paper.figures.draw import find_figures, make_figure, write_figure
from visualpatchworld.paper.render import as_html
from visualpatchworld.paper.results import NoResults, Results, read_results
from visualpatchworld.paper.tables import find_tables, make_table
from visualpatchworld.report.page import REPORT, Written, data_url, render
from visualpatchworld.report.run import check_records

LARGEST_DRAWING = 600_000  # bytes of a figure as lines; one with more of them is put in as a picture


@dataclass(frozen=True)
class Item:
    """A table or a figure; where it could not be made, `absent` says why and what computes it."""

    id: str
    title: str
    content: Markup | None
    absent: str = ""


def write_paper(folder: Path, out: Path | None = None, progress: Callable[[str], None] = lambda _: None) -> Written:
    """Write the page of all tables and figures from a folder of results; beside that folder when no place is named."""
    check_records(folder)
    results = read_results(folder)
    if not results.results:
        raise NoResults(f"There are no results in '{folder}'; `vpw bench main --out DIR` computes some, then give --results DIR.")
    tables = [_item(name, quoted.source, lambda name=name: _table(name, results), progress) for name, quoted in find_tables().items()]
    figures = [_item(name, title, lambda name=name: _figure(name, results), progress) for name, title in find_figures().items()]
    path = out or results.folder.parent / REPORT
    write_text(path, render("paper.html", tables=tables, figures=figures))
    return Written(path, tuple(dict.fromkeys(item.absent for item in (*tables, *figures) if item.absent)))


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
