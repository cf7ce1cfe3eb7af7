"""The program as a page shows it: coloured text, and its constants in a table."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from visualpatchworld.domain import Domain
from visualpatchworld.errors import UnknownName
from visualpatchworld.program.program import Program
from visualpatchworld.report.record import InductionRecord


@dataclass(frozen=True)
class ConstantRow:
    """A fitted constant as it stands in the table."""

    name: str
    value: str
    error: str
    unit: str
    meaning: str
    determined: bool


def coloured(program: Program) -> Markup:
    """The text with a class for every kind of word; whatever is in it stays text."""
    return Markup(highlight(program.text, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True)))


def constant_rows(induction: InductionRecord, domain: Domain) -> list[ConstantRow]:
    """The constants with unit, standard error and what the sketch says they are."""
    try:
        meanings = {name: constant.doc for name, constant in domain.family().named(induction.sketch).constants.items()}
    except UnknownName:
        meanings = {}  # a sketch that this version no longer has
    return [
        ConstantRow(
            name,
            f"{row.value:.7g}",
            "" if row.stderr is None else f"{row.stderr:.1g}",
            row.unit,
            meanings.get(name, ""),
            name not in induction.undetermined,
        )
        for name, row in induction.constants.items()
    ]
