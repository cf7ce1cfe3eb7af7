"""Simpler forms on the same data: how far they foresee, and whether that is enough to plan with."""

from __future__ import annotations

from visualpatchworld.bench.found import Found, find
from visualpatchworld.bench.quoted import Quoted
from visualpatchworld.bench.results import Query, Results, places
from visualpatchworld.bench.table import MISSING, Column, Entry, Section, Table, quote, words
from visualpatchworld.bench.tables._notes import notes, records, require
from visualpatchworld.bench.tables.induction import induction_of, lost_programs


def table(results: Results, quoted: Quoted) -> Table:
    """The domain's extra sketches against the form that the method chose by itself."""
    if not results.inductions:
        require(results)
    where = [place for place in places(results, [quoted.data["domain"]]) if place.domain.name == quoted.data["domain"]]
    sections, everything = [], []
    for place in where:
        forms = {sketch.name: sketch.name for sketch in place.domain.family().extra} | {"vpw": "chosen (level 1 + 2)"}
        found = {title: find(results, place, Query(method=method, observe="oracle", score="induced")) for method, title in forms.items()}
        everything += found.values()
        sections.append(Section(f"Measured: {place.title}", tuple(_row(results, title, item, quoted) for title, item in found.items())))
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
        columns=(
            Column("form", words=True),
            *(Column(f"{quantity} after {steps}") for steps in quoted.data["horizons"].values()),
            Column("success"),
            Column("of unsolved"),
        ),
        sections=(*sections, Section(f"Quoted, not measured here: {quoted.source}", paper, quoted=True)),
        notes=(
            *notes(results, everything, quoted, "ablation"),
            *lost_programs(results, everything),
            f"{quantity}: mean open-loop error on validation episodes after so many steps, with the median below or beside it.",
        ),
        measured=records(everything),
    )


def _row(results: Results, title: str, item: Found, quoted: Quoted) -> tuple[Entry, ...]:
    induction = induction_of(results, item)
    errors = {} if induction is None else induction.rollout_error.get(quoted.data["quantity"], {})
    found = [errors.get(steps) for steps in quoted.data["horizons"].values()]
    told = [Entry(f"{error.mean:.3g}", f"median {error.median:.2g}") if error else Entry(MISSING) for error in found]
    return (words(title), *told, item.score(), item.unsolved())
