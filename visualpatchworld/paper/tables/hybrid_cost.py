"""What success costs: engine rollouts per plan, by who scores."""

from __future__ import annotations

from visualpatchworld.paper.cell import Score
from visualpatchworld.paper.results import Found, Query, Results, find, places
from visualpatchworld.paper.table import MISSING, Column, Entry, Quoted, Section, Table, number, quote, words
from visualpatchworld.paper.tables._notes import notes, records, require

SCORES: tuple[Score, ...] = ("induced", "hybrid", "simulator")


def table(results: Results, quoted: Quoted) -> Table:
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
        columns=(Column("scored by", words=True), *map(Column, headings)),
        sections=tuple(
            Section(place.title, tuple(_row(item, quoted) for item in items)) for place, items in zip(where, found, strict=True)
        ),
        notes=(
            *notes(results, everything, quoted, "main"),
            "An induced scorer holds no engine, so its 0 rollouts hold by construction.",
            *(f"The paper calls its figures for {name} approximate." for name in approximate),
        ),
        measured=records(everything),
    )


def _row(item: Found, quoted: Quoted) -> tuple[Entry, ...]:
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
