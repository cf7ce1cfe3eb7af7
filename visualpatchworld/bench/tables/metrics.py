"""One domain by what counts as success and by how far its planner looks ahead."""

from __future__ import annotations

from visualpatchworld.bench.found import Found, find
from visualpatchworld.bench.quoted import Quoted
from visualpatchworld.bench.results import Query, Results, condition_title, places
from visualpatchworld.bench.suite import CONDITIONS
from visualpatchworld.bench.table import Column, Entry, Section, Table, quote, quote_spread, words
from visualpatchworld.bench.tables._notes import notes, records, require


def table(results: Results, quoted: Quoted) -> Table:
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
                found = [find(results, place, Query(observe=observe, score=score, metric=metric, planner=planner)) for metric in metrics]
                everything += found
                rows.append((words(condition_title(observe, score)), *_scores(found)))
            sections.append(Section(f"Measured: {place.title}, {planner}", tuple(rows)))

    blank = Entry("", quoted=True)
    told = [
        (words(row["condition"]), *(part for metric in metrics for part in (quote(row.get(metric)), blank)))
        for row in quoted.data["coarse"]
    ]
    sections.append(Section(f"Quoted, not measured here: {quoted.source}; {quoted.data['coarse_budget']}", tuple(told), quoted=True))
    rest = [blank] * (2 * len(metrics) - 1)
    told = [(words(row["condition"]), quote_spread(row), *rest) for row in quoted.data["frame"]]
    sections.append(
        Section(f"Quoted, not measured here: {quoted.source}; frame level, mean and SD over five seeds", tuple(told), quoted=True)
    )
    return Table(
        id=quoted.id,
        title=f"{domain.title} by success metric and planner",
        columns=(Column("condition", words=True), *(Column(heading) for metric in metrics for heading in (metric, "of unsolved"))),
        sections=tuple(sections),
        notes=notes(results, everything, quoted, "metrics"),
        measured=records(everything),
    )


def _scores(found: list[Found]) -> list[Entry]:
    return [entry for item in found for entry in (item.score(), item.unsolved())]
