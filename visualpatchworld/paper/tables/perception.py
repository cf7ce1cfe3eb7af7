"""What each path from observation to scene graph sees, against what is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from visualpatchworld.domain import load_domain
from visualpatchworld.paper.exhibits import Exhibit
from visualpatchworld.paper.results import Results
from visualpatchworld.paper.table import MISSING, Column, Entry, Quoted, Section, Table, number, quote, words
from visualpatchworld.paper.tables._notes import require
from visualpatchworld.scene.audit import SAME_PX

ERRORS = ("rmse", "p99", "worst")  # earlier results have the first alone
PATHS = ("oracle", "tool", "vlm")


def table(results: Results, quoted: Quoted) -> Table:
    """Precision, recall and errors of the tool path in every domain; the paper's figures below ours."""
    audits = results.exhibits_of("audit")
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
            Column("pictures of", words=True),
            Column("path", words=True),
            *map(Column, ("precision", "recall")),
            Column("RMSE / p99 / worst", words=True),
            *map(Column, ("frames", "ms / frame")),
        ),
        sections=(
            Section("Measured", (*seen, *nothing, *unseen)),
            Section(f"Quoted, not measured here: {quoted.source}", told, quoted=True),
        ),
        notes=(
            "Precision and recall: of the objects that are reported, and of those that are to be seen, "
            f"the share found within {SAME_PX:g} pixels.",
            "Errors are over frames in which nothing was hidden, in the unit that a name ends with; the oracle reads the simulator: 0.",
            "RMSE: root mean square; p99: what 99 of 100 readings stay below.",
            *([f"`vpw exhibit audit DOMAIN --results {results.out}` measures the tool path: {', '.join(missing)}."] if missing else []),
            "vlm was not measured: it needs a model; `vpw scene DOMAIN IMAGE.png --via vlm --endpoint URL --model NAME` asks one.",
            f"{quoted.data['about']} The two scales do not compare with each other.",
            quoted.note,
        ),
        measured=tuple(_record(audit) for audit in audits),
    )


def _row(audit: Exhibit) -> tuple[Entry, ...]:
    data = audit.data
    errors = ", ".join(f"{name} {' / '.join(_figure(data, kind, name) for kind in ERRORS)}" for name in data["rmse"])
    milliseconds = 1000 * data["seconds_per_frame"]
    shares = [Entry(number(data[name], 3)) for name in ("precision", "recall")]
    return (words(audit.title), words(audit.method), *shares, words(errors), Entry(str(data["frames"])), Entry(f"{milliseconds:.0f}"))


def _figure(data: Mapping[str, Any], kind: str, name: str) -> str:
    return f"{data[kind][name]:.2g}" if name in data.get(kind, {}) else MISSING


def _quoted(title: str, row: Mapping[str, Any]) -> Iterator[tuple[Entry, ...]]:
    for path in PATHS:
        error = row[f"{path}_rmse"]
        if error is not None:
            share = row["precision_recall"] if path == "tool" else None
            yield (words(title), quote(path), *[quote(share)] * 2, quote(f"{error:g} {row['unit']}"), *[quote(None)] * 2)


def _record(audit: Exhibit) -> dict[str, Any]:
    names = ("precision", "recall", *ERRORS, "frames", "seconds_per_frame")
    measured = {name: audit.data[name] for name in names if name in audit.data}
    return {"domain": audit.domain, "source": audit.source, "method": audit.method, "seed": audit.seed, **measured}


def _place(domain: str, titles: Mapping[str, str]) -> int:
    return list(titles).index(domain) if domain in titles else len(titles)
