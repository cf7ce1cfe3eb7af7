"""Inducing from episodes, whether their states are told or read off their pictures."""

from __future__ import annotations

from collections.abc import Sequence

from visualpatchworld.domain import Domain
from visualpatchworld.errors import VpwError
from visualpatchworld.induction.blackbox import black_box, pixel_box
from visualpatchworld.induction.induce import Induction, Progress, induce
from visualpatchworld.induction.windows import recordings_of, recordings_seen
from visualpatchworld.scene.calibrate import extractor
from visualpatchworld.scene.schema import Source
from visualpatchworld.simulator import Constants
from visualpatchworld.trace.episode import Episode


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
    """Both levels, on a black box with these constants and on all of these episodes; with `tool`, only pictures are seen of either."""
    check_view(view)
    if view == "oracle":
        box = black_box(domain, constants)
        return induce(domain, box, recordings_of(episodes), seed=seed, sketch=sketch, thorough=thorough, progress=progress)
    progress("calibrating")
    tool = extractor(domain, constants)
    recordings = []
    for number, recording in enumerate(recordings_seen(episodes, tool)):
        progress(f"reading episode {number + 1} of {len(episodes)}")
        recordings.append(recording)
    return induce(
        domain,
        pixel_box(domain, constants, tool),
        recordings,
        reading_errors=tool.errors(domain.quantities),
        seed=seed,
        sketch=sketch,
        thorough=thorough,
        progress=progress,
    )
