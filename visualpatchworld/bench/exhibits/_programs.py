"""Which programs there are for a source of episodes, whose they are, and whether they may run outside the sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PROGRAM = "world_model.py"
OURS = "vpw"


@dataclass(frozen=True)
class Found:
    """A method's program."""

    method: str
    path: Path
    sandboxed: bool


def find_programs(programs: Path, domain: str, source: str) -> list[Found]:
    """Programs by the names of their folders, ours first: SOURCE, SOURCE-SKETCH, and METHOD-DOMAIN, which a language model wrote."""
    found = []
    for path in sorted(programs.glob(f"*/{PROGRAM}")):
        folder = path.parent.name
        if folder == source:
            found.append(Found(OURS, path, sandboxed=False))
        elif folder.startswith(f"{source}-"):
            found.append(Found(folder.removeprefix(f"{source}-"), path, sandboxed=False))
        elif folder.endswith(f"-{domain}"):
            found.append(Found(folder.removesuffix(f"-{domain}"), path, sandboxed=True))
    return sorted(found, key=lambda program: (program.method != OURS, program.method))
