"""Many mutations in a row, each with a number of its own that repeats it."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from fuzz.attempt import FINE, attempt
from fuzz.inputs import make_inputs
from fuzz.kinds import EVERYTHING, PLAN, Arguments, Kind, copy_inputs


@dataclass(frozen=True)
class Outcome:
    """One mutation: what was damaged, which command met it, how it ended, and what was wrong with that."""

    number: int
    kind: str
    said: str
    command: tuple[str, ...]
    refused: bool
    complaints: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        lines = "\n".join(complaint.rstrip() for complaint in self.complaints)
        return f"mutation {self.number} ({self.kind}; {self.said})\n  vpw {' '.join(self.command)!a:.300}\n{lines}"


def prepare(folder: Path) -> Path:
    """The good inputs, among them the results of a plan that can go on, made by the command itself."""
    make_inputs(folder)
    made = attempt((*PLAN, "--program", "program.py", "--traces", "traces.h5", "--results", "kept"), folder)
    assert made.code == FINE, made
    return folder


def run_campaign(
    pristine: Path, scratch: Path, numbers: Sequence[int], kinds: Sequence[Kind | Arguments] = EVERYTHING
) -> Iterator[Outcome]:
    """Each mutation of one of these kinds in a fresh copy of the inputs."""
    for number in numbers:
        rng = Random(number)
        kind = rng.choices(kinds, [kind.weight for kind in kinds])[0]
        folder = copy_inputs(pristine, scratch / str(number))
        began = time.perf_counter()
        said, command = kind.mutate(folder, rng)
        done = attempt(command, folder)
        complaints = tuple(done.complaints(command, folder))
        with contextlib.suppress(OSError):
            shutil.rmtree(folder)
        yield Outcome(number, kind.name, said, command, done.code != FINE, complaints, time.perf_counter() - began)


def summary(outcomes: Sequence[Outcome]) -> str:
    """One line: how many of which kind, how many were refused, how many failed."""
    kinds = ", ".join(f"{count} {name}" for name, count in Counter(outcome.kind for outcome in outcomes).most_common())
    refused, failed = (
        sum(outcome.refused for outcome in outcomes),
        sum(bool(outcome.complaints) for outcome in outcomes),
    )
    longest = max((outcome.seconds for outcome in outcomes), default=0.0)
    return (
        f"{len(outcomes)} mutations, {refused} refused in a sentence, {failed} failed; longest {longest:.1f} s; {kinds}"
    )
