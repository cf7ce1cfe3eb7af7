"""Success as a table for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table


def success_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """One row per cell: the score with all that is needed to judge it."""
    first = rows[0]
    table = Table(title=f"{first['domain']}: {first['metric']} within {first['budget']} steps, goals {first['offset']} steps ahead")
    for name in ("condition", "success", "95 % interval", "of unsolved", "zero", "random", "n", "engine rollouts / plan", "s / plan"):
        table.add_column(name, justify="left" if name == "condition" else "right")
    for row in rows:
        unsolved, seconds = row["success_unsolved"], row["seconds_per_plan_median"]
        table.add_row(
            f"{row['observe']} + {row['score']}",
            f"{row['success']:.1f} %",
            "{:.1f} to {:.1f}".format(*row["ci95"]),
            "-" if unsolved is None else f"{unsolved:.1f} % of {row['n_unsolved']}",
            f"{row['floor_zero']:.1f} %",
            f"{row['floor_random']:.1f} %",
            str(row["n"]),
            f"{row['engine_rollouts_per_plan']:.0f}",
            "-" if seconds is None else f"{seconds:.3f}",
        )
    return table
