"""What verbs print of inductions and plans, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.table import Table

from visualpatchworld.cli._verb import progress, working
from visualpatchworld.induction.induce import evidence_rows
from visualpatchworld.induction.select import Evidence, ProbeVerdict, refutation
from visualpatchworld.output import make_folder
from visualpatchworld.paper.evaluation import EvalConfig, measure, measure_floors, report
from visualpatchworld.paper.film import write_films
from visualpatchworld.paper.goals import Goals


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
    verdicts = [ProbeVerdict(one["probe"], one["asks"], one["errors"], one["explained"]) for one in row["verdicts"]]
    return str(refutation(verdicts, tolerances) or "explains as much, but is less simple")


def unexplained_line(evidence: Evidence) -> str:
    """What the family cannot explain, or nothing."""
    return unexplained_sentence(evidence.unexplained)


def unexplained_sentence(probes: Sequence[str]) -> str:
    """The same from the names of the probes."""
    named = ", ".join(f"'{name}'" for name in probes)
    return f"No sketch of this family explains {named}." if probes else ""


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
        "what counts": f"{cell['metric']} within {cell['budget']} steps, {_goals(cell)}",
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


def _goals(cell: Mapping[str, Any]) -> str:
    given = () if cell["goals"] == "given" else None
    return Goals(cell["goals"], cell["tolerance"], tuple(cell["goal_fields"]), given).told(cell["offset"])


NUM_FILMS = 3  # tasks that are filmed


def planned(request: EvalConfig, program: Path | None, results: Path, video: Path | None) -> dict[str, Any]:
    """The fields of `vpw plan --json`; what the results hold already is not computed again."""
    folder = make_folder(results)
    with working("planning") as stage:
        stage("resting and acting at random")
        floors = measure_floors(folder, request)
    with progress(measure(folder, request), "planning", request.count) as done:
        outcomes = list(done)
    films = []
    if video is not None:
        failed = [outcome.task for outcome in outcomes if not outcome.success]
        with progress(write_films(make_folder(video), request, NUM_FILMS, failed), "filming", 2 * NUM_FILMS) as written:
            films = [str(path) for path in written]
    places = {"program": None if program is None else str(program), "results": str(folder), "films": films}
    return report(request, outcomes, floors) | places
