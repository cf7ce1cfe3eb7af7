"""One module per kind of exhibit, found by looking; each has `measure(subject) -> Measured`, and says `OF` what it is measured."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

from visualpatchworld.errors import UnknownName
from visualpatchworld.paper.cell import source_title, versions
from visualpatchworld.paper.exhibit import Exhibit, read_exhibits, write_exhibit

if TYPE_CHECKING:  # reading exhibits needs nothing that measures
    from visualpatchworld.paper.exhibit import Subject

__all__ = ["Exhibit", "find_exhibits", "measure_exhibit", "read_exhibits", "write_exhibit"]


def find_exhibits() -> dict[str, str]:
    """Every kind of exhibit that can be measured, and of what: of a `program`, or of the `tool` path, which needs none."""
    names = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    return {name: importlib.import_module(f"{__name__}.{name}").OF for name in names}


def measure_exhibit(kind: str, subject: Subject) -> Exhibit:
    """Measure one exhibit; nothing is written."""
    found = find_exhibits()
    if kind not in found:
        raise UnknownName("exhibit", kind, found)
    measured = importlib.import_module(f"{__name__}.{kind}").measure(subject)
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
