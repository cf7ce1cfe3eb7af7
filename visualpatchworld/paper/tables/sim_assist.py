"""The five conditions: who observes, who scores."""

from __future__ import annotations

from visualpatchworld.paper.results import Results, places
from visualpatchworld.paper.table import Quoted, Table
from visualpatchworld.paper.tables._conditions import columns, find_conditions, mean_note, measured_sections, quoted_sections
from visualpatchworld.paper.tables._notes import notes, records, require


def table(results: Results, quoted: Quoted) -> Table:
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
