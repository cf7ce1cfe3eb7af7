"""How well a program's costs stand for the engine's beside a wall, and what success that goes with."""

from __future__ import annotations

from visualpatchworld.paper.cell import Observe, Score
from visualpatchworld.paper.exhibits import Exhibit
from visualpatchworld.paper.results import Query, Results, condition_title, find, places
from visualpatchworld.paper.table import MISSING, Column, Entry, Quoted, Section, Table, number, quote, words
from visualpatchworld.paper.tables._notes import notes, records, require

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


def table(results: Results, quoted: Quoted) -> Table:
    """Success by condition with the paper's beside it, then how the landscape of each method compares with the engine's."""
    data = quoted.data
    exhibits = [exhibit for exhibit in results.exhibits_of("smoothness") if exhibit.domain == data["domain"]]
    if not exhibits:
        require(results)
    place = next(place for place in places(results, [data["domain"]]) if place.domain.name == data["domain"])
    found = {key: find(results, place, Query(observe=observe, score=score)) for key, (observe, score) in CONDITIONS.items()}
    success = [(words(condition_title(*CONDITIONS[key])), item.score(), quote(data[key])) for key, item in found.items()]
    unsolved = [(words(condition_title(*CONDITIONS[key])), item.unsolved(), quote(None)) for key, item in found.items()]
    return Table(
        id=quoted.id,
        title=f"{place.domain.title}: the scoring landscape beside a wall",
        columns=(Column("figure", words=True), Column("measured"), Column("paper (quoted)")),
        sections=(
            Section(f"Success, {place.title}", tuple(success)),
            Section(f"Success, {place.title}, only tasks not solved at their start", tuple(unsolved)),
            *(Section(f"Landscape, {exhibit.title}, {exhibit.method}", _rows(exhibit)) for exhibit in exhibits),
        ),
        notes=(
            *notes(results, list(found.values()), quoted, "main"),
            *map(_start, exhibits),
            "Costs are over a grid of actions, each held for a whole plan, in units of the engine's range over that grid: the best action "
            "costs 0, and a step of 1 between neighbours is a cliff.",
            *([] if exhibits else [f"`vpw exhibit smoothness {data['domain']} --results {results.out}` measures the landscape."]),
            f"The paper's program is a {data['induced_model']}; it has no figure of a landscape, but (quoted) a mean distance of "
            f"{number(data['mean_goal_distance_px'])} px from the goal, with a success radius of {number(data['success_radius_px'])} px.",
        ),
        measured=(
            *records(found.values()),
            *({"exhibit": "smoothness", "domain": item.domain, "method": item.method, **item.data["merit"]} for item in exhibits),
        ),
    )


def _rows(exhibit: Exhibit) -> tuple[tuple[Entry, ...], ...]:
    merit = exhibit.data["merit"]
    return tuple(
        (words(title), Entry(MISSING if merit[key] is None else f"{merit[key]:.3g}"), quote(None)) for key, title in MERITS.items()
    )


def _start(exhibit: Exhibit) -> str:
    beside = f"beside {', '.join(exhibit.data['beside'])}" if exhibit.data["beside"] else "touching nothing fixed"
    where = f"episode {exhibit.data['episode']}, step {exhibit.data['step']}, {beside}"
    return f"{exhibit.title}, {exhibit.method}: {where}; {exhibit.data['horizon']} steps ahead; program {exhibit.program}."
