"""Logs of real machines: free simulation of what was held out, beside a linear model and what others published."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from visualpatchworld.paper.results import Results
from visualpatchworld.paper.table import MISSING, Column, Entry, Quoted, Section, Table, number, quote, words
from visualpatchworld.paper.tables._lines import figure, read_lines

COMMAND = "python benchmarks/real.py"


def table(results: Results, quoted: Quoted) -> Table:
    """A row per log and reading of its input."""
    lines = read_lines(results, "real", COMMAND)
    return Table(
        id=quoted.id,
        title="Programs of real machines from their logs: root mean square error of free simulation",
        columns=(
            Column("log", words=True),
            Column("form", words=True),
            *map(Column, ("constants", "CPU s", "error", "linear model", "over a second", "linear, over a second")),
            Column("unit", words=True),
            Column("published (quoted)", words=True),
        ),
        sections=(Section("Measured, with published figures in a column of their own", tuple(_row(line, quoted) for line in lines)),),
        notes=(
            *(f"{line['name']}: {line['test']}; {line['why'].rstrip('.')}." for line in lines),
            *(f"{line['name']}: {_constants(line)}" for line in lines),
            "'diverges': a plant that integrates its input leaves every range when simulated for long; over a second it can be judged.",
            quoted.note,
        ),
        measured=tuple(lines),
    )


def _row(line: Mapping[str, Any], quoted: Quoted) -> tuple[Entry, ...]:
    errors = " / ".join("diverges" if value is None else f"{value:.3g}" for value in line["rmse"])
    others = [figure(line.get(key), 3) for key in ("linear_rmse", "rmse_of_seconds", "linear_rmse_of_seconds")]
    told = quoted.row(log=line["log"])
    known = (Entry(str(len(line["constants"]))), Entry(number(line["cpu_seconds"])), Entry(errors), *others)
    return (words(line["name"]), words(line["form"]), *known, words(line["unit"]), quote(told.get("told", MISSING)))


def _constants(line: Mapping[str, Any]) -> str:
    parts = [
        f"{name} = {row['value']:.6g}" + (f" +- {row['stderr']:.1g}" if row["stderr"] is not None else "")
        for name, row in line["constants"].items()
    ]
    return ", ".join(parts) + "."
