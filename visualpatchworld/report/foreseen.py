"""How far the program sees: its error by the number of steps, and one stretch of a test episode beside what it foresaw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from markupsafe import Markup

from visualpatchworld.domain import Domain
from visualpatchworld.program.program import Program
from visualpatchworld.program.sandbox import Sandbox
from visualpatchworld.report.chart import Chart, Line, svg
from visualpatchworld.report.record import InductionRecord
from visualpatchworld.report.run import NoRun
from visualpatchworld.trace.episode import Episode, Traces
from visualpatchworld.trace.split import for_tasks


@dataclass(frozen=True)
class Stretch:
    """A piece of a test episode and what the program foresaw of it from its first state alone."""

    episode: int
    step: int
    truth: Float[np.ndarray, "H+1 S"]
    foreseen: Float[np.ndarray, "H+1 S"]


def error_charts(induction: InductionRecord) -> list[Markup]:
    """One chart per quantity: the median with a band up to the 90th percentile, and the mean."""
    return [
        svg(
            Chart(
                title=f"error of {quantity}",
                x_label="steps ahead",
                lines=(
                    Line("mean", "quiet", [(steps, row.mean) for steps, row in by_horizon.items()]),
                    Line("median", "foreseen", [(steps, row.median) for steps, row in by_horizon.items()]),
                ),
                band=[(steps, row.median, row.p90) for steps, row in by_horizon.items()],
                logarithmic=True,
            )
        )
        for quantity, by_horizon in induction.rollout_error.items()
    ]


def stretch(program: Program, traces: Traces, domain: Domain) -> Stretch:
    """The stretch of the test episodes in which most happens, foreseen in the sandbox."""
    places = [(episode, step) for episode in for_tasks(traces.episodes) for step in range(len(episode) - domain.horizon)]
    if not places:
        raise NoRun(f"No test episode has {domain.horizon} steps to foresee.")
    spread = np.concatenate([episode.states for episode, _ in places[:: domain.horizon]]).std(axis=0)
    episode, step = max(places, key=lambda place: _motion(*place, domain, spread))
    actions = episode.actions[step : step + domain.horizon]
    with Sandbox(program, domain.scene.state_space.names, domain.layout.action.width) as running:
        ahead = running.rollouts(episode.states[step], actions[None])[0]
    truth = episode.states[step : step + domain.horizon + 1]
    return Stretch(episode.index, step, truth, np.concatenate([truth[:1], ahead]))


def stretch_charts(found: Stretch, domain: Domain) -> list[Markup]:
    """One chart per number of the state that programs predict and that moves."""
    space = domain.scene.state_space
    apart = space.difference(found.foreseen, found.truth)
    charts = []
    for i, field in enumerate(space):
        truth = found.truth[:, i] if field.period is None else np.unwrap(found.truth[:, i], period=field.period)
        if not field.predicted or np.ptp(truth) == 0:
            continue
        lines = (
            Line("truth", "truth", list(enumerate(truth.tolist()))),
            Line("foreseen", "foreseen dashed", list(enumerate((truth + apart[:, i]).tolist()))),
        )
        charts.append(svg(Chart(title=f"{field.name} ({field.unit})", x_label="step", lines=lines)))
    return charts


def _motion(episode: Episode, step: int, domain: Domain, spread: Float[np.ndarray, " S"]) -> float:
    """How far the state travels from here, each number in units of how far it spreads."""
    states = episode.states[step : step + domain.horizon + 1]
    moves = np.abs(domain.scene.state_space.difference(states[1:], states[:-1])).sum(axis=0)
    return float((moves / np.where(spread > 0, spread, np.inf)).sum())
