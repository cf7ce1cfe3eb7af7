"""Long, other and precise goals, and worlds that have changed: what planners reach where the frozen one was never meant to go."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from visualpatchworld.domain import load_domain
from visualpatchworld.paper.cell import Cell, source_title
from visualpatchworld.paper.results import NoResults, Result, Results, floor_of, read_results
from visualpatchworld.paper.table import MISSING, Column, Entry, Quoted, Section, Table, interval, number, quote, words
from visualpatchworld.paper.task import Goals, summarize

FOLDER, COMMAND = "goals", "python benchmarks/goals.py"
EDITED, EDITED_COMMAND = "edited", "python benchmarks/edited.py"
PROGRAMS = ("edited", "unedited", "induced")


def goals_table(results: Results, quoted: Quoted) -> Table:
    """A section per source of tasks, a row per kind of goal and planner, seeds pooled."""
    found = read_results(results.folder / FOLDER)
    groups: dict[Any, list[Result]] = defaultdict(list)
    for result in found.results:
        if result.cell.score != "none":
            groups[_key(result.cell)].append(result)
    if not groups:
        raise NoResults(f"There are no results in '{results.folder / FOLDER}'; `{COMMAND}` computes some.")
    sections: dict[str, list[tuple[Entry, ...]]] = defaultdict(list)
    records = []
    for key in sorted(groups):
        parts = sorted(groups[key], key=lambda result: result.cell.seed)
        record = _record(found, parts)
        told = quoted.row(domain=record["domain"], goals=record["goals"], offset=record["offset"]) if record["tolerance"] == 1 else {}
        records.append(record)
        cell = parts[0].cell
        sections[source_title(load_domain(cell.domain), cell.source)].append(_row(record, told))
    headings = ("success", "of unsolved", "n", "zero floor", "random floor", "s / plan", "published (quoted)")
    return Table(
        id=quoted.id,
        title="Goals that are long, of other episodes, or to be met closely (true engine, planned under the program alone)",
        columns=(Column("goal", words=True), Column("planner", words=True), *map(Column, headings)),
        sections=tuple(Section(title, tuple(rows)) for title, rows in sections.items()),
        notes=(
            "Scores are percent of tasks, all seeds pooled; [a, b] is Wilson's 95 % interval. A wave marks cells with tasks left to do.",
            "Tasks are of episodes that nothing was fitted to; with goals of other episodes, those solved at the start are left out.",
            f"`{COMMAND}` computes what is missing.",
            quoted.note,
        ),
        measured=tuple(records),
    )


def _key(cell: Cell) -> tuple[Any, ...]:
    kind = ("same-episode", "other-episode", "moving", "given").index(cell.goals)
    which = (cell.domain, cell.source, -cell.tolerance, kind, cell.offset, cell.goal_fields, cell.metric)
    return (*which, cell.observe, cell.score, cell.planner, cell.search, cell.program, cell.budget)


def _record(results: Results, parts: Sequence[Result]) -> dict[str, Any]:
    cell, summary = parts[0].cell, summarize([outcome for part in parts for outcome in part.outcomes])
    floors = {name: floor_of(results, tuple(parts), name) for name in ("zero", "random")}
    names = (
        "domain",
        "source",
        "goals",
        "offset",
        "goal_fields",
        "tolerance",
        "metric",
        "budget",
        "observe",
        "score",
        "planner",
        "program",
    )
    return {
        **{name: getattr(cell, name) for name in names},
        "seeds": [part.cell.seed for part in parts],
        "finished": all(len(part.outcomes) >= part.cell.n for part in parts),
        "success": summary.success,
        "ci95": summary.ci95,
        "n": summary.n,
        "success_unsolved": summary.success_unsolved,
        "n_unsolved": summary.n_unsolved,
        "engine_rollouts_per_plan": summary.engine_rollouts_per_plan,
        "seconds_per_plan_median": summary.seconds_per_plan_median,
        **{f"floor_{name}": floor.success if floor else None for name, floor in floors.items()},
    }


def _row(record: Mapping[str, Any], told: Mapping[str, Any]) -> tuple[Entry, ...]:
    fields = tuple(name for name in record["goal_fields"].split(",") if name)
    given = () if record["goals"] == "given" else None
    goal = f"{Goals(record['goals'], record['tolerance'], fields, given).told(record['offset'])}; {record['metric']}"
    observed = "" if record["observe"] == "oracle" else f", seen by {record['observe']}"
    scored = "" if record["score"] == "induced" else f", {record['score']}"
    seconds = record["seconds_per_plan_median"]
    return (
        words(f"{goal}, {record['budget']} steps"),
        words(record["planner"] + observed + scored),
        Entry(number(record["success"]) + "~" * (not record["finished"]), interval(record["ci95"])),
        Entry(number(record["success_unsolved"]), f"n = {record['n_unsolved']}"),
        Entry(str(record["n"])),
        Entry(number(record["floor_zero"])),
        Entry(number(record["floor_random"])),
        Entry(MISSING if seconds is None else f"{seconds:.2g}"),
        quote(told.get("told", MISSING)),
    )


def edited_table(results: Results, quoted: Quoted) -> Table:
    """A row per changed world: the program edited for it, the one as it was, and one induced there anew."""
    found = read_results(results.folder / EDITED)
    groups: dict[Any, dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for result in found.results:
        if result.cell.method in PROGRAMS:
            changes = tuple(sorted((name, str(value)) for name, value in result.cell.vary.items()))
            groups[result.cell.domain, changes, result.cell.metric, result.cell.planner, result.cell.search][result.cell.method].append(
                result
            )
    if not groups:
        raise NoResults(f"There are no results in '{results.folder / EDITED}'; `{EDITED_COMMAND}` computes some.")
    rows, records = [], []
    for (name, changes, metric, planner, _), by_program in sorted(groups.items()):
        summaries = {program: summarize([outcome for part in parts for outcome in part.outcomes]) for program, parts in by_program.items()}
        parts = tuple(next(iter(by_program.values())))
        floors = {floor: floor_of(found, parts, floor) for floor in ("zero", "random")}
        told = ", ".join(f"{constant} = {value}" for constant, value in changes)
        scores = [
            Entry(number(summaries[program].success), interval(summaries[program].ci95)) if program in summaries else Entry(MISSING)
            for program in PROGRAMS
        ]
        counted = [str(summary.n) for summary in summaries.values()]
        rows.append(
            (
                words(f"{load_domain(name).title}: {told}"),
                *scores,
                Entry(" or ".join(dict.fromkeys(counted))),
                *(Entry(number(floor.success) if floor else MISSING) for floor in floors.values()),
                words(planner),
            )
        )
        scored = {program: summary.success for program, summary in summaries.items()}
        records.append({"domain": name, "vary": dict(changes), "metric": metric, "planner": planner, "success": scored})
    headings = ("edited", "as it was", "induced anew", "n", "zero floor", "random floor")
    return Table(
        id=quoted.id,
        title="Planning in changed worlds with a program that was edited, without a step of new data",
        columns=(Column("the world's change", words=True), *map(Column, headings), Column("planner", words=True)),
        sections=(Section("Measured", tuple(rows)),),
        notes=(
            "Scores are percent of tasks in the changed world; [a, b] is Wilson's 95 % interval.",
            "Edited: one constant or a few of the program of the nominal world were changed by hand. Induced anew: from episodes and "
            "experiments of the changed world.",
            f"`{EDITED_COMMAND}` computes what is missing.",
        ),
        measured=tuple(records),
    )
