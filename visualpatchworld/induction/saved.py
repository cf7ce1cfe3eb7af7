"""What was found, in a folder: the program and its record, as `found.save` and `vpw induce` write them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from visualpatchworld.errors import VpwError
from visualpatchworld.files import from_json, read_text
from visualpatchworld.induction.front import Front, front_from
from visualpatchworld.program.equations import Equations
from visualpatchworld.program.program import BadProgram, Program, read_program
from visualpatchworld.program.symbolic import NoEquations

PROGRAM, RECORD = "world_model.py", "induction.json"


class BadFolder(VpwError):
    """A folder without a program, or with a record that cannot be read."""


@dataclass(frozen=True)
class Saved:
    """A program that was found earlier, and the record of how."""

    folder: Path
    program: Program
    record: Mapping[str, Any] = field(repr=False)

    @property
    def equations(self) -> Equations:
        """The program as it stands, as equations."""
        return self.program.equations()

    @property
    def verdict(self) -> str:
        """What the search said; empty for a domain, which has no verdict."""
        return str(self.record.get("verdict", ""))

    @property
    def why(self) -> str:
        return str(self.record.get("why", ""))

    @property
    def rivals(self) -> Front:
        """What else was considered when the program was found."""
        return front_from(self.record.get("rivals", ()))

    @property
    def edited(self) -> bool:
        """Whether the program was changed since it was found."""
        return self.program.hash != self.record.get("program_hash")


def load(folder: Path | str) -> Saved:
    """The program in a folder that `found.save`, `vpw induce` or `vpw run` filled, and its record. Nothing of it is run.

    Example: `program = vpw.load("runs/pendulum").program; program.simulate(observation, actions)`
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise BadFolder(f"There is no folder '{folder}'; `found.save({str(folder)!r})` makes one.")
    if not (folder / PROGRAM).exists():
        raise BadFolder(f"'{folder}' holds no {PROGRAM}.")
    try:
        record = from_json(read_text(folder / RECORD, "record", BadFolder))
    except ValueError:
        record = None
    if not isinstance(record, dict):
        raise BadFolder(f"'{folder / RECORD}' is damaged: it is not a JSON object.")
    return Saved(folder, read_program(folder / PROGRAM), record)


def equations_record(program: Program) -> dict[str, Any] | None:
    """The equations as plain data: lines of text, and LaTeX; None where the program cannot be read as equations."""
    try:
        found = program.equations()
    except (NoEquations, BadProgram):
        return None
    return {"text": found.lines(), "latex": found.latex}
