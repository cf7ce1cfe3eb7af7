"""Figures that others published, by table; each table's data says which kind of table shows it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Quoted:
    """What is quoted for one table."""

    id: str
    kind: str  # the module of `bench.tables` that shows it
    source: str
    data: Mapping[str, Any]

    @property
    def rows(self) -> list[dict[str, Any]]:
        return self.data["rows"]

    def row(self, **wanted: object) -> Mapping[str, Any]:
        """The row with these fields, or an empty one."""
        return next((row for row in self.rows if all(row.get(name) == value for name, value in wanted.items())), {})

    @property
    def note(self) -> str:
        return f"Quoted figures are not measured here; their source: {self.source}."


@cache
def load_quoted() -> dict[str, Quoted]:
    """Everything that is quoted, by the table's id."""
    tables = json.loads(Path(__file__).with_name("quoted.json").read_text(encoding="utf-8"))["tables"]
    return {name: Quoted(name, data["kind"], data["source"], data) for name, data in tables.items()}
