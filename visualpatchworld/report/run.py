"""The folder of a run, part by part: only what lies in it and is of a sane size is read."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from visualpatchworld.domain import Domain, load_domain
from visualpatchworld.errors import VpwError
from visualpatchworld.files import NotRegular, check_inside, from_json
from visualpatchworld.paper.record import INDUCTION, PROGRAM, BadRecord, InductionRecord, read_induction
from visualpatchworld.paper.results import NoResults, Results, read_results
from visualpatchworld.program.program import MOST_BYTES, BadProgram, Program, read_program
from visualpatchworld.report.sections import MeasuredCell, NoRun, measured_with
from visualpatchworld.simulator import Constants
from visualpatchworld.trace.episode import Traces
from visualpatchworld.trace.file import read_traces

LARGEST_JSON, LARGEST_EPISODES, LARGEST_FILM = 200_000_000, 50_000_000_000, 12_000_000  # bytes that are read of a file


class NotSent(VpwError):
    """A file that leads out of its folder, is no plain file, or is too large."""


def sent(folder: Path, path: Path, most_bytes: int) -> Path:
    """This path, if nothing is there or a file that may be read; otherwise `NotSent` says why not."""
    name = path.relative_to(folder)
    try:
        return check_inside(path, folder, most_bytes)
    except FileNotFoundError:
        return path
    except NotRegular as error:
        raise NotSent(f"{name} is not read: {error}.") from None
    except (OSError, RuntimeError) as error:  # links in a circle among them
        raise NotSent(
            f"{name} cannot be read: {getattr(error, 'strerror', None) or 'its links lead in a circle'}."
        ) from None


def lies_in(folder: Path, path: Path) -> bool:
    """Whether a path, whatever links lead there, ends within the folder."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # links in a circle end nowhere
        return False


def sent_results(folder: Path) -> Results:
    """The results of a folder, each file of which may be read."""
    kept = folder / "results" if (folder / "results").is_dir() else folder
    for path in kept.glob("*.jsonl"):
        sent(folder, path, LARGEST_JSON)
    return read_results(folder)


def check_records(folder: Path) -> None:
    """Every record in the folder and its folders may be read; otherwise `NotSent` names the first that may not."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() and path.is_dir():
            if not lies_in(folder, path):
                raise NotSent(f"{path.relative_to(folder)} is not read: it is a link that leads out of the folder.")
        elif path.suffix in (".json", ".jsonl"):
            sent(folder, path, LARGEST_JSON)


EPISODES, TIMINGS = "episodes.h5", "timings.json"


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
        """The program's text; a page shows it and predicts with it in the sandbox, but never runs it here."""
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
        return replace(
            found, results=tuple(result for result in found.results if result.cell.domain == self.domain.name)
        )

    @cached_property
    def measured(self) -> list[MeasuredCell]:
        """What was measured with the program as it stands, else with whatever program was;
        `NoResults` where nothing was.
        """
        found = self.measured_as_it_stands or measured_with(self.results.results, None)
        if not found:
            raise NoResults(
                f"No plan has been measured yet; `vpw plan {self.domain.name} --program {self.name}/{PROGRAM} "
                f"--results {self.name}/results --video {self.name}/films` does that."
            )
        return found

    @cached_property
    def measured_as_it_stands(self) -> list[MeasuredCell]:
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
        raise NoRun(
            f"'{folder}' holds no run: neither a readable {INDUCTION} nor results; `vpw run DOMAIN --out "
            f"{folder}` makes one."
        )
    return Run(folder, load_domain(name))


def _domain_name(folder: Path) -> str | None:
    try:
        return read_induction(sent(folder, folder / INDUCTION, LARGEST_JSON)).domain
    except (BadRecord, NotSent):
        results = sent_results(folder).results
        return results[0].cell.domain if results else None
