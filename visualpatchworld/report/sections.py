"""Sections of a run's page as plain data: the evidence, the listing of the program,
what was measured, what it predicts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from visualpatchworld.domain import Domain
from visualpatchworld.errors import UnknownName, VpwError
from visualpatchworld.paper.cell import Outcome
from visualpatchworld.paper.record import BadRecord, CandidateRecord, InductionRecord, VerdictRecord
from visualpatchworld.paper.results import Result, condition_title
from visualpatchworld.paper.task import Summary, summarize
from visualpatchworld.program.program import Program
from visualpatchworld.program.sandbox import Sandbox
from visualpatchworld.report.page import Chart, Curve, svg
from visualpatchworld.trace.episode import Episode, Traces, for_tasks


class NoRun(VpwError):
    """A folder that no run has filled, or that does not say which domain it is about."""


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


def coloured(program: Program) -> Markup:
    """The text with a class for every kind of word; whatever is in it stays text."""
    return Markup(highlight(program.text, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True)))


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
