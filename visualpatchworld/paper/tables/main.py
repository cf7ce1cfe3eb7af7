"""Planning success: all conditions, measured baselines, and what others published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from visualpatchworld.paper.results import Found, Place, Query, Results, find, places
from visualpatchworld.paper.table import Quoted, Table, load_quoted
from visualpatchworld.paper.tables._conditions import (
    columns,
    find_conditions,
    mean_note,
    measured_sections,
    quoted_sections,
    score_sections,
)
from visualpatchworld.paper.tables._notes import notes, records, require

KINDS = ("vpw", "engine", "code", "neural", "policy")  # in this order quoted rows stand


def table(results: Results, quoted: Quoted) -> Table:
    """Every method that was measured, rivals by the model that wrote for them, then every figure that is quoted, apart from each other."""
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
        f"`vpw bench baselines --out {results.out} --endpoint URL --model NAME` measures code baselines; a model has a section of its own."
    )
    absent = not rivals or any(not item.parts for item in rivals)
    return Table(
        id=quoted.id,
        title="Planning success",
        columns=columns(where, "method"),
        sections=(
            *measured_sections(rows, names),
            *(section for label, written in by_model.items() for section in score_sections(_title(label), written, names)),
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
            title: [find(results, place, Query(method=name, observe="oracle", score="induced", written_by=label)) for place in where]
            for name, title in titles.items()
            if (label, name) in measured
        }
        for label in sorted({label for label, name in measured if name in titles})
    }


def _title(label: str) -> str:
    return f"Measured with {label}" if label else "Measured with a model that was not recorded"
