"""What an exhibit is measured of: a domain, the test episodes of a source, and one method's program."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from visualpatchworld.domain import Domain
from visualpatchworld.errors import VpwError
from visualpatchworld.induction.windows import Recording, recordings_of
from visualpatchworld.program.program import Program
from visualpatchworld.simulator import Constants
from visualpatchworld.trace.episode import Episode
from visualpatchworld.trace.split import for_tasks

SIGNIFICANT_DIGITS = 6


@dataclass(frozen=True, kw_only=True)
class Subject:
    """The same for every kind of exhibit; a kind takes from it what it needs."""

    domain: Domain
    constants: Constants  # of the simulator that made the episodes
    episodes: Sequence[Episode]  # all of a source; exhibits are measured on the test episodes
    source: str
    episodes_seed: int | None = None  # that the episodes were collected with, where it is known
    method: str
    program: Program | None = None
    sandboxed: bool = False  # a model's program runs nowhere else
    written_by: str = ""  # model and budget, where a language model wrote the program
    seed: int = 0
    frames: int = 500  # how many pictures are looked at, where that is what is measured

    @property
    def held_out(self) -> Sequence[Episode]:
        return for_tasks(self.episodes)

    @property
    def recordings(self) -> list[Recording]:
        """The test episodes without what only a simulator knows."""
        return recordings_of(self.held_out)

    @property
    def fingerprint(self) -> str:
        """Of the test episodes."""
        return hashlib.sha256(b"".join(episode.states.tobytes() for episode in self.held_out)).hexdigest()[:12]

    def needed_program(self) -> Program:
        """The program, or a sentence saying how to give one."""
        if self.program is None:
            raise VpwError(f"This needs a program; give --program FILE.py (`vpw induce {self.domain.name}` makes one).")
        return self.program


def plain(values: Any) -> Any:
    """Numbers as JSON keeps them: rounded, in nested lists, null where they are not finite."""
    if np.ndim(values):
        return [plain(value) for value in values]
    number = float(values)
    return float(f"{number:.{SIGNIFICANT_DIGITS}g}") if np.isfinite(number) else None
