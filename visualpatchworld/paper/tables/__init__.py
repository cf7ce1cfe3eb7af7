"""Tables by their ids, and what they are made of:
rows per condition, notes that travel with every score, lines of benchmarks.

Which ids there are is said by the quoted figures that a kind of table shows beside ours.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from visualpatchworld.errors import UnknownName
from visualpatchworld.paper.cell import BadResults
from visualpatchworld.paper.results import Found, NoResults, Place, Query, Results, condition_title, find
from visualpatchworld.paper.suite import CONDITIONS
from visualpatchworld.paper.table import (
    MISSING,
    Column,
    Entry,
    Quoted,
    Section,
    Table,
    load_quoted,
    number,
    quote,
    words,
)

# Tables of what the paper does not have.
ABOUT_WORLDS = ("worlds", "cwmb", "real", "noise", "goals", "edited", "siblings", "zoo", "odebench")


def find_tables() -> dict[str, Quoted]:
    """Every table that can be made, by its id."""
    return dict(load_quoted())


def make_table(name: str, results: Results) -> Table:
    """The table of that id, from results and quoted figures alone."""
    # Here: they are made of the parts below.
    from visualpatchworld.paper.tables import analyses, planning, programs, worlds, yardsticks

    found = find_tables()
    if name not in found:
        raise UnknownName("table", name, found)
    kinds = analyses.TABLES | planning.TABLES | programs.TABLES | worlds.TABLES | yardsticks.TABLES
    return kinds[found[name].kind](results, found[name])


def columns(where: Sequence[Place], first: str = "condition") -> tuple[Column, ...]:
    """The row's name, each place, the mean."""
    return headed((first,), (*(place.title for place in where), "mean"))


def headed(first: Sequence[str], figures: Sequence[str], last: Sequence[str] = ()) -> tuple[Column, ...]:
    """Columns of words, then of figures, then of words again."""
    return (
        *(Column(heading, words=True) for heading in first),
        *map(Column, figures),
        *(Column(heading, words=True) for heading in last),
    )


def quoted_section(source: str, rows: Iterable[tuple[Entry, ...]]) -> Section:
    """What others published, apart from what was measured."""
    return Section(f"Quoted, not measured here: {source}", tuple(rows), quoted=True)


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
        summaries = [
            next((getattr(item, floor) for item in column if getattr(item, floor)), None) for column in everything
        ]
        floors.append(
            (
                words(title),
                *(Entry(number(summary.success) if summary else MISSING) for summary in summaries),
                Entry(""),
            )
        )
    return replace(scores, rows=(*scores.rows, *floors)), unsolved


