"""`vpw table`: the tables of the benchmark, from results alone."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from visualpatchworld.errors import UnknownName


def table(
    name: Annotated[str, typer.Argument(metavar="ID", help="Which table; a wrong name lists them.")],
    results: Annotated[Path, typer.Option(metavar="DIR", help="What `vpw bench --out DIR` filled, or a folder of results.")] = Path(
        "runs/bench"
    ),
    layout: Annotated[str, typer.Option("--format", metavar="[text|markdown|latex|html|json]", help="How it is written.")] = "text",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write it there instead of showing it.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Make a table of what was measured, with the paper's figures beside ours, marked as quoted.

    Example: vpw table main --results runs/bench
    """
    from visualpatchworld.output import write_text
    from visualpatchworld.paper.render import FORMATS
    from visualpatchworld.paper.results import read_results
    from visualpatchworld.paper.tables import make_table

    layout = "json" if as_json else layout
    if layout not in FORMATS:
        raise UnknownName("format", layout, FORMATS)
    text = FORMATS[layout](make_table(name, read_results(results)), shutil.get_terminal_size().columns if out is None else 80)
    if out is None:
        print(text, end="")
    else:
        write_text(out, text)
