"""One domain up the ladder of help: from pixels and a program to the engine itself."""

from __future__ import annotations

from visualpatchworld.paper.cell import Observe, Score
from visualpatchworld.paper.results import Found, Query, Results, condition_title, find, places
from visualpatchworld.paper.table import MISSING, Column, Entry, Quoted, Section, Table, quote, words
from visualpatchworld.paper.tables._notes import notes, records, require

LADDER: tuple[tuple[Observe, Score], ...] = (
    ("tool", "induced"),
    ("tool", "hybrid"),
    ("oracle", "induced"),
    ("oracle", "hybrid"),
    ("oracle", "simulator"),
)


def table(results: Results, quoted: Quoted) -> Table:
    """Each condition with the error of what it sees."""
    require(results)
    name, quantity = quoted.data["domain"], quoted.data["quantity"]
    where = [place for place in places(results, [name]) if place.domain.name == name]
    audits = [audit.data["rmse"].get(quantity) for audit in results.exhibits_of("audit") if audit.domain == name]
    rmse = audits[0] if audits else None
    sections, everything = [], []
    for place in where:
        found = [find(results, place, Query(observe=observe, score=score)) for observe, score in LADDER]
        everything += found
        sections.append(Section(place.title, tuple(_row(item, rmse, quoted) for item in found)))
    others = tuple(
        (words(row["condition"]), *[Entry("", quoted=True)] * 3, quote(row["success"]), quote(row["tool_rmse"]))
        for row in quoted.rows
        if "score" not in row
    )
    sections.append(Section(f"Quoted, not measured here: {quoted.source}", others, quoted=True))
    audit = f"`vpw exhibit audit {name} --results {results.out}` measures what the tool path sees."
    headings = ("success", "of unsolved", f"tool RMSE, {quantity}", "paper's success (quoted)", "paper's tool RMSE (quoted)")
    return Table(
        id=quoted.id,
        title=f"{where[0].domain.title} under each condition",
        columns=(Column("condition", words=True), *map(Column, headings)),
        sections=tuple(sections),
        notes=(
            *notes(results, everything, quoted, "main"),
            f"Tool RMSE: ours is {quantity}, the paper's is in normalized world coordinates; they do not compare.",
            *([] if audits else [audit]),
        ),
        measured=records(everything),
    )


def _row(item: Found, rmse: float | None, quoted: Quoted) -> tuple[Entry, ...]:
    paper = quoted.row(observe=item.query.observe, score=item.query.score) if item.place.first else {}
    seen = "" if item.query.observe == "oracle" else MISSING if rmse is None else f"{rmse:.2g}"
    title = words(condition_title(item.query.observe, item.query.score))
    return (title, item.score(), item.unsolved(), Entry(seen), quote(paper.get("success")), quote(paper.get("tool_rmse")))
