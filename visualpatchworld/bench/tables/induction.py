"""What induction recovered, and how well that plans."""

from __future__ import annotations

from collections.abc import Sequence

from visualpatchworld.bench.found import Found, find
from visualpatchworld.bench.induction_record import InductionRecord
from visualpatchworld.bench.quoted import Quoted
from visualpatchworld.bench.results import Query, Results, places
from visualpatchworld.bench.table import MISSING, Column, Entry, Section, Table, quote, words
from visualpatchworld.bench.tables._notes import notes, records, require


def table(results: Results, quoted: Quoted) -> Table:
    """The chosen form, the experiments it explains, and success under oracle state."""
    if not results.inductions:
        require(results)
    where = places(results, [row["domain"] for row in quoted.rows])
    found = [find(results, place, Query(observe="oracle", score="induced")) for place in where]
    rows = [_row(item, induction_of(results, item), quoted) for item in found]
    headings = ("probes explained", "success", "of unsolved", "paper (quoted)")
    return Table(
        id=quoted.id,
        title="Recovered forms, and success of planning with them (oracle state)",
        columns=(
            Column("tasks", words=True),
            Column("recovered form", words=True),
            Column("paper's form (quoted)", words=True),
            *map(Column, headings),
        ),
        sections=(Section("Measured, with the paper's figures in columns of their own", tuple(rows)),),
        notes=(
            *notes(results, found, quoted, "main"),
            *lost_programs(results, found),
            "A form is named by its choices, one per axis of the domain's family of sketches.",
        ),
        measured=records(found),
    )


def induction_of(results: Results, item: Found) -> InductionRecord | None:
    """The induction that wrote the measured program; where none was measured, that of its method from the domain's own episodes."""
    own = [induction for induction in results.inductions if induction.domain == item.place.domain.name]
    if item.parts:
        own = [induction for induction in own if induction.program_hash == item.parts[0].cell.program]
    else:
        # Forms that were chosen by experiments have candidates; those that were named have none.
        chosen = item.query.method == "vpw"
        own = [
            induction
            for induction in own
            if item.place.first and bool(induction.candidates) == chosen and (chosen or induction.sketch == item.query.method)
        ]
    return own[0] if own else None


def lost_programs(results: Results, found: Sequence[Found]) -> list[str]:
    """Which programs were measured without what `vpw induce` said of them being there."""
    lost = [item for item in found if item.parts and not induction_of(results, item)]
    return [
        f"{item.place.title}, {item.query.title}: no induction.json of program {item.parts[0].cell.program} lies in programs/ beside the "
        f"results; `vpw induce {item.place.domain.name} --out DIR` writes one with the program."
        for item in lost
    ]


def _row(item: Found, induction: InductionRecord | None, quoted: Quoted) -> tuple[Entry, ...]:
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
