"""Tables of planning success: by method, by who observes and who scores, by seed, and what engine rollouts buy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import mean, stdev
from typing import Any

from visualpatchworld.paper.cell import Observe, Score
from visualpatchworld.paper.results import Found, Place, Query, Results, condition_title, find, places
from visualpatchworld.paper.suite import CONDITIONS
from visualpatchworld.paper.table import (
    MISSING,
    Entry,
    Quoted,
    Section,
    Table,
    interval,
    load_quoted,
    number,
    quote,
    quote_spread,
    words,
)
from visualpatchworld.paper.tables import (
    columns,
    find_conditions,
    headed,
    mean_note,
    measured_sections,
    notes,
    quoted_section,
    quoted_sections,
    records,
    require,
    score_sections,
)

KINDS = ("vpw", "engine", "code", "neural", "policy")  # in this order quoted rows stand


def main_table(results: Results, quoted: Quoted) -> Table:
    """Every method that was measured, rivals by the model that wrote for them, then every figure that is quoted,
    apart from each other.
    """
    require(results)
    names = list(quoted.rows[0]["success"])
    where = places(results, names)
    rows = find_conditions(results, where)
    found = [item for row in rows.values() for item in row]
    titles = {row["baseline"]: row["method"] for row in quoted.rows if "baseline" in row}
    by_model = _rivals(results, where, titles)
    rivals = [item for written in by_model.values() for row in written.values() for item in row]
    # Table 1 of the paper leaves the hybrid conditions and the engine to another table.
    here = {row["method"] for row in quoted.rows}
    further = [row for row in load_quoted()["sim-assist"].rows if row["method"] not in here]
    told = sorted([*quoted.rows, *further], key=lambda row: KINDS.index(row["kind"]))
    more = (
        f"`vpw bench baselines --out {results.out} --endpoint URL --model NAME` measures code "
        "baselines; a model has a section of its own."
    )
    absent = not rivals or any(not item.parts for item in rivals)
    return Table(
        id=quoted.id,
        title="Planning success",
        columns=columns(where, "method"),
        sections=(
            *measured_sections(rows, names),
            *(
                section
                for label, written in by_model.items()
                for section in score_sections(_title(label), written, names)
            ),
            *quoted_sections(told, where),
        ),
        notes=(*notes(results, found, quoted, "main", rivals), mean_note(where, names), *[more] * absent),
        measured=records([*found, *rivals]),
    )


def _rivals(results: Results, where: Sequence[Place], titles: Mapping[str, str]) -> dict[str, dict[str, list[Found]]]:
    """By model and budget, then by the method's title: what was measured of it in every place."""
    measured = {(result.cell.written_by, result.cell.method) for result in results.results}
    return {
        label: {
            title: [
                find(results, place, Query(method=name, observe="oracle", score="induced", written_by=label))
                for place in where
            ]
            for name, title in titles.items()
            if (label, name) in measured
        }
        for label in sorted({label for label, name in measured if name in titles})
    }


def _title(label: str) -> str:
    return f"Measured with {label}" if label else "Measured with a model that was not recorded"


def sim_assist_table(results: Results, quoted: Quoted) -> Table:
    """What the engine's help adds to a program, with the paper's figures below ours."""
    require(results)
    names = list(quoted.rows[0]["success"])
    where = places(results, names)
    rows = find_conditions(results, where)
    found = [item for row in rows.values() for item in row]
    return Table(
        id=quoted.id,
        title="Planning success by condition: who observes, and who scores",
        columns=columns(where),
        sections=(*measured_sections(rows, names), *quoted_sections(quoted.rows, where)),
        notes=(*notes(results, found, quoted, "main"), mean_note(where, names)),
        measured=records(found),
    )


SUITE = "suite"  # the quoted row over all domains


def multiseed_table(results: Results, quoted: Quoted) -> Table:
    """Mean and spread over seeds, and the interval of all their tasks together."""
    require(results)
    seeds = tuple(quoted.data["seeds"])
    names = list(dict.fromkeys(row["domain"] for row in quoted.rows if row["domain"] != SUITE))
    where = places(results, names)
    sections, everything = [], []
    for observe, score in CONDITIONS:
        found = [find(results, place, Query(observe=observe, score=score, seeds=seeds)) for place in where]
        everything += found
        paper = {row["domain"]: row for row in quoted.rows if (row["observe"], row["score"]) == (observe, score)}
        rows = [
            _multiseed_row(item, paper.get(item.place.domain.name, {}) if item.place.first else {}) for item in found
        ]
        rows.append(
            _suite(
                [item for item in found if item.place.first and item.place.domain.name in names], paper.get(SUITE, {})
            )
        )
        sections.append(Section(condition_title(observe, score), tuple(rows)))
    headings = ("mean", "SD", "pooled 95 %", "of unsolved", "zero", "random", "n", "paper (quoted)")
    return Table(
        id=quoted.id,
        title=f"Planning success over seeds {', '.join(map(str, seeds))}",
        columns=headed(("tasks",), headings),
        sections=tuple(sections),
        notes=(
            *notes(results, everything, quoted, "multiseed"),
            "SD is over the seeds' scores, with one degree of freedom less than seeds; the interval pools all tasks, "
            "some of which several seeds may have drawn.",
            f"{SUITE}: the seeds' means over one source of tasks per domain.",
        ),
        measured=records(everything),
    )


