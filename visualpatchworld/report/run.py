"""The folder of a run, part by part: only what lies in it and is of a sane size is read; and what its page shows of it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float
from markupsafe import Markup

from visualpatchworld.domain import Domain, load_domain
from visualpatchworld.errors import UnknownName, VpwError
from visualpatchworld.files import NotRegular, check_inside, from_json
from visualpatchworld.paper.cell import Outcome
from visualpatchworld.paper.record import (
    INDUCTION,
    PROGRAM,
    BadRecord,
    CandidateRecord,
    InductionRecord,
    VerdictRecord,
    read_induction,
)
from visualpatchworld.paper.results import NoResults, Result, Results, condition_title, read_results
from visualpatchworld.paper.task import Summary, summarize
from visualpatchworld.program.program import MOST_BYTES, BadProgram, Program, read_program
from visualpatchworld.program.sandbox import Sandbox
from visualpatchworld.report.page import Chart, Curve, svg
from visualpatchworld.simulator import Constants
from visualpatchworld.trace.episode import Episode, Traces, for_tasks
from visualpatchworld.trace.file import read_traces

LARGEST_JSON, LARGEST_EPISODES, LARGEST_FILM = 200_000_000, 50_000_000_000, 12_000_000  # bytes that are read of a file
EPISODES, TIMINGS = "episodes.h5", "timings.json"


class NoRun(VpwError):
    """A folder that no run has filled, or that does not say which domain it is about."""


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
        return read_program(path, Path(PROGRAM))

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


@dataclass(frozen=True)
class FormRow:
    """A form that was tried; `why` says what it was refuted by, and nothing where it was chosen."""

    candidate: CandidateRecord
    chosen: bool
    why: str


@dataclass(frozen=True)
class FormEvidence:
    """The table of level 1, the chosen form first, and the forms that never had to be tried."""

    probes: tuple[VerdictRecord, ...]  # in the chosen form's words, for their names and what they ask for
    rows: tuple[FormRow, ...]
    set_aside: tuple[CandidateRecord, ...]
    unexplained: tuple[str, ...]

    @property
    def num_forms(self) -> int:
        return len(self.rows) + len(self.set_aside)


def evidence_of(induction: InductionRecord, tolerances: Mapping[str, float]) -> FormEvidence:
    """The evidence in a record; `BadRecord` where the form was named, not chosen.
    What the record says was tolerated comes first.
    """
    tolerances = {**tolerances, **induction.probe_tolerances}
    tried = [candidate for candidate in induction.candidates if candidate.verdicts]
    if not tried:
        raise BadRecord(
            f"The form {induction.sketch} was named, not chosen by probes, so there is no evidence to show."
        )
    rows = [
        FormRow(candidate, i == 0, "" if i == 0 else candidate.why_not(tolerances)) for i, candidate in enumerate(tried)
    ]
    aside = [candidate for candidate in induction.candidates if not candidate.verdicts]
    return FormEvidence(tried[0].verdicts, tuple(rows), tuple(aside), induction.unexplained_probes)


@dataclass(frozen=True)
class ConstantRow:
    """A fitted constant as it stands in the table."""

    name: str
    value: str
    error: str
    unit: str
    meaning: str
    determined: bool


def constant_rows(induction: InductionRecord, domain: Domain) -> list[ConstantRow]:
    """The constants with unit, standard error and what the sketch says they are."""
    try:
        meanings = {name: constant.doc for name, constant in domain.family().named(induction.sketch).constants.items()}
    except UnknownName:
        meanings = {}  # a sketch that this version no longer has
    return [
        ConstantRow(
            name,
            f"{row.value:.7g}",
            "" if row.stderr is None else f"{row.stderr:.1g}",
            row.unit,
            meanings.get(name, ""),
            name not in induction.undetermined,
        )
        for name, row in induction.constants.items()
    ]


# Fields that a cell shares with its floors.
SAME_TASKS = ("domain", "source", "metric", "offset", "budget", "seed", "tasks", "vary")


@dataclass(frozen=True)
class MeasuredCell:
    """A planned cell and its floors, as far as they are there."""

    result: Result
    zero: Result | None
    random: Result | None

    @property
    def title(self) -> str:
        return condition_title(self.result.cell.observe, self.result.cell.score)

    @property
    def summary(self) -> Summary:
        return summarize(self.result.outcomes)

    @property
    def strips(self) -> list[Strip]:
        """A row of marks for the program, then one for each floor."""
        rows = (("planned", self.result), ("zero actions", self.zero), ("random actions", self.random))
        return [Strip(name, in_order(part.outcomes)) for name, part in rows if part is not None]

    @property
    def floors(self) -> dict[str, float]:
        """Success in percent without planning, as far as it was measured."""
        return {strip.name: strip.success for strip in self.strips[1:]}


@dataclass(frozen=True)
class Strip:
    """Outcomes of the same tasks, one way of acting."""

    name: str
    outcomes: tuple[Outcome, ...]

    @property
    def success(self) -> float:
        return summarize(self.outcomes).success


def in_order(outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    return tuple(sorted(outcomes, key=lambda outcome: outcome.task))


def measured_with(results: Sequence[Result], program_hash: str | None) -> list[MeasuredCell]:
    """The cells of one program (of any where none is named), the fullest and newest first."""
    planned = [
        result
        for result in results
        if result.cell.score not in ("none", "simulator") and program_hash in (None, result.cell.program)
    ]
    ranked = sorted(planned, key=lambda result: (result.rank, result.cell.file_name), reverse=True)
    return [
        MeasuredCell(result, _floor(results, result, "zero"), _floor(results, result, "random")) for result in ranked
    ]


def _floor(results: Sequence[Result], planned: Result, method: str) -> Result | None:
    for result in results:
        if result.cell.method == method and all(
            getattr(result.cell, name) == getattr(planned.cell, name) for name in SAME_TASKS
        ):
            return result
    return None


@dataclass(frozen=True)
class Stretch:
    """A piece of a test episode and what the program predicted of it from its first state alone."""

    episode: int
    step: int
    truth: Float[np.ndarray, "H+1 S"]
    predicted: Float[np.ndarray, "H+1 S"]


def error_charts(induction: InductionRecord) -> list[Markup]:
    """One chart per quantity: the median with a band up to the 90th percentile, and the mean."""
    return [
        svg(
            Chart(
                title=f"error of {quantity}",
                x_label="steps ahead",
                lines=(
                    Curve("mean", "quiet", [(steps, row.mean) for steps, row in by_horizon.items()]),
                    Curve("median", "predicted", [(steps, row.median) for steps, row in by_horizon.items()]),
                ),
                band=[(steps, row.median, row.p90) for steps, row in by_horizon.items()],
                logarithmic=True,
            )
        )
        for quantity, by_horizon in induction.rollout_error.items()
    ]


def stretch(program: Program, traces: Traces, domain: Domain) -> Stretch:
    """The stretch of the test episodes in which most happens, predicted in the sandbox."""
    places = [
        (episode, step) for episode in for_tasks(traces.episodes) for step in range(episode.num_rows - domain.horizon)
    ]
    if not places:
        raise NoRun(f"No test episode has {domain.horizon} steps to predict.")
    spread = np.concatenate([episode.observations for episode, _ in places[:: domain.horizon]]).std(axis=0)
    episode, step = max(places, key=lambda place: _motion(*place, domain, spread))
    actions = episode.actions[step : step + domain.horizon]
    with Sandbox(program, domain.scene.state_space.names, domain.layout.action.width) as running:
        ahead = running.rollouts(episode.observations[step], actions[None])[0]
    truth = episode.observations[step : step + domain.horizon + 1]
    return Stretch(episode.index, step, truth, np.concatenate([truth[:1], ahead]))


def stretch_charts(found: Stretch, domain: Domain) -> list[Markup]:
    """One chart per number of the state that programs predict and that moves."""
    space = domain.scene.state_space
    apart = space.difference(found.predicted, found.truth)
    charts = []
    for i, field in enumerate(space):
        truth = found.truth[:, i] if field.period is None else np.unwrap(found.truth[:, i], period=field.period)
        if not field.predicted or np.ptp(truth) == 0:
            continue
        lines = (
            Curve("truth", "truth", list(enumerate(truth.tolist()))),
            Curve("predicted", "predicted dashed", list(enumerate((truth + apart[:, i]).tolist()))),
        )
        charts.append(svg(Chart(title=f"{field.name} ({field.unit})", x_label="step", lines=lines)))
    return charts


def _motion(episode: Episode, step: int, domain: Domain, spread: Float[np.ndarray, " S"]) -> float:
    """How far the state travels from here, each number in units of how far it spreads."""
    states = episode.observations[step : step + domain.horizon + 1]
    moves = np.abs(domain.scene.state_space.difference(states[1:], states[:-1])).sum(axis=0)
    return float((moves / np.where(spread > 0, spread, np.inf)).sum())
