"""A fitted program as a table for people: its constants and how far its rollouts stray."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group
from rich.table import Table


def program_table(result: Mapping[str, Any]) -> Group:
    """Constants with their errors, rollout errors by horizon, and where the program lies."""
    constants = Table(title=f"Level 2: {result['sketch']}")
    for heading in ("constant", "value", "standard error", "unit"):
        constants.add_column(heading, justify="right" if heading != "constant" else "left")
    for name, row in result["constants"].items():
        error = "not determined by the data" if name in result["undetermined"] else _error(row["stderr"])
        constants.add_row(name, f"{row['value']:g}", error, row["unit"])
    errors = errors_table(result["rollout_error"], "Open-loop error on validation episodes, which were not fitted to")
    return Group(constants, errors, f"{result['program']} ({result['seconds']:.0f} s)")


def _error(value: float | None) -> str:
    return "" if value is None else f"{value:.1g}"


def errors_table(errors: Mapping[str, Mapping[Any, Mapping[str, float]]], title: str = "Open-loop error") -> Table:
    """Open-loop error by horizon; the title says on which episodes."""
    table = Table(title=title)
    for heading in ("quantity", "steps", "median", "mean", "p90"):
        table.add_column(heading, justify="left" if heading == "quantity" else "right")
    for quantity, by_horizon in errors.items():
        for steps, row in by_horizon.items():
            table.add_row(quantity, str(steps), *(f"{row[key]:.3g}" for key in ("median", "mean", "p90")))
    return table
