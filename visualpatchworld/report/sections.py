"""Sections of a run's page as plain data: the evidence, the listing of the program, what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from visualpatchworld.domain import Domain
from visualpatchworld.errors import UnknownName
from visualpatchworld.induction.select import refutation
from visualpatchworld.paper.cell import Outcome
from visualpatchworld.paper.induction_record import BadRecord, CandidateRecord, InductionRecord, VerdictRecord
from visualpatchworld.paper.results import Result, condition_title
from visualpatchworld.paper.task import Summary, summarize
from visualpatchworld.program.program import Program


@dataclass(frozen=True)
class Row:
    """A form that was tried; `why` says what it was refuted by, and nothing where it was chosen."""

    candidate: CandidateRecord
    chosen: bool
    why: str


@dataclass(frozen=True)
class Evidence:
    """The table of level 1, the chosen form first, and the forms that never had to be tried."""

    probes: tuple[VerdictRecord, ...]  # in the chosen form's words, for their names and what they ask for
    rows: tuple[Row, ...]
    set_aside: tuple[CandidateRecord, ...]
    unexplained: tuple[str, ...]

    @property
    def num_forms(self) -> int:
        return len(self.rows) + len(self.set_aside)


def evidence_of(induction: InductionRecord, tolerances: Mapping[str, float]) -> Evidence:
    """The evidence in a record; `BadRecord` where the form was named, not chosen. What the record says was tolerated comes first."""
    tolerances = {**tolerances, **induction.probe_tolerances}
    tried = [candidate for candidate in induction.candidates if candidate.verdicts]
    if not tried:
        raise BadRecord(f"The form {induction.sketch} was named, not chosen by probes, so there is no evidence to show.")
    rows = [Row(candidate, i == 0, "" if i == 0 else why_not(candidate, tolerances)) for i, candidate in enumerate(tried)]
    aside = [candidate for candidate in induction.candidates if not candidate.verdicts]
    return Evidence(tried[0].verdicts, tuple(rows), tuple(aside), induction.unexplained_probes)


def why_not(candidate: CandidateRecord, tolerances: Mapping[str, float]) -> str:
    """What speaks against a form that was tried and not chosen."""
    return str(refutation(candidate.verdicts, tolerances) or "explains as much, but is less simple")


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


SAME_TASKS = ("domain", "source", "metric", "offset", "budget", "seed", "tasks", "vary")  # fields that a cell shares with its floors


@dataclass(frozen=True)
class Measured:
    """A planned cell and its floors, as far as they are there."""

    result: Result
    zero: Result | None
    random: Result | None

    @property
    def title(self) -> str:
        return condition_title(self.result.cell.observe, self.result.cell.score)

    @property
    def summary(self) -> Summary:
        return summarize(self.result.outcomes)

    @property
    def strips(self) -> list[Strip]:
        """A row of marks for the program, then one for each floor."""
        rows = (("planned", self.result), ("resting", self.zero), ("acting at random", self.random))
        return [Strip(name, in_order(part.outcomes)) for name, part in rows if part is not None]

    @property
    def floors(self) -> dict[str, float]:
        """Success in percent without planning, as far as it was measured."""
        return {strip.name: strip.success for strip in self.strips[1:]}


@dataclass(frozen=True)
class Strip:
    """Outcomes of the same tasks, one way of acting."""

    name: str
    outcomes: tuple[Outcome, ...]

    @property
    def success(self) -> float:
        return summarize(self.outcomes).success


def in_order(outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    return tuple(sorted(outcomes, key=lambda outcome: outcome.task))


def measured_with(results: Sequence[Result], program_hash: str | None) -> list[Measured]:
    """The cells of one program (of any where none is named), the fullest and newest first."""
    planned = [
        result for result in results if result.cell.score not in ("none", "simulator") and program_hash in (None, result.cell.program)
    ]
    ranked = sorted(planned, key=lambda result: (result.rank, result.cell.file_name), reverse=True)
    return [Measured(result, _floor(results, result, "zero"), _floor(results, result, "random")) for result in ranked]


def _floor(results: Sequence[Result], planned: Result, method: str) -> Result | None:
    for result in results:
        if result.cell.method == method and all(getattr(result.cell, name) == getattr(planned.cell, name) for name in SAME_TASKS):
            return result
    return None
