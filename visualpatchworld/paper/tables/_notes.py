"""The notes that every table of scores carries: what was measured on which tasks, what floors reach, what is missing and how to get it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from visualpatchworld.paper.results import Found, NoResults, Results
from visualpatchworld.paper.table import Quoted, number

INTERVAL = "Scores are percent of tasks; [a, b] is Wilson's 95 % interval."


def notes(results: Results, found: Sequence[Found], quoted: Quoted, suite: str, rivals: Sequence[Found] = ()) -> tuple[str, ...]:
    """All that is needed to judge the scores, in a fixed order; a suite computes what was to be found, but not the rivals."""
    everything = [*found, *rivals]
    lines = [INTERVAL, *_tasks(everything)]
    if any(item.no_program for item in everything):
        lines.append("A star marks a method that wrote no program that loads; it counts as 0.")
    lines += dict.fromkeys(note for item in everything for note in item.notes)
    if any(not item.parts for item in found):
        lines.append(missing(results, found, suite))
    lines.append(quoted.note)
    if any(not item.place.first for item in found):
        lines.append("Quoted figures stand with a domain's first source of tasks; they were not measured on those very tasks.")
    return tuple(lines)


def missing(results: Results, found: Sequence[Found], suite: str) -> str:
    """How to compute what is not there."""
    others = {item.place.domain.name: item.place.source for item in found if item.place.source not in ("", item.place.domain.name)}
    traces = "".join(f" --traces {name}={source}.h5" for name, source in others.items())
    return f"'-' was not measured (where quoted: the source has no figure); `vpw bench {suite} --out {results.out}{traces}` computes it."


def records(found: Iterable[Found]) -> tuple[dict[str, Any], ...]:
    """What lies behind the measured figures."""
    return tuple(item.record() for item in found if item.parts)


def require(results: Results) -> None:
    """Refuse to make a table of nothing."""
    if not results.results:
        raise NoResults(f"There are no results in '{results.folder}'; `vpw bench main --out DIR` computes some, then give --results DIR.")


def _tasks(found: Sequence[Found]) -> list[str]:
    """One note per place and metric: number of tasks, seeds, floors, planner, programs."""
    groups: dict[tuple[str, str, str], list[Found]] = defaultdict(list)
    for item in found:
        if item.parts:
            cell = item.parts[0].cell
            groups[item.place.title, f"{cell.metric} within {cell.budget} steps, goals {cell.offset} ahead", cell.planner].append(item)
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
