"""Planning success: all conditions, measured baselines, and what others published."""

from __future__ import annotations

from visualpatchworld.bench.found import find
from visualpatchworld.bench.quoted import Quoted, load_quoted
from visualpatchworld.bench.results import Query, Results, places
from visualpatchworld.bench.table import Table
from visualpatchworld.bench.tables._conditions import columns, find_conditions, mean_note, measured_sections, quoted_sections
from visualpatchworld.bench.tables._notes import notes, records, require

KINDS = ("vpw", "engine", "code", "neural", "policy")  # in this order quoted rows stand


def table(results: Results, quoted: Quoted) -> Table:
    """Every method that was measured, then every figure that is quoted, apart from each other."""
    require(results)
    names = list(quoted.rows[0]["success"])
    where = places(results, names)
    rows = find_conditions(results, where)
    measured = {result.cell.method for result in results.results}
    baselines = {row["baseline"]: row["method"] for row in quoted.rows if row.get("baseline") in measured}
    found = [item for row in rows.values() for item in row]
    for name, title in baselines.items():
        rows[title] = [find(results, place, Query(method=name, observe="oracle", score="induced")) for place in where]
    rivals = [item for title in baselines.values() for item in rows[title]]
    # Table 1 of the paper leaves the hybrid conditions and the engine to another table.
    here = {row["method"] for row in quoted.rows}
    further = [row for row in load_quoted()["sim-assist"].rows if row["method"] not in here]
    told = sorted([*quoted.rows, *further], key=lambda row: KINDS.index(row["kind"]))
    more = "A code baseline comes from `vpw baseline METHOD DOMAIN`, then `vpw plan DOMAIN --program FILE.py --sandbox --method METHOD`."
    absent = not rivals or any(not item.parts for item in rivals)
    return Table(
        id=quoted.id,
        title="Planning success",
        columns=columns(where, "method"),
        sections=(*measured_sections(rows, names), *quoted_sections(told, where)),
        notes=(*notes(results, found, quoted, "main", rivals), mean_note(where, names), *[more] * absent),
        measured=records([*found, *rivals]),
    )
