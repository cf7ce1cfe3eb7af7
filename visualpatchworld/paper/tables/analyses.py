"""Tables of what is measured but is no cell: how far rollouts stray, how smooth costs are, perception."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from statistics import mean
from typing import Any

from visualpatchworld.domain import load_domain
from visualpatchworld.paper.analysis import Analysis
from visualpatchworld.paper.cell import Observe, Score
from visualpatchworld.paper.results import Place, Query, Results, condition_title, find, places
from visualpatchworld.paper.table import MISSING, Column, Entry, Quoted, Section, Table, number, quote, words
from visualpatchworld.paper.tables import headed, notes, quoted_section, records, require
from visualpatchworld.scene.calibrate import SAME_PX

OURS = "vpw"


def cases_table(results: Results, quoted: Quoted) -> Table:
    """Every method with an analysis of either case, with its success in both domains;
    the paper's figures below ours.
    """
    if not results.analyses:
        require(results)
    open_loop, motion = quoted.data["open_loop"], quoted.data["motion"]
    cases = {case["domain"]: case for case in (open_loop, motion)}
    place_of = {
        place.domain.name: place for place in places(results, list(cases)) if place.first and place.domain.name in cases
    }
    strays, moves = (
        _by_method(results, kind, place_of[case["domain"]])
        for kind, case in (("rollout", open_loop), ("motion", motion))
    )
    titles = {row["baseline"]: row["method"] for row in quoted.rows if row["baseline"]}
    methods = sorted({*strays, *moves} or {OURS}, key=lambda method: (method != OURS, method))
    rows, everything = [], []
    for method in methods:
        stray, move = strays.get(method), moves.get(method)
        found = [
            find(results, place_of[case["domain"]], _query(method, analysis))
            for case, analysis in ((open_loop, stray), (motion, move))
        ]
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
        columns=headed(("method",), headings),
        sections=(
            Section("Measured", tuple(rows)),
            quoted_section(quoted.source, told),
        ),
        notes=(
            *notes(results, [], quoted, "main", everything),
            *_readings(open_loop, motion, first, second),
            *_missing(results, {"rollout": (open_loop, strays), "motion": (motion, moves)}),
        ),
        measured=(*records(everything), *(_cases_record(analysis) for analysis in (*strays.values(), *moves.values()))),
    )


def _by_method(results: Results, kind: str, place: Place) -> dict[str, Analysis]:
    """The analyses of a kind that were measured where the tasks are, by method."""
    source = place.source or place.domain.name
    return {
        analysis.method: analysis
        for analysis in results.analyses_of(kind)
        if (analysis.domain, analysis.source) == (place.domain.name, source)
    }


def _query(method: str, analysis: Analysis | None) -> Query:
    return Query(method=method, observe="oracle", score="induced", written_by=analysis.written_by if analysis else "")


def _stray(analysis: Analysis | None, case: Mapping[str, Any]) -> Entry:
    if analysis is None or case["quantity"] not in analysis.data["rollout_error"]:
        return Entry(MISSING)
    errors = analysis.data["rollout_error"][case["quantity"]]
    first = {name: errors[name][: case["steps"]] for name in ("mean", "median")}
    if None in first["mean"]:
        return Entry("not finite")
    told = f"median {mean(first['median']):.2g}" if None not in first["median"] else ""
    return Entry(f"{mean(first['mean']):.2g}", told)


def _moved(analysis: Analysis | None, case: Mapping[str, Any]) -> tuple[Entry, Entry]:
    if analysis is None or case["quantity"] not in analysis.data["motion"]:
        return Entry(MISSING), Entry(MISSING)
    motion = analysis.data["motion"][case["quantity"]]
    lost = f"{motion['not_finite']} steps not finite" if motion["not_finite"] else ""
    return Entry(number(motion["predicted_sum"]), lost), Entry(number(motion["true_sum"]))


def _readings(open_loop: Mapping[str, Any], motion: Mapping[str, Any], first: str, second: str) -> list[str]:
    return [
        f"{first}: mean of {open_loop['quantity']} over the first {open_loop['steps']} steps of "
        "rollouts on test episodes; the median, "
        "averaged likewise, stands below or beside it.",
        f"{second}: displacements foreseen one step ahead from the true state, summed over the test episode in which "
        f"{motion['quantity']} changes most; the paper does not say which episode it took.",
    ]


def _missing(results: Results, cases: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Analysis]]]) -> list[str]:
    return [
        f"`vpw analyse {kind} {case['domain']} --results {results.out}` measures what is '-' there."
        for kind, (case, measured) in cases.items()
        if OURS not in measured
    ]


def _cases_record(analysis: Analysis) -> dict[str, Any]:
    return {
        "exhibit": analysis.kind,
        "domain": analysis.domain,
        "source": analysis.source,
        "method": analysis.method,
        "written_by": analysis.written_by,
        "program": analysis.program,
        **analysis.data,
    }


# What the paper reports of each condition, by the name its data gives it.
CONDITIONS: dict[str, tuple[Observe, Score]] = {
    "induced": ("oracle", "induced"),
    "oracle_hybrid": ("oracle", "hybrid"),
    "tool_hybrid": ("tool", "hybrid"),
    "simulator": ("oracle", "simulator"),
}
MERITS = {
    "agreement": "share of neighbours in the engine's order",
    "gap": "mean gap to the engine's cost",
    "engine_step": "largest step between neighbours, engine",
    "program_step": "largest step between neighbours, program",
    "regret": "engine's cost of the program's best action",
}


def smoothness_table(results: Results, quoted: Quoted) -> Table:
    """Success by condition with the paper's beside it, then how the landscape of each
    method compares with the engine's.
    """
    data = quoted.data
    analyses = [analysis for analysis in results.analyses_of("smoothness") if analysis.domain == data["domain"]]
    if not analyses:
        require(results)
    place = next(place for place in places(results, [data["domain"]]) if place.domain.name == data["domain"])
    found = {
        key: find(results, place, Query(observe=observe, score=score)) for key, (observe, score) in CONDITIONS.items()
    }
    success = [
        (words(condition_title(*CONDITIONS[key])), item.score(), quote(data[key])) for key, item in found.items()
    ]
    unsolved = [(words(condition_title(*CONDITIONS[key])), item.unsolved(), quote(None)) for key, item in found.items()]
    return Table(
        id=quoted.id,
        title=f"{place.domain.title}: the scoring landscape beside a wall",
        columns=headed(("figure",), ("measured", "paper (quoted)")),
        sections=(
            Section(f"Success, {place.title}", tuple(success)),
            Section(f"Success, {place.title}, only tasks not solved at their start", tuple(unsolved)),
            *(Section(f"Landscape, {analysis.title}, {analysis.method}", _rows(analysis)) for analysis in analyses),
        ),
        notes=(
            *notes(results, list(found.values()), quoted, "main"),
            *map(_start, analyses),
            "Costs are over a grid of actions, each held for a whole plan, in units of the engine's "
            "range over that grid: the best action "
            "costs 0, and a step of 1 between neighbours is a cliff.",
            *(
                []
                if analyses
                else [f"`vpw analyse smoothness {data['domain']} --results {results.out}` measures the landscape."]
            ),
            f"The paper's program is a {data['induced_model']}; it has no figure of a landscape, but "
            "(quoted) a mean distance of "
            f"{number(data['mean_goal_distance_px'])} px from the goal, with a success radius of "
            f"{number(data['success_radius_px'])} px.",
        ),
        measured=(
            *records(found.values()),
            *(
                {"exhibit": "smoothness", "domain": item.domain, "method": item.method, **item.data["merit"]}
                for item in analyses
            ),
        ),
    )


def _rows(analysis: Analysis) -> tuple[tuple[Entry, ...], ...]:
    merit = analysis.data["merit"]
    return tuple(
        (words(title), Entry(MISSING if merit[key] is None else f"{merit[key]:.3g}"), quote(None))
        for key, title in MERITS.items()
    )


def _start(analysis: Analysis) -> str:
    beside = f"beside {', '.join(analysis.data['beside'])}" if analysis.data["beside"] else "touching nothing fixed"
    where = f"episode {analysis.data['episode']}, step {analysis.data['step']}, {beside}"
    return (
        f"{analysis.title}, {analysis.method}: {where}; {analysis.data['horizon']} steps ahead; "
        f"program {analysis.program}."
    )


ERRORS = ("rmse", "p99", "worst")  # earlier results have the first alone
PATHS = ("oracle", "tool", "vlm")


def perception_table(results: Results, quoted: Quoted) -> Table:
    """Precision, recall and errors of the tool path in every domain; the paper's figures below ours."""
    audits = results.analyses_of("audit")
    if not audits:
        require(results)
    titles = {row["domain"]: load_domain(row["domain"]).title for row in quoted.rows}
    seen = [_row(audit) for audit in sorted(audits, key=lambda audit: _place(audit.domain, titles))]
    missing = [name for name in titles if name not in {audit.domain for audit in audits}]
    nothing = [(words(titles[name]), words("tool"), *[Entry(MISSING)] * 5) for name in missing]
    unseen = [(words(titles[name]), words("vlm"), *[Entry(MISSING)] * 5) for name in titles]
    told = tuple(entries for row in quoted.rows for entries in _quoted(titles[row["domain"]], row))
    return Table(
        id=quoted.id,
        title="What is seen in pictures, against the oracle",
        columns=(
            *headed(("pictures of", "path"), ("precision", "recall"), ("RMSE / p99 / worst",)),
            *map(Column, ("frames", "ms / frame")),
        ),
        sections=(
            Section("Measured", (*seen, *nothing, *unseen)),
            quoted_section(quoted.source, told),
        ),
        notes=(
            "Precision and recall: of the objects that are reported, and of those that are to be seen, "
            f"the share found within {SAME_PX:g} pixels.",
            "Errors are over frames in which nothing was hidden, in the unit that a name ends with; the "
            "oracle reads the simulator: 0.",
            "RMSE: root mean square; p99: what 99 of 100 readings stay below.",
            *(
                [f"`vpw analyse audit DOMAIN --results {results.out}` measures the tool path: {', '.join(missing)}."]
                if missing
                else []
            ),
            "vlm was not measured: it needs a model; `vpw scene DOMAIN IMAGE.png --via vlm --endpoint "
            "URL --model NAME` asks one.",
            f"{quoted.data['about']} The two scales do not compare with each other.",
            quoted.note,
        ),
        measured=tuple(_perception_record(audit) for audit in audits),
    )


