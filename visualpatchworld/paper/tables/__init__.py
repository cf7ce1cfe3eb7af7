"""One module per kind of table, found by looking; which ids there are is said by the quoted figures that a kind shows beside ours."""

from __future__ import annotations

import importlib
import pkgutil

from visualpatchworld.errors import UnknownName
from visualpatchworld.paper.results import Results
from visualpatchworld.paper.table import Quoted, Table, load_quoted


def find_tables() -> dict[str, Quoted]:
    """Every table that can be made, by its id."""
    kinds = {module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")}
    return {name: quoted for name, quoted in load_quoted().items() if quoted.kind in kinds}


def make_table(name: str, results: Results) -> Table:
    """The table of that id, from results and quoted figures alone."""
    found = find_tables()
    if name not in found:
        raise UnknownName("table", name, found)
    return importlib.import_module(f"{__name__}.{found[name].kind}").table(results, found[name])
