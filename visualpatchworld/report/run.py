"""A run's folder as a page sees it: every part is read when it is asked for, and says in one sentence when it is not there."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from visualpatchworld.bench.results import NoResults, Results
from visualpatchworld.domain import Domain, load_domain
from visualpatchworld.errors import VpwError
from visualpatchworld.program.program import MOST_BYTES, BadProgram, Program, read_program
from visualpatchworld.report.measured import Measured, measured_with
from visualpatchworld.report.record import BadRecord, InductionRecord, read_induction
from visualpatchworld.report.sent import LARGEST_EPISODES, LARGEST_JSON, NotSent, lies_in, sent, sent_results
from visualpatchworld.simulator import Constants
from visualpatchworld.strict_json import from_json
from visualpatchworld.trace.episode import Traces
from visualpatchworld.trace.read import read_traces

PROGRAM, INDUCTION, EPISODES, TIMINGS = "world_model.py", "induction.json", "episodes.h5", "timings.json"


class NoRun(VpwError):
    """A folder that no run has filled, or that does not say which domain it is about."""


@dataclass(frozen=True)
class Run:
    """A folder that `vpw run` or `vpw induce` filled, wholly or in part."""

    folder: Path
    domain: Domain

    @property
    def name(self) -> str:
        """The folder as commands in a page call it: by its last name, since a page travels."""
        return shlex.quote(self.folder.resolve().name)

    @cached_property
    def induction(self) -> InductionRecord:
        return read_induction(sent(self.folder, self.folder / INDUCTION, LARGEST_JSON))

    @cached_property
    def program(self) -> Program:
        """The program's text; a page shows it and foresees with it in the sandbox, but never runs it here."""
        path = sent(self.folder, self.folder / PROGRAM, MOST_BYTES)
        if not path.exists():
            raise NoRun(f"There is no {PROGRAM}; `vpw run {self.domain.name} --out {self.name}` writes it.")
        return Program(read_program(path), Path(PROGRAM))

    @cached_property
    def traces(self) -> Traces:
        path = sent(self.folder, self.folder / EPISODES, LARGEST_EPISODES)
        if not path.exists():
            raise NoRun(f"There is no {EPISODES}; `vpw run {self.domain.name} --out {self.name}` collects episodes.")
        return read_traces(path, self.domain)

    @cached_property
    def results(self) -> Results:
        """The results of the folder that are of this domain."""
        found = sent_results(self.folder)
        return replace(found, results=tuple(result for result in found.results if result.cell.domain == self.domain.name))

    @cached_property
    def measured(self) -> list[Measured]:
        """What was measured with the program as it stands, else with whatever program was; `NoResults` where nothing was."""
        found = self.measured_as_it_stands or measured_with(self.results.results, None)
        if not found:
            raise NoResults(
                f"No plan has been measured yet; `vpw plan {self.domain.name} --program {self.name}/{PROGRAM} "
                f"--results {self.name}/results --video {self.name}/films` does that."
            )
        return found

    @cached_property
    def measured_as_it_stands(self) -> list[Measured]:
        try:
            return measured_with(self.results.results, self.program.hash)
        except (NoRun, NotSent, BadProgram):
            return []  # there is no program to compare with

    @property
    def edited(self) -> bool:
        """Whether someone changed the program since it was induced."""
        return self.program.hash != self.induction.program_hash

    @property
    def constants(self) -> Constants:
        """Of the simulator: those of the induction, else of the episodes, else the nominal ones."""
        try:
            settings = self.induction.settings
            return self.traces.constants if settings is None else self.domain.constants.varied(settings.constants)
        except VpwError:
            return self.domain.constants

    @property
    def films(self) -> list[Path]:
        folder = self.folder / "films"
        return sorted(folder.glob("*.mp4")) if lies_in(self.folder, folder) else []

    @property
    def seconds(self) -> dict[str, float]:
        """How long the stages took, as far as `vpw run` noted it."""
        try:
            found = from_json(sent(self.folder, self.folder / TIMINGS, LARGEST_JSON).read_bytes())
            return {str(stage): float(value) for stage, value in found.items()}
        except (OSError, ValueError, AttributeError, TypeError, NotSent):
            return {}


def read_run(folder: Path) -> Run:
    """The run in a folder, or `NoRun` where there is nothing of one."""
    if not folder.is_dir():
        raise NoRun(f"There is no folder '{folder}'; `vpw run DOMAIN --out {folder}` makes one.")
    name = _domain_name(folder)
    if name is None:
        raise NoRun(f"'{folder}' holds no run: neither a readable {INDUCTION} nor results; `vpw run DOMAIN --out {folder}` makes one.")
    return Run(folder, load_domain(name))


def _domain_name(folder: Path) -> str | None:
    try:
        return read_induction(sent(folder, folder / INDUCTION, LARGEST_JSON)).domain
    except (BadRecord, NotSent):
        results = sent_results(folder).results
        return results[0].cell.domain if results else None