def _multiseed_row(item: Found, paper: Mapping[str, Any]) -> tuple[Entry, ...]:
    name, summary = words(item.place.title), item.summary
    if summary is None:
        return (name, *[Entry(MISSING)] * 7, quote_spread(paper))
    scores = list(item.by_seed.values())
    floors = [Entry(number(floor.success) if floor else MISSING) for floor in (item.zero, item.random)]
    average, deviation = _spread(scores)
    average = Entry(average.text + "~" * (not item.finished))
    return (
        name,
        average,
        deviation,
        Entry(interval(summary.ci95)),
        item.unsolved(),
        *floors,
        Entry(str(summary.n)),
        quote_spread(paper),
    )


def _suite(found: Sequence[Found], paper: Mapping[str, Any]) -> tuple[Entry, ...]:
    finished = found and all(item.finished for item in found)
    shared = set.intersection(*(set(item.by_seed) for item in found)) if finished else set()
    scores = [mean(item.by_seed[seed] for item in found) for seed in sorted(shared)]
    return (words(SUITE), *_spread(scores), *[Entry("")] * 5, quote_spread(paper))


def _spread(scores: Sequence[float]) -> tuple[Entry, Entry]:
    return Entry(number(mean(scores)) if scores else MISSING), Entry(
        number(stdev(scores)) if len(scores) > 1 else MISSING
    )


SCORES: tuple[Score, ...] = ("induced", "hybrid", "simulator")


def hybrid_cost_table(results: Results, quoted: Quoted) -> Table:
    """Success and engine rollouts, each with the paper's figure beside it."""
    require(results)
    where = places(results, [row["domain"] for row in quoted.rows])
    found = [[find(results, place, Query(observe="oracle", score=score)) for score in SCORES] for place in where]
    headings = ("success", "of unsolved", "paper (quoted)", "rollouts / plan", "paper (quoted)")
    everything = [item for items in found for item in items]
    approximate = [row["domain"] for row in quoted.rows if row.get("approximate")]
    return Table(
        id=quoted.id,
        title="Success and engine rollouts per plan, by who scores (oracle state)",
        columns=headed(("scored by",), headings),
        sections=tuple(
            Section(place.title, tuple(_hybrid_cost_row(item, quoted) for item in items))
            for place, items in zip(where, found, strict=True)
        ),
        notes=(
            *notes(results, everything, quoted, "main"),
            "An induced scorer holds no engine, so its 0 rollouts hold by construction.",
            *(f"The paper calls its figures for {name} approximate." for name in approximate),
        ),
        measured=records(everything),
    )


def _hybrid_cost_row(item: Found, quoted: Quoted) -> tuple[Entry, ...]:
    row = quoted.row(domain=item.place.domain.name) if item.place.first else {}
    summary = item.summary
    return (
        words(item.query.score),
        item.score(),
        item.unsolved(),
        quote(row.get("success", {}).get(item.query.score)),
        Entry(number(summary.engine_rollouts_per_plan, 0) if summary else MISSING),
        quote(row.get("engine_rollouts_per_plan", {}).get(item.query.score)),
    )


LADDER: tuple[tuple[Observe, Score], ...] = (
    ("tool", "induced"),
    ("tool", "hybrid"),
    ("oracle", "induced"),
    ("oracle", "hybrid"),
    ("oracle", "simulator"),
)


def ladder_table(results: Results, quoted: Quoted) -> Table:
    """Each condition with the error of what it sees."""
    require(results)
    name, quantity = quoted.data["domain"], quoted.data["quantity"]
    where = [place for place in places(results, [name]) if place.domain.name == name]
    audits = [audit.data["rmse"].get(quantity) for audit in results.analyses_of("audit") if audit.domain == name]
    rmse = audits[0] if audits else None
    sections, everything = [], []
    for place in where:
        found = [find(results, place, Query(observe=observe, score=score)) for observe, score in LADDER]
        everything += found
        sections.append(Section(place.title, tuple(_ladder_row(item, rmse, quoted) for item in found)))
    others = tuple(
        (words(row["condition"]), *[Entry("", quoted=True)] * 3, quote(row["success"]), quote(row["tool_rmse"]))
        for row in quoted.rows
        if "score" not in row
    )
    sections.append(quoted_section(quoted.source, others))
    audit = f"`vpw analyse audit {name} --results {results.out}` measures what the tool path sees."
    headings = (
        "success",
        "of unsolved",
        f"tool RMSE, {quantity}",
        "paper's success (quoted)",
        "paper's tool RMSE (quoted)",
    )
    return Table(
        id=quoted.id,
        title=f"{where[0].domain.title} under each condition",
        columns=headed(("condition",), headings),
        sections=tuple(sections),
        notes=(
            *notes(results, everything, quoted, "main"),
            f"Tool RMSE: ours is {quantity}, the paper's is in normalized world coordinates; they do not compare.",
            *([] if audits else [audit]),
        ),
        measured=records(everything),
    )


