"""Programs that a language model wrote, read and never run, with who wrote them."""

from __future__ import annotations

from pathlib import Path

from visualpatchworld.baselines.record import read_record
from visualpatchworld.program.program import Program, read_program


def read_written(path: Path) -> tuple[Program | None, str]:
    """A model's program, None where its search ended without one, and who wrote it: nobody known unless a record has that very text."""
    record = read_record(path.parent)
    program = None if record is not None and record.program is None else Program(read_program(path), path)
    text = None if program is None else program.text
    return program, record.label if record is not None and record.program == text else ""
