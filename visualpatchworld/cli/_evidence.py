"""The evidence of level 1 as a table for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from visualpatchworld.induction.induce import evidence_rows
from visualpatchworld.induction.refutation import refutation
from visualpatchworld.induction.select import Evidence, Verdict


def evidence_table(evidence: Evidence) -> Table:
    """Every candidate with what it explains and why it was not chosen, the winner first."""
    return candidates_table(evidence_rows(evidence), evidence.tolerances)


def candidates_table(rows: Sequence[Mapping[str, Any]], tolerances: Mapping[str, float]) -> Table:
    """The same table from the rows that `induction.json` keeps, with the largest errors that explain a probe."""
    table = Table(title="Level 1: which form explains the probes?")
    table.add_column("sketch")
    table.add_column("explained", justify="right")
    table.add_column("constants", justify="right")
    table.add_column("why not")
    for i, row in enumerate(rows):
        tried = bool(row["verdicts"])
        explained, constants = (f"{row['explained']}/{row['probes']}", str(len(row["constants"]))) if tried else ("-", "-")
        table.add_row(
            row["sketch"], explained, constants, "chosen" if i == 0 else _why_not(row, tolerances), style="" if i else "bold green"
        )
    return table


def _why_not(row: Mapping[str, Any], tolerances: Mapping[str, float]) -> str:
    if row["set_aside"]:
        return f"set aside: {row['set_aside']}"
    verdicts = [Verdict(**verdict) for verdict in row["verdicts"]]
    return str(refutation(verdicts, tolerances) or "explains as much, but is less simple")


def unexplained_line(evidence: Evidence) -> str:
    """What the family cannot explain, or nothing."""
    return unexplained_sentence(evidence.unexplained)


def unexplained_sentence(probes: Sequence[str]) -> str:
    """The same from the names of the probes."""
    named = ", ".join(f"'{name}'" for name in probes)
    return f"No sketch of this family explains {named}." if probes else ""
