"""Tables of domains and their programs: forms that were found, simpler ones, edited ones, and goals far away."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from visualpatchworld.domain import find_domains, load_domain
from visualpatchworld.paper.cell import Cell, source_title
from visualpatchworld.paper.record import InductionRecord
from visualpatchworld.paper.results import (
    Found,
    NoResults,
    Query,
    Result,
    Results,
    find,
    floor_of,
    places,
    read_results,
)
from visualpatchworld.paper.table import MISSING, Entry, Quoted, Section, Table, interval, number, quote, words
from visualpatchworld.paper.tables import headed, notes, quoted_section, records, require
from visualpatchworld.paper.task import Goals, summarize


def envs_table(results: Results, quoted: Quoted) -> Table:
    """Every domain that is found; this table needs no results."""
    domains = [load_domain(name) for name in find_domains()]
    rows = []
    for domain in domains:
        paper = quoted.row(domain=domain.name)
        sizes = Entry(f"{len(domain.scene.state_space)} / {domain.layout.action.width}")
        told = f"{paper['kind']}: {paper['challenge']}" if paper else None
        rows.append(
            (
                words(domain.title),
                words(domain.engine),
                words(domain.challenge),
                sizes,
                words(", ".join(domain.metrics)),
                quote(told),
            )
        )
    return Table(
        id=quoted.id,
        title="Domains and what is hard about them",
        columns=headed(("domain", "engine", "challenge"), ("state / action",), ("success", "paper (quoted)")),
        sections=(Section("", tuple(rows)),),
        notes=("The first metric of a domain is the main one.", quoted.note),
    )


def induction_table(results: Results, quoted: Quoted) -> Table:
    """The chosen form, the experiments it explains, and success under oracle state."""
    if not results.inductions:
        require(results)
    where = places(results, [row["domain"] for row in quoted.rows])
    found = [find(results, place, Query(observe="oracle", score="induced")) for place in where]
    rows = [_induction_row(item, induction_of(results, item), quoted) for item in found]
    headings = ("probes explained", "success", "of unsolved", "paper (quoted)")
    return Table(
        id=quoted.id,
        title="Recovered forms, and success of planning with them (oracle state)",
        columns=headed(("tasks", "recovered form", "paper's form (quoted)"), headings),
        sections=(Section("Measured, with the paper's figures in columns of their own", tuple(rows)),),
        notes=(
            *notes(results, found, quoted, "main"),
            *lost_programs(results, found),
            "A form is named by its choices, one per axis of the domain's family of sketches.",
        ),
        measured=records(found),
    )


def induction_of(results: Results, item: Found) -> InductionRecord | None:
    """The induction that wrote the measured program;
    where none was measured, that of its method from the domain's own episodes.
    """
    own = [induction for induction in results.inductions if induction.domain == item.place.domain.name]
    if item.parts:
        own = [induction for induction in own if induction.program_hash == item.parts[0].cell.program]
    else:
        # Forms that were chosen by experiments have candidates; those that were named have none.
        chosen = item.query.method == "vpw"
        own = [
            induction
            for induction in own
            if item.place.first
            and bool(induction.candidates) == chosen
            and (chosen or induction.sketch == item.query.method)
        ]
    return own[0] if own else None


def lost_programs(results: Results, found: Sequence[Found]) -> list[str]:
    """Which programs were measured without what `vpw induce` said of them being there."""
    lost = [item for item in found if item.parts and not induction_of(results, item)]
    return [
        f"{item.place.title}, {item.query.title}: no induction.json of program "
        f"{item.parts[0].cell.program} lies in programs/ beside the "
        f"results; `vpw induce {item.place.domain.name} --out DIR` writes one with the program."
        for item in lost
    ]


def _induction_row(item: Found, induction: InductionRecord | None, quoted: Quoted) -> tuple[Entry, ...]:
    paper = quoted.row(domain=item.place.domain.name) if item.place.first else {}
    tried = () if induction is None else induction.candidates
    candidate = next((row for row in tried if induction and row.sketch == induction.sketch), None)
    return (
        words(item.place.title),
        words(induction.sketch.replace("+", " + ") if induction else MISSING),
        quote(paper.get("recovered")),
        Entry(f"{candidate.explained} of {candidate.probes}" if candidate else MISSING),
        item.score(),
        item.unsolved(),
        quote(paper.get("success")),
    )


def ablation_table(results: Results, quoted: Quoted) -> Table:
    """The domain's extra sketches against the form that the method chose by itself."""
    if not results.inductions:
        require(results)
    where = [place for place in places(results, [quoted.data["domain"]]) if place.domain.name == quoted.data["domain"]]
    sections, everything = [], []
    for place in where:
        forms = {sketch.name: sketch.name for sketch in place.domain.family().extra} | {"vpw": "chosen (level 1 + 2)"}
        found = {
            title: find(results, place, Query(method=method, observe="oracle", score="induced"))
            for method, title in forms.items()
        }
        everything += found.values()
        sections.append(
            Section(
                f"Measured: {place.title}",
                tuple(_form_row(results, title, item, quoted) for title, item in found.items()),
            )
        )
    paper = tuple(
        (
            words(row["method"]),
            *(
                quote(row[name], "at least" if row.get("one_step_is_lower_bound") and i == 0 else "")
                for i, name in enumerate(quoted.data["horizons"])
            ),
            quote(row["success"]),
            quote(None),
        )
        for row in quoted.rows
    )
    quantity = quoted.data["quantity"]
    return Table(
        id=quoted.id,
        title=f"{where[0].domain.title}: simpler forms on the same scene graphs",
        columns=headed(
            ("form",),
            [*(f"{quantity} after {steps}" for steps in quoted.data["horizons"].values()), "success", "of unsolved"],
        ),
        sections=(*sections, quoted_section(quoted.source, paper)),
        notes=(
            *notes(results, everything, quoted, "ablation"),
            *lost_programs(results, everything),
            f"{quantity}: mean open-loop error on validation episodes after so many steps, with the "
            "median below or beside it.",
        ),
        measured=records(everything),
    )


