"""Tables with a row per condition or method and a column per place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from visualpatchworld.paper.results import Found, Place, Query, Results, condition_title, find
from visualpatchworld.paper.suite import CONDITIONS
from visualpatchworld.paper.table import MISSING, Column, Entry, Section, number, quote, words


def columns(where: Sequence[Place], first: str = "condition") -> tuple[Column, ...]:
    """The row's name, each place, the mean."""
    return (Column(first, words=True), *(Column(place.title) for place in where), Column("mean"))


def find_conditions(results: Results, where: Sequence[Place]) -> dict[str, list[Found]]:
    """Every condition in every place, by the condition's title."""
    return {
        condition_title(observe, score): [find(results, place, Query(observe=observe, score=score)) for place in where]
        for observe, score in CONDITIONS
    }


def measured_sections(rows: Mapping[str, Sequence[Found]], names: Sequence[str]) -> tuple[Section, ...]:
    """Scores with their floors, and the same over tasks that were not solved at their start."""
    scores, unsolved = score_sections("Measured", rows, names)
    everything = [list(column) for column in zip(*rows.values(), strict=True)]
    floors = []
    for title, floor in (("Floor: zero actions", "zero"), ("Floor: random actions", "random")):
        summaries = [next((getattr(item, floor) for item in column if getattr(item, floor)), None) for column in everything]
        floors.append((words(title), *(Entry(number(summary.success) if summary else MISSING) for summary in summaries), Entry("")))
    return replace(scores, rows=(*scores.rows, *floors)), unsolved


def score_sections(title: str, rows: Mapping[str, Sequence[Found]], names: Sequence[str]) -> tuple[Section, Section]:
    """Scores over all tasks, and over those that were not solved at their start."""
    scores = [
        (words(name), *(item.score() for item in found), _mean(found, names, lambda item: item.success)) for name, found in rows.items()
    ]
    unsolved = [
        (
            words(name),
            *(item.unsolved() for item in found),
            _mean(found, names, lambda item: item.summary and item.summary.success_unsolved),
        )
        for name, found in rows.items()
    ]
    return Section(title, tuple(scores)), Section(f"{title}, only tasks not solved at their start", tuple(unsolved))


def quoted_sections(rows: Sequence[Mapping[str, Any]], where: Sequence[Place]) -> tuple[Section, ...]:
    """Quoted rows under the name of their source; a domain's figure stands under its first place."""
    by_source: dict[str, list[tuple[Entry, ...]]] = {}
    for row in rows:
        figures = [quote(row["success"].get(place.domain.name)) if place.first else quote("") for place in where]
        by_source.setdefault(row["source"], []).append(
            (words(row["method"]), *figures, quote(MISSING if row["mean"] is None else f"{row['mean']:.1f}"))
        )
    return tuple(Section(f"Quoted, not measured here: {source}", tuple(entries), quoted=True) for source, entries in by_source.items())


def mean_note(where: Sequence[Place], names: Sequence[str]) -> str:
    """Over what a mean is taken."""
    titles = [place.title for place in where if place.first and place.domain.name in names]
    return f"Means are over one source of tasks per domain: {', '.join(titles)}."


def _mean(found: Sequence[Found], names: Sequence[str], value) -> Entry:
    values = [value(item) if item.finished else None for item in found if item.place.first and item.place.domain.name in names]
    known = [value for value in values if value is not None]
    return Entry(f"{sum(known) / len(known):.1f}") if known and len(known) == len(values) else Entry(MISSING)
