"""What a search has left behind: its record, and the program that it wrote."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from visualpatchworld.errors import VpwError
from visualpatchworld.files import from_json, read_bytes, to_json

if TYPE_CHECKING:  # records are read where no program runs, and programs load JAX
    from visualpatchworld.program.program import Program

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
        told = from_json(read_bytes(path, "record", BadRecord))
        chosen, budget = told["chosen"], told["budget"]
        program = None if chosen is None else told["candidates"][chosen]["program"]
        fields = {"model": told["model"], "calls": budget["calls"], "tokens": budget["tokens"], "program": program}
        return TypeAdapter(Record).validate_json(to_json(fields), strict=True)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise BadRecord(f"'{path}' is no record of a search as `vpw baseline` writes it; move it elsewhere.") from error


def read_written(path: Path) -> tuple[Program | None, str]:
    """A model's program, None where its search ended without one, and who wrote it: nobody known unless a record has that very text."""
    from visualpatchworld.program.program import Program, read_program

    record = read_record(path.parent)
    program = None if record is not None and record.program is None else Program(read_program(path), path)
    text = None if program is None else program.text
    return program, record.label if record is not None and record.program == text else ""
