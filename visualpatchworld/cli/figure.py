"""`vpw figure`: the figures of the benchmark, from results alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualpatchworld.cli._options import AsJson
from visualpatchworld.cli._show import show, working
from visualpatchworld.errors import UnknownName


def figure(
    name: Annotated[str, typer.Argument(metavar="ID", help="Which figure; a wrong name lists them.")],
    results: Annotated[Path, typer.Option(metavar="DIR", help="What `vpw bench --out DIR` filled, or a folder of results.")] = Path(
        "runs/bench"
    ),
    layout: Annotated[str | None, typer.Option("--format", metavar="[png|svg]", help="By default what --out ends with, else png.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where it is written; ID.FORMAT when not given.")] = None,
    as_json: AsJson = False,
) -> None:
    """Draw a figure of what was measured; nothing is computed for it.

    Example: vpw figure success --results runs/bench --out success.svg
    """
    from visualpatchworld.paper.figures.draw import FORMATS, find_figures, make_figure, write_figure
    from visualpatchworld.paper.results import read_results

    layout = layout or (out.suffix.lstrip(".") if out is not None else FORMATS[0])
    if layout not in FORMATS:
        raise UnknownName("format", layout, FORMATS)
    path = out or Path(f"{name}.{layout}")
    with working("drawing"):
        write_figure(path, make_figure(name, read_results(results)), layout)
    show({"figure": name, "title": find_figures()[name], "results": str(results), "file": str(path)}, as_json)
