"""Which programs there are for a source of episodes, whose they are, and whether they may run outside the sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from visualpatchworld.baselines.record import read_record
from visualpatchworld.program.program import Program, read_program

PROGRAM = "world_model.py"
OURS = "vpw"


@dataclass(frozen=True)
class MethodProgram:
    """A method and the file of its program; none where the method needs no program."""

    method: str
    path: Path | None = None
    sandboxed: bool = False

    @cached_property
    def program(self) -> Program | None:
        return None if self.path is None else Program(read_program(self.path), self.path)

    @property
    def written_by(self) -> str:
        """Model and budget, where a language model wrote the program and nobody has edited it since."""
        if self.path is None or self.program is None or not self.sandboxed:
            return ""
        record = read_record(self.path.parent)
        return record.label if record is not None and record.program == self.program.text else ""


def find_programs(programs: Path, domain: str, source: str) -> list[MethodProgram]:
    """Programs by the names of their folders, ours first: SOURCE, SOURCE-SKETCH, and METHOD-DOMAIN, which a language model wrote."""
    found = []
    for path in sorted(programs.glob(f"*/{PROGRAM}")):
        folder = path.parent.name
        if folder == source:
            found.append(MethodProgram(OURS, path, sandboxed=False))
        elif folder.startswith(f"{source}-"):
            found.append(MethodProgram(folder.removeprefix(f"{source}-"), path, sandboxed=False))
        elif folder.endswith(f"-{domain}"):
            found.append(MethodProgram(folder.removesuffix(f"-{domain}"), path, sandboxed=True))
    return sorted(found, key=lambda program: (program.method != OURS, program.method))
