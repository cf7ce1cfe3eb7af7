"""Tables by their ids; which ids there are is said by the quoted figures that a kind of table shows beside ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from visualpatchworld.errors import UnknownName
from visualpatchworld.paper.results import Results
from visualpatchworld.paper.table import Quoted, Table, load_quoted
from visualpatchworld.paper.tables.analyses import cases_table, perception_table, smoothness_table
from visualpatchworld.paper.tables.planning import (
    hybrid_cost_table,
    ladder_table,
    landscape_table,
    main_table,
    metrics_table,
    multiseed_table,
    sim_assist_table,
)
from visualpatchworld.paper.tables.programs import ablation_table, edited_table, envs_table, goals_table, induction_table
from visualpatchworld.paper.tables.worlds import cwmb_table, noise_table, real_table, siblings_table, worlds_table

KINDS: Mapping[str, Callable[[Results, Quoted], Table]] = {
    "ablation": ablation_table,
    "cases": cases_table,
    "cwmb": cwmb_table,
    "edited": edited_table,
    "envs": envs_table,
    "goals": goals_table,
    "hybrid_cost": hybrid_cost_table,
    "induction": induction_table,
    "ladder": ladder_table,
    "landscape": landscape_table,
    "main": main_table,
    "metrics": metrics_table,
    "multiseed": multiseed_table,
    "noise": noise_table,
    "perception": perception_table,
    "real": real_table,
    "siblings": siblings_table,
    "sim_assist": sim_assist_table,
    "smoothness": smoothness_table,
    "worlds": worlds_table,
}

ABOUT_WORLDS = ("worlds", "cwmb", "real", "noise", "goals", "edited", "siblings")  # tables of what the paper does not have


def find_tables() -> dict[str, Quoted]:
    """Every table that can be made, by its id."""
    return {name: quoted for name, quoted in load_quoted().items() if quoted.kind in KINDS}


def make_table(name: str, results: Results) -> Table:
    """The table of that id, from results and quoted figures alone."""
    found = find_tables()
    if name not in found:
        raise UnknownName("table", name, found)
    return KINDS[found[name].kind](results, found[name])
