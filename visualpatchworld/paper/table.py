"""Tables as values: sections, rows and entries, and the figures quoted from elsewhere that stand beside ours."""

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


MISSING = "-"


@dataclass(frozen=True)
class Column:
    """A heading, and whether words or figures stand under it."""

    heading: str
    words: bool = False


@dataclass(frozen=True)
class Entry:
    """What stands in one place: a figure, what goes with it in small print, and whether others published it."""

    text: str
    detail: str = ""
    quoted: bool = False


@dataclass(frozen=True)
class Section:
    """Rows under a title of their own; a section is measured or quoted, never both, unless its columns say which is which."""

    title: str
    rows: tuple[tuple[Entry, ...], ...]
    quoted: bool = False


@dataclass(frozen=True, kw_only=True)
class Table:
    """A titled table; `measured` holds the records behind its measured figures."""

    id: str
    title: str
    columns: tuple[Column, ...]
    sections: tuple[Section, ...]
    notes: tuple[str, ...] = ()
    measured: tuple[Mapping[str, Any], ...] = ()

    def __post_init__(self):
        for section in self.sections:
            for row in section.rows:
                if len(row) != len(self.columns):
                    raise ValueError(f"a row of {len(row)} entries does not fit {len(self.columns)} columns")
                if section.quoted and not all(entry.quoted for entry in row[1:]):
                    raise ValueError("figures of a quoted section must be marked as quoted")


def number(value: float | None, digits: int = 1) -> str:
    """A figure without idle zeros."""
    if value is None:
        return MISSING
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def interval(bounds: tuple[float, float] | list[float] | None) -> str:
    """An interval in whole percent."""
    return "" if bounds is None else f"[{bounds[0]:.0f}, {bounds[1]:.0f}]"


def quote_spread(row: Mapping[str, Any]) -> Entry:
    """A published mean with its spread and interval, as far as they are known; nothing of an empty row."""
    if not row:
        return Entry(MISSING, quoted=True)
    spread = "" if row["sd"] is None else f" +- {number(row['sd'])}"
    return Entry(number(row["mean"]) + spread, interval(row["ci95"]), quoted=True)


def words(text: str) -> Entry:
    """An entry of our own that is no figure."""
    return Entry(text)


def quote(value: object, detail: str = "", digits: int = 2) -> Entry:
    """An entry that others published."""
    text = value if isinstance(value, str) else number(value, digits)  # type: ignore[arg-type]
    return Entry(text, detail, quoted=True)
