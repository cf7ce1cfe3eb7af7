"""The method on one page for a scene: experiments choose the form,
rollouts fit its constants, and the program is written down.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from visualpatchworld import __version__
from visualpatchworld.domain import Domain
from visualpatchworld.errors import VpwError
from visualpatchworld.files import make_folder, to_json, write_text
from visualpatchworld.induction.blackbox import BlackBox, black_box, pixel_box
from visualpatchworld.induction.fit import Fit, fit
from visualpatchworld.induction.loss import polish_over, search_over
from visualpatchworld.induction.saved import PROGRAM, RECORD
from visualpatchworld.induction.select import Evidence, select
from visualpatchworld.induction.windows import (
    ErrorTable,
    beginnings,
    cut_windows,
    errors_by_horizon,
    joined,
    split_trajectories,
    trajectories_of,
    trajectories_seen,
    window_length,
)
from visualpatchworld.laws.form import Form
from visualpatchworld.program.equations import Equations
from visualpatchworld.program.program import Program
from visualpatchworld.program.source import emit, unfitted
from visualpatchworld.scene.calibrate import extractor
from visualpatchworld.scene.schema import Source
from visualpatchworld.simulator import Constants
from visualpatchworld.trace.episode import Episode
from visualpatchworld.world.trajectory import Trajectory

VALIDATION_SHARE = 0.2
NO_ERRORS: Mapping[str, float] = MappingProxyType({})  # of states that are given, not read
SIGMAS = 4.0  # a start that was read a little wrong leads to larger errors: so many reading errors are allowed for
NUM_WINDOWS = 96  # of the planner's horizon, for training and as many for validation

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Induction:
    """A program and how it came about."""

    sketch: Form
    evidence: Evidence | None  # none where the sketch was named, not chosen
    fit: Fit
    program: Program
    errors: ErrorTable
    seconds: float
    domain: str  # its name

    @property
    def equations(self) -> Equations:
        """The program as equations; laws that are functions stay calls of them."""
        return self.program.equations()

    def save(self, folder: Path | str) -> Path:
        """Write the program and its record into a folder, as `vpw induce` does; `vpw.load` reads both."""
        path = make_folder(Path(folder)) / PROGRAM
        write_text(path, self.program.text)
        write_text(path.with_name(RECORD), to_json(_summary(self.domain, self, str(path)), indent=2) + "\n")
        return path.parent

    def __repr__(self) -> str:
        return (
            f"<Induction of {self.sketch.name}: {len(self.fit.values)} constants in {self.seconds:.0f} s; "
            "print it for what it found>"
        )

    def __str__(self) -> str:
        """The form, its constants with their standard errors, and the errors on validation episodes, a line each."""
        units = {name: constant.unit for name, constant in self.sketch.constants.items()}
        lines = [self.sketch.title]
        for name, value in self.fit.values.items():
            error = self.fit.errors.get(name)
            spread = (
                "not determined by the data"
                if name in self.fit.undetermined
                else ""
                if error is None
                else f"+- {error:.1g}"
            )
            lines.append(f"  {name} = {value:.7g} {units[name]}  {spread}".rstrip())
        for quantity, by_horizon in self.errors.items():
            steps, row = list(by_horizon.items())[-1]
            lines.append(f"  median {quantity} after {steps} steps, on validation episodes: {row['median']:.2g}")
        return "\n".join(lines)


def induce(
    domain: Domain,
    box: BlackBox,
    recordings: Sequence[Trajectory],
    *,
    seed: int,
    sketch: str | None = None,
    thorough: bool = False,
    reading_errors: Mapping[str, float] = NO_ERRORS,
    progress: Progress = lambda _: None,
) -> Induction:
    """Level 1 on the black box (unless a sketch is named), level 2 on
    the recordings, then the program with what is known of its errors.
    """
    began = time.perf_counter()
    rng = np.random.default_rng(seed)
    if sketch is None:
        evidence = choose_form(domain, box, rng, thorough=thorough, reading_errors=reading_errors, progress=progress)
        form = evidence.winner.sketch
        warm_starts = [evidence.winner.fit.values] if evidence.winner.fit else []
        settled = evidence.winner.explained == len(evidence.probes) > 0 and not reading_errors
    else:
        settled, evidence, form, warm_starts = False, None, domain.family(box.look().objects).named(sketch), []

    train, validation = split_trajectories(recordings, VALIDATION_SHARE, rng)
    # Experiments go where episodes do not: to the edge of a grip, say, which decides constants that nothing else does.
    # They are taken from their beginning, at rest, and whole: what happens early (do the fingers come down around the
    # block?) shows late (is it lifted?).
    experiments = () if evidence is None else evidence.recordings
    length = window_length(domain.horizon, train, experiments)
    windows = joined(cut_windows(train, length, NUM_WINDOWS, rng), *beginnings(experiments, length))
    found = fit(
        unfitted(form),
        form.constants,
        windows,
        cut_windows(validation, length, NUM_WINDOWS, rng),
        domain.scene.state_space,
        rng,
        polish_over(domain.horizon) if settled else search_over(domain.horizon, draw_every_option=not warm_starts),
        warm_starts,
        lambda stage: progress(f"fit: {stage}"),
        noisy=bool(reading_errors),
    )
    draft = emit(form, found.values, found.errors)
    errors = errors_by_horizon(draft, validation, domain, rng)
    header = _header(domain, form, evidence, errors, recordings, seed)
    program = emit(form, found.values, found.errors, header)
    return Induction(form, evidence, found, program, errors, time.perf_counter() - began, domain.name)


def choose_form(
    domain: Domain,
    box: BlackBox,
    rng: np.random.Generator,
    *,
    thorough: bool = False,
    reading_errors: Mapping[str, float] = NO_ERRORS,
    progress: Progress = lambda _: None,
) -> Evidence:
    """Level 1 alone; what is read with an error can not be explained better than that."""
    family = domain.family(box.look().objects)
    return select(
        box,
        family,
        family.probes(rng),
        domain.scene.state_space,
        domain.error_metrics,
        {
            name: tolerance + SIGMAS * reading_errors.get(name, 0.0)
            for name, tolerance in domain.probe_tolerances.items()
        },
        rng,
        lambda name: progress(f"probe: {name}"),
        thorough=thorough,
        noisy=bool(reading_errors),
    )


def _header(
    domain: Domain,
    sketch: Form,
    evidence: Evidence | None,
    errors: ErrorTable,
    recordings: Sequence[Trajectory],
    seed: int,
) -> str:
    """Where the program comes from, for whoever opens the file."""
    digest = hashlib.sha256(
        b"".join(np.ascontiguousarray(recording.observations).tobytes() for recording in recordings)
    ).hexdigest()[:12]
    lines = [f"{domain.title}: {sketch.title}", ""]
    if evidence is None:
        lines.append("Form: named, not chosen by probes.")
    else:
        lines.append(f"Form: {sketch.name}; it explains {evidence.winner.explained} of {len(evidence.probes)} probes.")
    if errors:
        first, last = (pick(next(iter(errors.values()))) for pick in (min, max))
        medians = [
            f"{name} {rows[first]['median']:.2g} and {rows[last]['median']:.2g}" for name, rows in errors.items()
        ]
        lines.append(f"Median validation error after {first} and {last} steps: {', '.join(medians)}.")
    lines.append(
        f"Fitted to {len(recordings)} episodes (sha256 {digest}), seed {seed}, visualpatchworld {__version__}."
    )
    return "\n".join(lines) + "\n"


def summary(domain: Domain, induction: Induction, path: str | None) -> dict[str, Any]:
    """The induction as plain data: the fields of `vpw induce --json`."""
    return _summary(domain.name, induction, path)


def _summary(domain: str, induction: Induction, path: str | None) -> dict[str, Any]:
    constants = induction.sketch.constants
    return {
        "domain": domain,
        "sketch": induction.sketch.name,
        "choices": dict(induction.sketch.choices),
        "constants": {
            name: {"value": value, "stderr": induction.fit.errors.get(name), "unit": constants[name].unit}
            for name, value in induction.fit.values.items()
        },
        "undetermined": list(induction.fit.undetermined),
        "candidates": [] if induction.evidence is None else evidence_rows(induction.evidence),
        "unexplained_probes": [] if induction.evidence is None else list(induction.evidence.unexplained),
        "probe_tolerances": {} if induction.evidence is None else dict(induction.evidence.tolerances),
        "rollout_error": induction.errors,
        "program": path,
        "program_hash": induction.program.hash,
        "seconds": round(induction.seconds, 1),
    }


def evidence_rows(evidence: Evidence) -> list[dict[str, Any]]:
    """The evidence table as plain data, best candidate first."""
    return [
        {
            "sketch": candidate.sketch.name,
            "choices": dict(candidate.sketch.choices),
            "explained": candidate.explained,
            "probes": len(evidence.probes),
            "simplicity": candidate.simplicity,
            "constants": {} if candidate.fit is None else dict(candidate.fit.values),
            "refuted_by": candidate.refuted_by,
            "set_aside": candidate.obstacle or None,
            "verdicts": [
                {
                    "probe": verdict.probe,
                    "asks": verdict.tests,
                    "explained": verdict.explained,
                    "errors": dict(verdict.errors),
                }
                for verdict in candidate.verdicts
            ],
        }
        for candidate in evidence.ranked
    ]


def check_view(view: Source) -> None:
    """Refuse a way of seeing that gives no numbers, before any long work begins."""
    if view == "vlm":
        raise VpwError("A vision-language model's reading has no numbers to fit to; use the view oracle or tool.")


def induce_from(
    domain: Domain,
    constants: Constants,
    episodes: Sequence[Episode],
    *,
    view: Source = "oracle",
    seed: int,
    sketch: str | None = None,
    thorough: bool = False,
    progress: Progress = lambda _: None,
) -> Induction:
    """Both levels, on a black box with these constants and on all of
    these episodes; with `tool`, only pictures are seen of either.
    """
    check_view(view)
    if view == "oracle":
        box = black_box(domain, constants)
        return induce(
            domain, box, trajectories_of(episodes), seed=seed, sketch=sketch, thorough=thorough, progress=progress
        )
    progress("calibrating")
    tool = extractor(domain, constants)
    recordings = []
    for number, recording in enumerate(trajectories_seen(episodes, tool)):
        progress(f"reading episode {number + 1} of {len(episodes)}")
        recordings.append(recording)
    return induce(
        domain,
        pixel_box(domain, constants, tool),
        recordings,
        reading_errors=tool.errors(domain.error_metrics),
        seed=seed,
        sketch=sketch,
        thorough=thorough,
        progress=progress,
    )
