"""Analyses by their kinds: what is measured of a measurand and is no cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from visualpatchworld.errors import UnknownName
from visualpatchworld.paper.analyses.analysis import Analysis, read_analyses, write_analysis
from visualpatchworld.paper.cell import source_title, versions

if TYPE_CHECKING:  # reading analyses needs nothing that measures
    from visualpatchworld.paper.analyses.analysis import Measurand

__all__ = ["Analysis", "find_analyses", "measure_analysis", "read_analyses", "write_analysis"]


# Of what a kind is measured: of a `program`, or of the `tool` path, which needs none.
KINDS = {"audit": "tool", "motion": "program", "rollout": "program", "smoothness": "program", "transition": "program"}


def find_analyses() -> dict[str, str]:
    """Every kind of analysis that can be measured, and of what."""
    return dict(KINDS)


def measure_analysis(kind: str, measurand: Measurand) -> Analysis:
    """Measure one analysis; nothing is written."""
    if kind not in KINDS:
        raise UnknownName("analysis", kind, KINDS)
    from visualpatchworld.paper.analyses import measure  # here: whoever only reads analyses needs nothing that measures

    measured = getattr(measure, f"measure_{kind}")(measurand)
    return Analysis(
        kind=kind,
        domain=measurand.domain.name,
        title=source_title(measurand.domain, measurand.source),
        source=measurand.source,
        method=measurand.method,
        program="" if measurand.program is None else measurand.program.hash,
        written_by=measurand.written_by,
        seed=measurand.seed,
        episodes=measurand.fingerprint,
        versions=versions(),
        data=measured.data,
        pictures=measured.pictures,
    )
