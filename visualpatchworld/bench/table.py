"""A table as a value: sections of rows, measured or quoted, with the notes that make its figures readable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
