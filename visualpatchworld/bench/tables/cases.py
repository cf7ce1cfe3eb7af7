"""Two cases that tell programs apart: how far rollouts stray in one domain, and how far a pushed thing moves in another."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import mean
from typing import Any

from visualpatchworld.bench.exhibits import Exhibit
from visualpatchworld.bench.found import find
from visualpatchworld.bench.quoted import Quoted
from visualpatchworld.bench.results import Place, Query, Results, places
from visualpatchworld.bench.table import MISSING, Column, Entry, Section, Table, number, quote, words
from visualpatchworld.bench.tables._notes import notes, records, require

OURS = "vpw"


def table(results: Results, quoted: Quoted) -> Table:
    """Every method with an exhibit of either case, with its success in both domains; the paper's figures below ours."""
    if not results.exhibits:
        require(results)
    open_loop, motion = quoted.data["open_loop"], quoted.data["motion"]
    cases = {case["domain"]: case for case in (open_loop, motion)}
    place_of = {place.domain.name: place for place in places(results, list(cases)) if place.first and place.domain.name in cases}
    strays, moves = (_by_method(results, kind, place_of[case["domain"]]) for kind, case in (("rollout", open_loop), ("motion", motion)))
    titles = {row["baseline"]: row["method"] for row in quoted.rows if row["baseline"]}
    methods = sorted({*strays, *moves} or {OURS}, key=lambda method: (method != OURS, method))
    rows, everything = [], []
    for method in methods:
        stray, move = strays.get(method), moves.get(method)
        found = [find(results, place_of[case["domain"]], _query(method, exhibit)) for case, exhibit in ((open_loop, stray), (motion, move))]
        everything += found
        title = "Oracle+Induced" if method == OURS else titles.get(method, method)
        rows.append((words(title), _stray(stray, open_loop), found[0].score(), *_moved(move, motion), found[1].score()))
    told = tuple(
        (
            words(row["method"]),
            quote(row[open_loop["figure"]]),
            quote(row[open_loop["success"]]),
            quote(row[motion["figure"]], "unstable" if row["unstable"] else ""),
            quote(quoted.data[motion["true"]]),
            quote(row[motion["success"]]),
        )
        for row in quoted.rows
    )
    first, second = (place_of[name].title for name in cases)
    headings = (
        f"{first}: {open_loop['quantity']} over {open_loop['steps']} steps",
        f"{first}: success",
        f"{second}: {motion['quantity']} moved",
        f"{second}: truly moved",
        f"{second}: success",
    )
    return Table(
        id=quoted.id,
        title=f"Two cases: open-loop error in {first}, motion in {second}",
        columns=(Column("method", words=True), *map(Column, headings)),
        sections=(Section("Measured", tuple(rows)), Section(f"Quoted, not measured here: {quoted.source}", told, quoted=True)),
        notes=(
            *notes(results, [], quoted, "main", everything),
            *_readings(open_loop, motion, first, second),
            *_missing(results, {"rollout": (open_loop, strays), "motion": (motion, moves)}),
        ),
        measured=(*records(everything), *(_record(exhibit) for exhibit in (*strays.values(), *moves.values()))),
    )


def _by_method(results: Results, kind: str, place: Place) -> dict[str, Exhibit]:
    """The exhibits of a kind that were measured where the tasks are, by method."""
    source = place.source or place.domain.name
    return {
        exhibit.method: exhibit for exhibit in results.exhibits_of(kind) if (exhibit.domain, exhibit.source) == (place.domain.name, source)
    }


def _query(method: str, exhibit: Exhibit | None) -> Query:
    return Query(method=method, observe="oracle", score="induced", written_by=exhibit.written_by if exhibit else "")


def _stray(exhibit: Exhibit | None, case: Mapping[str, Any]) -> Entry:
    if exhibit is None or case["quantity"] not in exhibit.data["rollout_error"]:
        return Entry(MISSING)
    errors = exhibit.data["rollout_error"][case["quantity"]]
    first = {name: errors[name][: case["steps"]] for name in ("mean", "median")}
    if None in first["mean"]:
        return Entry("not finite")
    told = f"median {mean(first['median']):.2g}" if None not in first["median"] else ""
    return Entry(f"{mean(first['mean']):.2g}", told)


def _moved(exhibit: Exhibit | None, case: Mapping[str, Any]) -> tuple[Entry, Entry]:
    if exhibit is None or case["quantity"] not in exhibit.data["motion"]:
        return Entry(MISSING), Entry(MISSING)
    motion = exhibit.data["motion"][case["quantity"]]
    lost = f"{motion['not_finite']} steps not finite" if motion["not_finite"] else ""
    return Entry(number(motion["predicted_sum"]), lost), Entry(number(motion["true_sum"]))


def _readings(open_loop: Mapping[str, Any], motion: Mapping[str, Any], first: str, second: str) -> list[str]:
    return [
        f"{first}: mean of {open_loop['quantity']} over the first {open_loop['steps']} steps of rollouts on test episodes; the median, "
        "averaged likewise, stands below or beside it.",
        f"{second}: displacements foreseen one step ahead from the true state, summed over the test episode in which "
        f"{motion['quantity']} changes most; the paper does not say which episode it took.",
    ]


def _missing(results: Results, cases: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Exhibit]]]) -> list[str]:
    return [
        f"`vpw exhibit {kind} {case['domain']} --results {results.out}` measures what is '-' there."
        for kind, (case, measured) in cases.items()
        if OURS not in measured
    ]


def _record(exhibit: Exhibit) -> dict[str, Any]:
    return {
        "exhibit": exhibit.kind,
        "domain": exhibit.domain,
        "source": exhibit.source,
        "method": exhibit.method,
        "written_by": exhibit.written_by,
        "program": exhibit.program,
        **exhibit.data,
    }
