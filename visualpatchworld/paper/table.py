"""Tables as values, with figures quoted from elsewhere beside ours, and five ways to write them down."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from visualpatchworld.files import to_json


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
    """Rows under a title of their own; a section is measured or quoted, never both,
    unless its columns say which is which.
    """

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


def quote(value: object, detail: str = "") -> Entry:
    """An entry that others published."""
    text = value if isinstance(value, str) else number(value, 2)  # type: ignore[arg-type]
    return Entry(text, detail, quoted=True)


GAP = "  "
NARROWEST = 10  # characters of a column of words
LATEX_SIGNS = {
    "\\": r"\textbackslash{}",
    "_": r"\_",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def as_text(table: Table, width: int = 80) -> str:
    """Plain text, details below their figures, words wrapped until the lines fit."""
    widths = _widths(table, width)
    lines = [*textwrap.wrap(table.title, width), ""]
    lines += _row(
        [textwrap.wrap(column.heading, size) for column, size in zip(table.columns, widths, strict=True)],
        table.columns,
        widths,
    )
    rule = "-" * (sum(widths) + len(GAP) * (len(widths) - 1))
    for section in table.sections:
        lines += [rule, *textwrap.wrap(section.title, width)]
        for row in section.rows:
            lines += _row([_lines(entry, size) for entry, size in zip(row, widths, strict=True)], table.columns, widths)
    lines.append(rule)
    for note in table.notes:
        lines += textwrap.wrap(note, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines) + "\n"


def as_markdown(table: Table, width: int = 80) -> str:
    """A table as GitHub shows it; quoted figures are in italics and their rows say so."""

    def entry(item: Entry) -> str:
        text = " ".join(part for part in (item.text, item.detail) if part).replace("|", r"\|").replace("*", r"\*")
        return f"*{text}*" if item.quoted and text else text

    lines = [f"**{table.title}**", "", _bar(column.heading for column in table.columns)]
    lines.append(_bar("---" if column.words else "---:" for column in table.columns))
    for section in table.sections:
        if section.title:
            lines.append(_bar([f"**{section.title}**", *[""] * (len(table.columns) - 1)]))
        lines += [_bar(map(entry, _labelled(section, row))) for row in section.rows]
    notes = ["- " + note.replace("*", r"\*") for note in table.notes]
    return "\n".join([*lines, "", *notes]) + "\n"


def as_latex(table: Table, width: int = 80) -> str:
    """A `tabular` for booktabs; quoted figures are in italics and their rows say so."""

    def entry(item: Entry) -> str:
        text = "--" if item.text == "-" else _escaped(item.text)
        text += rf" {{\scriptsize {_escaped(item.detail)}}}" if item.detail else ""
        return rf"\textit{{{text}}}" if item.quoted and text else text

    lines = [
        rf"% {table.title}",
        rf"\begin{{tabular}}{{{''.join('l' if column.words else 'r' for column in table.columns)}}}",
        r"\toprule",
    ]
    lines.append(" & ".join(_escaped(column.heading) for column in table.columns) + r" \\")
    for section in table.sections:
        lines.append(r"\midrule")
        if section.title:
            lines.append(rf"\multicolumn{{{len(table.columns)}}}{{l}}{{\textbf{{{_escaped(section.title)}}}}} \\")
        lines += [" & ".join(map(entry, _labelled(section, row))) + r" \\" for row in section.rows]
    notes = [rf"\par\footnotesize {_escaped(note)}" for note in table.notes]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", *notes]) + "\n"


def as_html(table: Table, width: int = 80) -> str:
    """A piece of a page: quoted figures have a class of their own and their rows say so,
    and no text is taken for markup.
    """

    def cell(item: Entry, column: Column) -> str:
        kind = f"{'words' if column.words else 'num'}{' quoted' * item.quoted}"
        detail = f" <small>{escape(item.detail)}</small>" if item.detail else ""
        return f'<td class="{kind}">{escape(item.text)}{detail}</td>'

    lines = [f'<div class="scroll"><table><caption>{escape(table.title)}</caption>', "<thead><tr>"]
    lines += [
        f'<th scope="col" class="{"words" if column.words else "num"}">{escape(column.heading)}</th>'
        for column in table.columns
    ]
    lines.append("</tr></thead>")
    for section in table.sections:
        lines.append("<tbody>")
        if section.title:
            title = f"<span>{escape(section.title)}</span>"
            lines.append(f'<tr class="section"><th scope="rowgroup" colspan="{len(table.columns)}">{title}</th></tr>')
        for row in section.rows:
            entries = zip(_labelled(section, row), table.columns, strict=True)
            lines.append(f"<tr>{''.join(cell(item, column) for item, column in entries)}</tr>")
        lines.append("</tbody>")
    notes = [f"<li>{html_text(note)}</li>" for note in table.notes]
    return "\n".join([*lines, "</table></div>", *(["<ul>", *notes, "</ul>"] if notes else [])]) + "\n"


def html_text(text: str) -> str:
    """A sentence for a page; what stands in backticks is code there."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def as_json(table: Table, width: int = 80) -> str:
    """One object: the entries as they are shown, and the records behind the measured ones."""
    return to_json(asdict(table)) + "\n"


FORMATS: dict[str, Callable[[Table, int], str]] = {
    "text": as_text,
    "markdown": as_markdown,
    "latex": as_latex,
    "html": as_html,
    "json": as_json,
}


def _labelled(section: Section, row: Sequence[Entry]) -> list[Entry]:
    """The row with its label saying that it is quoted, for readers who see it without the section's title."""
    return [Entry(f"{row[0].text} (quoted)", row[0].detail), *row[1:]] if section.quoted else list(row)


def _bar(items) -> str:
    return "| " + " | ".join(items) + " |"


def _escaped(text: str) -> str:
    return "".join(LATEX_SIGNS.get(sign, sign) for sign in text)


def _lines(entry: Entry, size: int) -> list[str]:
    return textwrap.wrap(entry.text, size) + textwrap.wrap(entry.detail, size)


def _row(blocks: Sequence[Sequence[str]], columns: Sequence[Column], widths: Sequence[int]) -> list[str]:
    """The lines of one row of blocks of lines, words to the left and figures to the right."""
    lines = []
    for i in range(max(map(len, blocks))):
        parts = [block[i] if i < len(block) else "" for block in blocks]
        padded = [
            f"{part:<{size}}" if column.words else f"{part:>{size}}"
            for part, column, size in zip(parts, columns, widths, strict=True)
        ]
        lines.append(GAP.join(padded).rstrip())
    return lines


def _widths(table: Table, width: int) -> list[int]:
    """Figures get the width they need; words share what is left, the widest giving way first."""
    rows = [row for section in table.sections for row in section.rows]
    widths = []
    for i, column in enumerate(table.columns):
        longest_word = max(map(len, column.heading.split()), default=0)
        widths.append(max([longest_word, *(len(part) for row in rows for part in (row[i].text, row[i].detail))]))
    room = width - len(GAP) * (len(widths) - 1)
    while sum(widths) > room:
        wide = [i for i, column in enumerate(table.columns) if column.words and widths[i] > NARROWEST]
        if not wide:
            break
        widths[max(wide, key=lambda i: widths[i])] -= 1
    return widths
