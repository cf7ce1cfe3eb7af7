"""The evidence of level 1 as a page shows it: forms against probes, and for each rival what speaks against it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from visualpatchworld.induction.refutation import refutation
from visualpatchworld.report.record import BadRecord, CandidateRecord, InductionRecord, VerdictRecord


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
