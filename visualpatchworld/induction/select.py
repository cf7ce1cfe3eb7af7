"""Level 1: every candidate is fitted to the probes alone; the
one that explains most of them wins, the simpler among equals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from jaxtyping import Float

from visualpatchworld.induction.blackbox import BlackBox
from visualpatchworld.induction.fit import Fit, fit
from visualpatchworld.induction.loss import FitStages, quick_search_over, retry_over
from visualpatchworld.induction.windows import Windows
from visualpatchworld.laws.form import Family, Form, Probe
from visualpatchworld.program.source import unfitted
from visualpatchworld.scene.state import StateSpace
from visualpatchworld.world.trajectory import Trajectory


class Judged(Protocol):
    """A form against one probe, in memory or as a record keeps it."""

    @property
    def probe(self) -> str: ...
    @property
    def explained(self) -> bool: ...
    @property
    def errors(self) -> Mapping[str, float]: ...


@dataclass(frozen=True)
class Refutation:
    """One quantity in one probe, off by more than is tolerated; both numbers are in the quantity's own unit."""

    probe: str
    quantity: str
    error: float
    tolerance: float

    def __str__(self) -> str:
        return f"refuted by '{self.probe}': {self.quantity} off by {self.error:.3g}, {self.tolerance:g} allowed"


def refutation(verdicts: Iterable[Judged], tolerances: Mapping[str, float]) -> Refutation | None:
    """Of the first verdict that is not explained, or none; only quantities that have a tolerance are judged.

    Errors are compared as multiples of their tolerances: 2 degrees and 0.1 m say nothing to each other.
    """
    for verdict in verdicts:
        if not verdict.explained:
            worst = max(tolerances, key=lambda name: _excess(verdict.errors.get(name), tolerances[name]))
            error = verdict.errors.get(worst)
            return Refutation(verdict.probe, worst, math.nan if error is None else error, tolerances[worst])
    return None


def _excess(error: float | None, tolerance: float) -> float:
    """How many times the tolerance an error is; what is missing or not a number is furthest off."""
    return math.inf if error is None or math.isnan(error) else error / tolerance


CLOSE = 2  # probes: a simpler form that explains so many fewer than the winner, or less, is tried again

Quantity = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class ProbeVerdict:
    """One candidate against one probe: the largest error of each quantity over the probe, in its own unit."""

    probe: str
    tests: str
    errors: Mapping[str, float]  # quantity -> largest error over the probe
    explained: bool


@dataclass(frozen=True)
class FormCandidate:
    """A form, what the probes made of its constants, and which
    probes it explains; one that was set aside has neither.
    """

    sketch: Form
    num_constants: int
    num_lines: int
    fit: Fit | None
    verdicts: tuple[ProbeVerdict, ...]
    obstacle: str = ""  # why it could not be tried

    @property
    def explained(self) -> int:
        return sum(verdict.explained for verdict in self.verdicts)

    @property
    def simplicity(self) -> int:
        """Higher is simpler: fewer constants, then fewer lines."""
        return -(1000 * self.num_constants + self.num_lines)

    @property
    def refuted_by(self) -> str | None:
        """The first probe it does not explain."""
        return next((verdict.probe for verdict in self.verdicts if not verdict.explained), None)


@dataclass(frozen=True)
class Evidence:
    """The whole table, candidate by probe; the recordings are of
    all experiments, also of those that no form is judged by.
    """

    probes: tuple[Probe, ...]
    recordings: tuple[Trajectory, ...]
    candidates: tuple[FormCandidate, ...]
    tolerances: Mapping[str, float]  # quantity -> largest error of an explained probe; other quantities are not judged

    def __repr__(self) -> str:
        return (
            f"<Evidence: {len(self.candidates)} candidates, {len(self.probes)} probes; {self.winner.sketch.name} wins>"
        )

    def __str__(self) -> str:
        """A line per candidate, the winner first."""
        lines = []
        for candidate in self.ranked:
            explained = f"{candidate.explained} of {len(self.probes)} probes" if candidate.verdicts else "not tried"
            why_not = candidate.obstacle or str(refutation(candidate.verdicts, self.tolerances) or "")
            lines.append(f"{candidate.sketch.name}: {explained}{why_not and ', ' + why_not}")
        return "\n".join(lines)

    @property
    def ranked(self) -> tuple[FormCandidate, ...]:
        return tuple(sorted(self.candidates, key=lambda candidate: (-candidate.explained, -candidate.simplicity)))

    @property
    def winner(self) -> FormCandidate:
        return self.ranked[0]

    @property
    def unexplained(self) -> tuple[str, ...]:
        """Probes that no candidate explains: the family lacks what they show."""
        tried = [candidate for candidate in self.candidates if candidate.verdicts]
        return tuple(
            probe.name
            for i, probe in enumerate(self.probes)
            if not any(candidate.verdicts[i].explained for candidate in tried)
        )


