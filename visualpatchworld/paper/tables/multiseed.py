"""Five seeds: how much of a score is luck of the draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean, stdev
from typing import Any

from visualpatchworld.paper.results import Found, Query, Results, condition_title, find, places
from visualpatchworld.paper.suite import CONDITIONS
from visualpatchworld.paper.table import MISSING, Column, Entry, Quoted, Section, Table, interval, number, quote_spread, words
from visualpatchworld.paper.tables._notes import notes, records, require

SUITE = "suite"  # the quoted row over all domains


def table(results: Results, quoted: Quoted) -> Table:
    """Mean and spread over seeds, and the interval of all their tasks together."""
    require(results)
    seeds = tuple(quoted.data["seeds"])
    names = list(dict.fromkeys(row["domain"] for row in quoted.rows if row["domain"] != SUITE))
    where = places(results, names)
    sections, everything = [], []
    for observe, score in CONDITIONS:
        found = [find(results, place, Query(observe=observe, score=score, seeds=seeds)) for place in where]
        everything += found
        paper = {row["domain"]: row for row in quoted.rows if (row["observe"], row["score"]) == (observe, score)}
        rows = [_row(item, paper.get(item.place.domain.name, {}) if item.place.first else {}) for item in found]
        rows.append(_suite([item for item in found if item.place.first and item.place.domain.name in names], paper.get(SUITE, {})))
        sections.append(Section(condition_title(observe, score), tuple(rows)))
    headings = ("mean", "SD", "pooled 95 %", "of unsolved", "zero", "random", "n", "paper (quoted)")
    return Table(
        id=quoted.id,
        title=f"Planning success over seeds {', '.join(map(str, seeds))}",
        columns=(Column("tasks", words=True), *map(Column, headings)),
        sections=tuple(sections),
        notes=(
            *notes(results, everything, quoted, "multiseed"),
            "SD is over the seeds' scores, with one degree of freedom less than seeds; the interval pools all tasks, "
            "some of which several seeds may have drawn.",
            f"{SUITE}: the seeds' means over one source of tasks per domain.",
        ),
        measured=records(everything),
    )


def _row(item: Found, paper: Mapping[str, Any]) -> tuple[Entry, ...]:
    name, summary = words(item.place.title), item.summary
    if summary is None:
        return (name, *[Entry(MISSING)] * 7, quote_spread(paper))
    scores = list(item.by_seed.values())
    floors = [Entry(number(floor.success) if floor else MISSING) for floor in (item.zero, item.random)]
    average, deviation = _spread(scores)
    average = Entry(average.text + "~" * (not item.finished))
    return (name, average, deviation, Entry(interval(summary.ci95)), item.unsolved(), *floors, Entry(str(summary.n)), quote_spread(paper))


def _suite(found: Sequence[Found], paper: Mapping[str, Any]) -> tuple[Entry, ...]:
    finished = found and all(item.finished for item in found)
    shared = set.intersection(*(set(item.by_seed) for item in found)) if finished else set()
    scores = [mean(item.by_seed[seed] for item in found) for seed in sorted(shared)]
    return (words(SUITE), *_spread(scores), *[Entry("")] * 5, quote_spread(paper))


def _spread(scores: Sequence[float]) -> tuple[Entry, Entry]:
    return Entry(number(mean(scores)) if scores else MISSING), Entry(number(stdev(scores)) if len(scores) > 1 else MISSING)
