"""How much of the engine's success a program keeps under the same frozen planner."""

from __future__ import annotations

from visualpatchworld.paper.cell import Score
from visualpatchworld.paper.results import Query, Results, find, places
from visualpatchworld.paper.table import MISSING, Column, Entry, Quoted, Section, Table, number, quote, words
from visualpatchworld.paper.tables._notes import notes, records, require

SCORES: tuple[Score, ...] = ("simulator", "induced")


def table(results: Results, quoted: Quoted) -> Table:
    """Induced over engine, with each planner's budget."""
    require(results)
    where = places(results, [row["domain"] for row in quoted.rows])
    pairs = [[find(results, place, Query(observe="oracle", score=score)) for score in SCORES] for place in where]
    rows = []
    for place, (engine, induced) in zip(where, pairs, strict=True):
        known = engine.success and induced.success is not None
        ratio = Entry(number(induced.success / engine.success, 2) if known else MISSING)  # type: ignore[operator]
        rows.append((words(place.title), words(place.domain.planner.title), engine.score(), induced.score(), induced.unsolved(), ratio))
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
        columns=(Column("tasks", words=True), Column("planner", words=True), *map(Column, headings)),
        sections=(Section("Measured", tuple(rows)), Section(f"Quoted, not measured here: {quoted.source}", paper, quoted=True)),
        notes=notes(results, found, quoted, "main"),
        measured=records(found),
    )
