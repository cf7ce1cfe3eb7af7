"""The record that a search leaves beside its program: which model wrote that program on which budget, or that nothing came out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from visualpatchworld.errors import VpwError

RECORD, PROGRAM = "search.json", "world_model.py"


class BadRecord(VpwError):
    """A record of a search that is damaged or something else."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """What a finished search tells of itself."""

    model: str
    calls: int  # that could be made
    tokens: int | None  # that could be used; no limit where None
    program: str | None  # text of the chosen program; None where none loads

    @property
    def label(self) -> str:
        """Model and budget as tables name them."""
        return f"{self.model}, {self.calls} calls" + ("" if self.tokens is None else f", {self.tokens} tokens")


def read_record(folder: Path) -> Record | None:
    """What the search in this folder tells; None where there was none."""
    path = folder / RECORD
    if not path.exists():
        return None
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        chosen, budget = told["chosen"], told["budget"]
        program = None if chosen is None else told["candidates"][chosen]["program"]
        return Record(model=told["model"], calls=budget["calls"], tokens=budget["tokens"], program=program)
    except (ValueError, KeyError, IndexError, TypeError, OSError) as error:
        raise BadRecord(f"'{path}' is no record of a search as `vpw baseline` writes it; move it elsewhere.") from error