def score_sections(title: str, rows: Mapping[str, Sequence[Found]], names: Sequence[str]) -> tuple[Section, Section]:
    """Scores over all tasks, and over those that were not solved at their start."""
    scores = [
        (words(name), *(item.score() for item in found), _mean(found, names, lambda item: item.success))
        for name, found in rows.items()
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
    return tuple(quoted_section(source, entries) for source, entries in by_source.items())


def mean_note(where: Sequence[Place], names: Sequence[str]) -> str:
    """Over what a mean is taken."""
    titles = [place.title for place in where if place.first and place.domain.name in names]
    return f"Means are over one source of tasks per domain: {', '.join(titles)}."


def _mean(found: Sequence[Found], names: Sequence[str], value) -> Entry:
    values = [
        value(item) if item.finished else None for item in found if item.place.first and item.place.domain.name in names
    ]
    known = [value for value in values if value is not None]
    return Entry(f"{sum(known) / len(known):.1f}") if known and len(known) == len(values) else Entry(MISSING)


INTERVAL = "Scores are percent of tasks; [a, b] is Wilson's 95 % interval."


def notes(
    results: Results, found: Sequence[Found], quoted: Quoted, suite: str, rivals: Sequence[Found] = ()
) -> tuple[str, ...]:
    """All that is needed to judge the scores, in a fixed order;
    a suite computes what was to be found, but not the rivals.
    """
    everything = [*found, *rivals]
    lines = [INTERVAL, *_tasks(everything)]
    if any(item.no_program for item in everything):
        lines.append("A star marks a method that wrote no program that loads; it counts as 0.")
    lines += dict.fromkeys(note for item in everything for note in item.notes)
    if any(not item.parts for item in found):
        lines.append(missing(results, found, suite))
    lines.append(quoted.note)
    if any(not item.place.first for item in found):
        lines.append(
            "Quoted figures stand with a domain's first source of tasks; they were not measured on those very tasks."
        )
    return tuple(lines)


def missing(results: Results, found: Sequence[Found], suite: str) -> str:
    """How to compute what is not there."""
    others = {
        item.place.domain.name: item.place.source
        for item in found
        if item.place.source not in ("", item.place.domain.name)
    }
    traces = "".join(f" --traces {name}={source}.h5" for name, source in others.items())
    return (
        f"'-' was not measured (where quoted: the source has no figure); `vpw bench {suite} --out "
        f"{results.out}{traces}` computes it."
    )


def records(found: Iterable[Found]) -> tuple[dict[str, Any], ...]:
    """What lies behind the measured figures."""
    return tuple(item.record() for item in found if item.parts)


def require(results: Results) -> None:
    """Refuse to make a table of nothing."""
    if not results.results:
        raise NoResults(
            f"There are no results in '{results.folder}'; `vpw bench main --out DIR` computes some, then "
            "give --results DIR."
        )


def _tasks(found: Sequence[Found]) -> list[str]:
    """One note per place and metric: number of tasks, seeds, floors, planner, programs."""
    groups: dict[tuple[str, str, str], list[Found]] = defaultdict(list)
    for item in found:
        if item.parts:
            cell = item.parts[0].cell
            groups[
                item.place.title, f"{cell.metric} within {cell.budget} steps, goals {cell.offset} ahead", cell.planner
            ].append(item)
    lines = []
    for (place, metric, planner), items in groups.items():
        cells = [part.cell for item in items for part in item.parts]
        facts = [
            metric,
            f"n = {_several(item.summary.n for item in items if item.summary)}",
            f"seed {_several(cell.seed for cell in cells)}",
            f"{_several(item.summary.n_unsolved for item in items if item.summary)} not solved at the start",
            f"zero floor {_several(number(item.zero.success) if item.zero else 'not measured' for item in items)}",
            f"random floor {_several(number(item.random.success) if item.random else 'not measured' for item in items)}",
            planner,
        ]
        programs = [cell.program for cell in cells if cell.program and cell.method == "vpw"]
        if programs:
            facts.append(f"program {_several(programs)}")
        lines.append(f"{place}: {'; '.join(facts)}.")
    return lines


def _several(values: Iterable[object]) -> str:
    return " or ".join(str(value) for value in dict.fromkeys(values))


FOLDER = "worlds"


def read_lines(
    results: Results, name: str, command: str = "", *, folder: str = FOLDER, key: str = "name"
) -> list[dict[str, Any]]:
    """The lines of one file in the order they were first measured;
    with a command, their absence is a failure that names it.
    """
    path = results.folder / folder / f"{name}.jsonl"
    if not path.is_file():
        if command:
            raise NoResults(f"There is no '{path}'; `{command}` computes it.")
        return []
    try:
        lines = [
            json.loads(line)
            for line in path.read_text(encoding="utf-8").splitlines(keepends=True)
            if line.endswith("\n")
        ]
        if not all(isinstance(line, dict) and key in line for line in lines):
            raise ValueError
    except ValueError:
        raise BadResults(f"'{path}' does not hold lines of results; move it elsewhere.") from None
    return lines


def figure(value: float | None, digits: int = 2, detail: str = "") -> Entry:
    """A figure of a few significant digits, however small or large."""
    if value is None:
        return Entry(MISSING, detail)
    return Entry(f"{value:.0f}" if abs(value) >= 100 else f"{value:.{digits}g}", detail)


def error_at(line: Mapping[str, Any], of: str, horizon: int) -> Entry:
    """A median error with what nine tenths of the windows stay below; errors beyond any use are said to be so."""
    spread = (line.get(of) or {}).get(str(horizon))
    if not spread or spread["median"] is None:
        return Entry(MISSING if not spread else "diverges")
    if spread["median"] > 1e3:
        return Entry("diverges")
    return figure(spread["median"], detail="" if spread["p90"] is None else f"p90 {spread['p90']:.2g}")