def _ladder_row(item: Found, rmse: float | None, quoted: Quoted) -> tuple[Entry, ...]:
    paper = quoted.row(observe=item.query.observe, score=item.query.score) if item.place.first else {}
    seen = "" if item.query.observe == "oracle" else MISSING if rmse is None else f"{rmse:.2g}"
    title = words(condition_title(item.query.observe, item.query.score))
    return (
        title,
        item.score(),
        item.unsolved(),
        Entry(seen),
        quote(paper.get("success")),
        quote(paper.get("tool_rmse")),
    )


def metrics_table(results: Results, quoted: Quoted) -> Table:
    """Every metric under the frozen planner and under the paper's coarse one."""
    require(results)
    name, coarse = quoted.data["domain"], quoted.data["coarse_horizon"]
    where = [place for place in places(results, [name]) if place.domain.name == name]
    domain = where[0].domain
    metrics = list(domain.metrics)
    planners = [domain.planner.title, domain.planner.looking(coarse).title]
    sections, everything = [], []
    for place in where:
        for planner in planners:
            rows = []
            for observe, score in CONDITIONS:
                found = [
                    find(results, place, Query(observe=observe, score=score, metric=metric, planner=planner))
                    for metric in metrics
                ]
                everything += found
                rows.append((words(condition_title(observe, score)), *_scores(found)))
            sections.append(Section(f"Measured: {place.title}, {planner}", tuple(rows)))

    blank = Entry("", quoted=True)
    told = [
        (words(row["condition"]), *(part for metric in metrics for part in (quote(row.get(metric)), blank)))
        for row in quoted.data["coarse"]
    ]
    sections.append(quoted_section(f"{quoted.source}; {quoted.data['coarse_budget']}", told))
    rest = [blank] * (2 * len(metrics) - 1)
    told = [(words(row["condition"]), quote_spread(row), *rest) for row in quoted.data["frame"]]
    sections.append(quoted_section(f"{quoted.source}; frame level, mean and SD over five seeds", told))
    return Table(
        id=quoted.id,
        title=f"{domain.title} by success metric and planner",
        columns=headed(("condition",), [heading for metric in metrics for heading in (metric, "of unsolved")]),
        sections=tuple(sections),
        notes=notes(results, everything, quoted, "metrics"),
        measured=records(everything),
    )


def _scores(found: list[Found]) -> list[Entry]:
    return [entry for item in found for entry in (item.score(), item.unsolved())]


COMPARED: tuple[Score, ...] = ("simulator", "induced")


def landscape_table(results: Results, quoted: Quoted) -> Table:
    """Induced over engine, with each planner's budget."""
    require(results)
    where = places(results, [row["domain"] for row in quoted.rows])
    pairs = [[find(results, place, Query(observe="oracle", score=score)) for score in COMPARED] for place in where]
    rows = []
    for place, (engine, induced) in zip(where, pairs, strict=True):
        known = engine.success and induced.success is not None
        ratio = Entry(number(induced.success / engine.success, 2) if known else MISSING)  # type: ignore[operator]
        rows.append(
            (
                words(place.title),
                words(place.domain.planner.title),
                engine.score(),
                induced.score(),
                induced.unsolved(),
                ratio,
            )
        )
    found = [item for pair in pairs for item in pair]
    titles = {place.domain.name: place.domain.title for place in where}
    paper = tuple(
        (
            words(titles[row["domain"]]),
            quote(f"{row['planner']}, {row['budget']}"),
            *map(quote, (row["simulator"], row["induced"], None, row["ratio"])),
        )
        for row in quoted.rows
    )
    headings = ("engine", "induced", "induced, of unsolved", "ratio")
    return Table(
        id=quoted.id,
        title="Success of the program over success of the engine, same planner",
        columns=headed(("tasks", "planner"), headings),
        sections=(Section("Measured", tuple(rows)), quoted_section(quoted.source, paper)),
        notes=notes(results, found, quoted, "main"),
        measured=records(found),
    )


TABLES: dict[str, Callable[[Results, Quoted], Table]] = {
    "hybrid_cost": hybrid_cost_table,
    "ladder": ladder_table,
    "landscape": landscape_table,
    "main": main_table,
    "metrics": metrics_table,
    "multiseed": multiseed_table,
    "sim_assist": sim_assist_table,
}
