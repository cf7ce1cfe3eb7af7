"""Success as a list for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table


def stops_line(told: Mapping[str, Any]) -> str:
    """How often a sandboxed program had to be stopped, and why at first."""
    end = "then it was not tried again; " if told["gave_up"] else ""
    return f"{told['late']} times for time, {told['failed']} times otherwise; {end}{told['unanswered']} calls unanswered; {told['first']}"


def success_list(cell: Mapping[str, Any]) -> Table:
    """The score of one cell with all that is needed to judge it, one line each, so that it fits a narrow terminal."""
    unsolved, seconds = cell["success_unsolved"], cell["seconds_per_plan_median"]
    lines = {
        "success": f"{cell['success']:.1f} % of {cell['n']} tasks",
        "95 % interval": "{:.1f} to {:.1f} %".format(*cell["ci95"]),
        "not solved at the start": "none" if unsolved is None else f"{unsolved:.1f} % of {cell['n_unsolved']} tasks",
        "floor, resting": f"{cell['floor_zero']:.1f} %",
        "floor, acting at random": f"{cell['floor_random']:.1f} %",
        "what counts": f"{cell['metric']} within {cell['budget']} steps, goals {cell['offset']} ahead",
        "observed and scored by": f"{cell['observe']} + {cell['score']}",
        "planner": cell["planner"],
        "engine rollouts per plan": f"{cell['engine_rollouts_per_plan']:.0f}",
        "seconds per plan": "-" if seconds is None else f"{seconds:.3f} (median)",
        "tasks": f"from {cell['source']}, seed {cell['seed']}",
    }
    if cell.get("sandbox", {}).get("unanswered"):
        lines["stopped in the sandbox"] = stops_line(cell["sandbox"])
    if cell["program"] is None and cell["score"] != "simulator":
        lines["program"] = "none that loads came out of the search; every task counts as failed"
    table = Table(title=f"{cell['domain']}: planning", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, said in lines.items():
        table.add_row(name, said, style="bold green" if name == "success" else "")
    return table
