"""Exhibits by their kinds: what is measured of a subject and is no cell."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from visualpatchworld.errors import UnknownName
from visualpatchworld.paper.cell import source_title, versions
from visualpatchworld.paper.exhibit import Exhibit, read_exhibits, write_exhibit

if TYPE_CHECKING:  # reading exhibits needs nothing that measures
    from visualpatchworld.paper.exhibit import Subject

__all__ = ["Exhibit", "find_exhibits", "measure_exhibit", "read_exhibits", "write_exhibit"]


# Of what a kind is measured: of a `program`, or of the `tool` path, which needs none; and the module that measures it.
KINDS = {
    "audit": ("tool", "perception"),
    "motion": ("program", "prediction"),
    "rollout": ("program", "prediction"),
    "smoothness": ("program", "smoothness"),
    "transition": ("program", "prediction"),
}


def find_exhibits() -> dict[str, str]:
    """Every kind of exhibit that can be measured, and of what."""
    return {kind: of for kind, (of, _) in KINDS.items()}


def measure_exhibit(kind: str, subject: Subject) -> Exhibit:
    """Measure one exhibit; nothing is written."""
    if kind not in KINDS:
        raise UnknownName("exhibit", kind, KINDS)
    # Imported here: whoever only reads exhibits needs nothing that measures.
    measured = getattr(importlib.import_module(f"{__name__}.{KINDS[kind][1]}"), f"measure_{kind}")(subject)
    return Exhibit(
        kind=kind,
        domain=subject.domain.name,
        title=source_title(subject.domain, subject.source),
        source=subject.source,
        method=subject.method,
        program="" if subject.program is None else subject.program.hash,
        written_by=subject.written_by,
        seed=subject.seed,
        episodes=subject.fingerprint,
        versions=versions(),
        data=measured.data,
        pictures=measured.pictures,
    )