def select(
    box: BlackBox,
    family: Family,
    probes: Sequence[Probe],
    state_space: StateSpace,
    quantities: Mapping[str, Quantity],
    tolerances: Mapping[str, float],
    rng: np.random.Generator,
    progress: Callable[[str], None] = lambda _: None,
    *,
    thorough: bool = False,
    noisy: bool = False,
) -> Evidence:
    """Run every probe on the black box and hold the candidates of the family against what happened, simple ones first.

    A candidate that cannot win any more is set aside with the reason, unless `thorough`: one that has no fewer
    constants than a candidate that explains every probe, and one that makes a choice which failed every probe that
    tests it while another, all else equal, passed. `noisy` says that the black box is read with errors.
    """
    recordings = tuple(box.run(probe) for probe in probes)
    windows = Windows(
        starts=np.stack([recording.observations[0] for recording in recordings]),
        actions=np.stack([recording.actions for recording in recordings]),
        truths=np.stack([recording.observations[1:] for recording in recordings]),
    )
    judged = tuple(probe for probe in probes if probe.tests)
    search, retry = quick_search_over(windows.horizon), retry_over(windows.horizon)
    candidates: list[FormCandidate] = []
    warm_starts: list[Mapping[str, float | int]] = []
    # What simple forms make of the constants they share is a start for the richer ones.
    for sketch in sorted(family.forms(), key=lambda form: len(form.constants)):
        progress(sketch.name)
        reason = "" if thorough else cannot_win(sketch, candidates, judged)
        if reason:
            candidates.append(FormCandidate(sketch, len(sketch.constants), 0, None, (), reason))
            continue
        candidates.append(
            _try(sketch, windows, probes, state_space, quantities, tolerances, rng, warm_starts, search, noisy=noisy)
        )
        warm_starts = [
            best.fit.values
            for best in Evidence((), (), tuple(candidates), tolerances).ranked[:2]
            if best.fit is not None
        ]
    # A simpler form that differs in one choice may have stopped short of the winner's valley, or have been set aside
    # because of what forms without the winner's other choices made of the data: let it start from there before it is
    # refuted.
    winner = Evidence(judged, recordings, tuple(candidates), tolerances).winner
    for i, rival in enumerate(candidates):
        if winner.fit is not None and _deserves_another_try(rival, winner):
            progress(f"{rival.sketch.name} again")
            warm_starts = [winner.fit.values]
            again = _try(
                rival.sketch, windows, probes, state_space, quantities, tolerances, rng, warm_starts, retry, noisy=noisy
            )
            candidates[i] = max(again, rival, key=lambda candidate: candidate.explained)
    return Evidence(judged, recordings, tuple(candidates), tolerances)


def _deserves_another_try(rival: FormCandidate, winner: FormCandidate) -> bool:
    """Whether a form is simpler than the winner in one choice alone, and was set aside or comes close."""
    close = winner.explained - CLOSE <= rival.explained < winner.explained
    return (
        len(_differing(rival, winner)) == 1
        and rival.num_constants < winner.num_constants
        and (close or not rival.verdicts)
    )


def _differing(one: FormCandidate, other: FormCandidate) -> list[str]:
    """The axes on which two forms differ."""
    return [axis for axis, choice in one.sketch.choices.items() if other.sketch.choices[axis] != choice]


def cannot_win(sketch: Form, candidates: Sequence[FormCandidate], probes: Sequence[Probe]) -> str:
    """Why a sketch need not be tried, or nothing."""
    tried = [candidate for candidate in candidates if candidate.verdicts]
    for other in tried:
        if other.explained == len(probes) and other.num_constants <= len(sketch.constants):
            return f"{other.sketch.name} explains every probe with no more constants"
    for axis, choice in sketch.choices.items():
        testing = [i for i, probe in enumerate(probes) if probe.tests == axis]
        same = [other for other in tried if other.sketch.choices[axis] == choice]
        failed = not any(other.verdicts[i].explained for other in same for i in testing)
        # Only against a rival that is otherwise alike: what fails beside a wrong hand, say, tells nothing of the block.
        rivals = [other for other in tried if any(_differing(other, alike) == [axis] for alike in same)]
        passed = any(all(rival.verdicts[i].explained for i in testing) for rival in rivals)
        if testing and failed and passed:
            return f"'{choice}' already failed every probe that tests the {axis}"
    return ""


def _try(
    sketch: Form,
    windows: Windows,
    probes: Sequence[Probe],
    state_space: StateSpace,
    quantities: Mapping[str, Quantity],
    tolerances: Mapping[str, float],
    rng: np.random.Generator,
    warm_starts: Sequence[Mapping[str, float | int]],
    search: FitStages,
    *,
    noisy: bool,
) -> FormCandidate:
    def verdicts_on(predicted: Float[np.ndarray, "N H S"]) -> tuple[ProbeVerdict, ...]:
        verdicts = []
        for i, probe in enumerate(probes):
            if not probe.tests:
                continue
            errors = {
                name: float(np.max(quantity(predicted[i], windows.truths[i]))) for name, quantity in quantities.items()
            }
            explained = all(np.isfinite(errors[name]) and errors[name] <= tolerances[name] for name in tolerances)
            verdicts.append(ProbeVerdict(probe.name, probe.tests, errors, explained))
        return tuple(verdicts)

    def misses(predicted: Float[np.ndarray, "N H S"]) -> int:
        return sum(not verdict.explained for verdict in verdicts_on(predicted))

    program = unfitted(sketch)
    found = fit(
        program, sketch.constants, windows, windows, state_space, rng, search, warm_starts, misses=misses, noisy=noisy
    )
    assert found.predicted is not None
    return FormCandidate(
        sketch, len(sketch.constants), len(program.text.splitlines()), found, verdicts_on(found.predicted)
    )