def _form_row(results: Results, title: str, item: Found, quoted: Quoted) -> tuple[Entry, ...]:
    induction = induction_of(results, item)
    errors = {} if induction is None else induction.rollout_error.get(quoted.data["quantity"], {})
    found = [errors.get(steps) for steps in quoted.data["horizons"].values()]
    told = [Entry(f"{error.mean:.3g}", f"median {error.median:.2g}") if error else Entry(MISSING) for error in found]
    return (words(title), *told, item.score(), item.unsolved())


GOALS, GOALS_COMMAND = "goals", "python benchmarks/goals.py"
EDITED, EDITED_COMMAND = "edited", "python benchmarks/edited.py"
PROGRAMS = ("edited", "unedited", "induced")


def goals_table(results: Results, quoted: Quoted) -> Table:
    """A section per source of tasks, a row per kind of goal and planner, seeds pooled."""
    found = read_results(results.folder / GOALS)
    groups: dict[Any, list[Result]] = defaultdict(list)
    for result in found.results:
        if result.cell.score != "none":
            groups[_goal_key(result.cell)].append(result)
    if not groups:
        raise NoResults(f"There are no results in '{results.folder / GOALS}'; `{GOALS_COMMAND}` computes some.")
    sections: dict[str, list[tuple[Entry, ...]]] = defaultdict(list)
    records = []
    for key in sorted(groups):
        parts = sorted(groups[key], key=lambda result: result.cell.seed)
        record = _goal_record(found, parts)
        told = (
            quoted.row(domain=record["domain"], goals=record["goals"], offset=record["offset"])
            if record["tolerance"] == 1
            else {}
        )
        records.append(record)
        cell = parts[0].cell
        sections[source_title(load_domain(cell.domain), cell.source)].append(_goal_row(record, told))
    headings = ("success", "of unsolved", "n", "zero floor", "random floor", "s / plan", "published (quoted)")
    return Table(
        id=quoted.id,
        title="Goals that are long, of other episodes, or to be met closely (true engine, planned under the "
        "program alone)",
        columns=headed(("goal", "planner"), headings),
        sections=tuple(Section(title, tuple(rows)) for title, rows in sections.items()),
        notes=(
            "Scores are percent of tasks, all seeds pooled; [a, b] is Wilson's 95 % interval. A wave "
            "marks cells with tasks left to do.",
            "Tasks are of episodes that nothing was fitted to; with goals of other episodes, those "
            "solved at the start are left out.",
            f"`{GOALS_COMMAND}` computes what is missing.",
            quoted.note,
        ),
        measured=tuple(records),
    )


def _goal_key(cell: Cell) -> tuple[Any, ...]:
    kind = ("same-episode", "other-episode", "moving", "given").index(cell.goals)
    which = (cell.domain, cell.source, -cell.tolerance, kind, cell.offset, cell.goal_fields, cell.metric)
    return (*which, cell.observe, cell.score, cell.planner, cell.search, cell.program, cell.budget)


def _goal_record(results: Results, parts: Sequence[Result]) -> dict[str, Any]:
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


def _goal_row(record: Mapping[str, Any], told: Mapping[str, Any]) -> tuple[Entry, ...]:
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
            groups[result.cell.domain, changes, result.cell.metric, result.cell.planner, result.cell.search][
                result.cell.method
            ].append(result)
    if not groups:
        raise NoResults(f"There are no results in '{results.folder / EDITED}'; `{EDITED_COMMAND}` computes some.")
    rows, records = [], []
    for (name, changes, metric, planner, _), by_program in sorted(groups.items()):
        summaries = {
            program: summarize([outcome for part in parts for outcome in part.outcomes])
            for program, parts in by_program.items()
        }
        parts = tuple(next(iter(by_program.values())))
        floors = {floor: floor_of(found, parts, floor) for floor in ("zero", "random")}
        told = ", ".join(f"{constant} = {value}" for constant, value in changes)
        scores = [
            Entry(number(summaries[program].success), interval(summaries[program].ci95))
            if program in summaries
            else Entry(MISSING)
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
        columns=headed(("the world's change",), headings, ("planner",)),
        sections=(Section("Measured", tuple(rows)),),
        notes=(
            "Scores are percent of tasks in the changed world; [a, b] is Wilson's 95 % interval.",
            "Edited: one constant or a few of the program of the nominal world were changed by hand. "
            "Induced anew: from episodes and "
            "experiments of the changed world.",
            f"`{EDITED_COMMAND}` computes what is missing.",
        ),
        measured=tuple(records),
    )


TABLES: dict[str, Callable[[Results, Quoted], Table]] = {
    "ablation": ablation_table,
    "edited": edited_table,
    "envs": envs_table,
    "goals": goals_table,
    "induction": induction_table,
}
