"""`vpw edit`: the same program with other constants, for a world that has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from visualpatchworld.cli._options import AsJson
from visualpatchworld.cli._show import show


def edit(
    program: Annotated[Path, typer.Argument(metavar="PROGRAM.py", help="A world model: code, which runs here.")],
    changes: Annotated[list[str], typer.Argument(metavar="NAME=VALUE", help="A constant of the program and its new value (repeatable).")],
    out: Annotated[Path, typer.Option(metavar="FILE.py", help="Where the edited program goes.")],
    as_json: AsJson = False,
) -> None:
    """Change constants of a program, so that it describes a world that has changed; nothing is measured or fitted anew.

    Example: vpw edit world_model.py SPEED=2.5 --out slower.py

    Example: vpw edit world_model.py "HOUSE=(100.0, 112.0)" RADIUS=9 --out moved.py
    """
    from visualpatchworld.output import write_text
    from visualpatchworld.program.edit import edit as edited
    from visualpatchworld.program.edit import parse_changes
    from visualpatchworld.program.program import Program, read_program

    before = Program(read_program(program), program)
    asked = parse_changes(changes, before)
    after = edited(before, asked)
    write_text(out, after.text)
    rows = {name: {"before": before.constants[name], "after": after.constants[name]} for name in asked}
    table = Table("constant", "before", "after")
    for name, row in rows.items():
        table.add_row(name, repr(row["before"]), repr(row["after"]))
    show({"program": str(program), "out": str(out), "constants": rows}, as_json, table, str(out))