def _row(audit: Analysis) -> tuple[Entry, ...]:
    data = audit.data
    errors = ", ".join(f"{name} {' / '.join(_figure(data, kind, name) for kind in ERRORS)}" for name in data["rmse"])
    milliseconds = 1000 * data["seconds_per_frame"]
    shares = [Entry(number(data[name], 3)) for name in ("precision", "recall")]
    return (
        words(audit.title),
        words(audit.method),
        *shares,
        words(errors),
        Entry(str(data["frames"])),
        Entry(f"{milliseconds:.0f}"),
    )


def _figure(data: Mapping[str, Any], kind: str, name: str) -> str:
    return f"{data[kind][name]:.2g}" if name in data.get(kind, {}) else MISSING


def _quoted(title: str, row: Mapping[str, Any]) -> Iterator[tuple[Entry, ...]]:
    for path in PATHS:
        error = row[f"{path}_rmse"]
        if error is not None:
            share = row["precision_recall"] if path == "tool" else None
            yield (
                words(title),
                quote(path),
                *[quote(share)] * 2,
                quote(f"{error:g} {row['unit']}"),
                *[quote(None)] * 2,
            )


def _perception_record(audit: Analysis) -> dict[str, Any]:
    names = ("precision", "recall", *ERRORS, "frames", "seconds_per_frame")
    measured = {name: audit.data[name] for name in names if name in audit.data}
    return {"domain": audit.domain, "source": audit.source, "method": audit.method, "seed": audit.seed, **measured}


def _place(domain: str, titles: Mapping[str, str]) -> int:
    return list(titles).index(domain) if domain in titles else len(titles)


TABLES: dict[str, Callable[[Results, Quoted], Table]] = {
    "cases": cases_table,
    "perception": perception_table,
    "smoothness": smoothness_table,
}
