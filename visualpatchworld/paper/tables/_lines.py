"""Lines of results that are no planning cells: those that the scripts in `benchmarks/` write about worlds and logs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from visualpatchworld.paper.cell import BadResults
from visualpatchworld.paper.results import NoResults, Results
from visualpatchworld.paper.table import MISSING, Entry

FOLDER = "worlds"


def read_lines(results: Results, name: str, command: str = "") -> list[dict[str, Any]]:
    """The lines of one file in the order they were first measured; with a command, their absence is a failure that names it."""
    path = results.folder / FOLDER / f"{name}.jsonl"
    if not path.is_file():
        if command:
            raise NoResults(f"There is no '{path}'; `{command}` computes it.")
        return []
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]
        if not all(isinstance(line, dict) and "name" in line for line in lines):
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
