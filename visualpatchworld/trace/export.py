"""Transition records: scene graph before, the raw actions in between, scene graph after; one episode per line of JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from visualpatchworld.errors import BadTrace
from visualpatchworld.scene.extractor import Extractor, Moment
from visualpatchworld.strict_json import to_json
from visualpatchworld.trace.episode import Episode, Traces

RECENT_FRAMES = 4  # from which velocities are read


def export(traces: Traces, extractor: Extractor, *, view: str, stride: int) -> Iterator[str]:
    """One line per episode; a macro-action is exactly the `stride` raw actions between its two graphs."""
    for episode in traces.episodes:
        yield to_json(_record(traces, episode, extractor, view, stride)) + "\n"


def moment_of(traces: Traces, episode: Episode, step: int, extractor: Extractor) -> Moment:
    """A recorded moment with what an extractor needs of it: its state, or its picture and the few before."""
    if extractor.sees == "state":
        return Moment(state=episode.observations[step], step=step)
    if episode.frames is None:
        raise BadTrace(f"'{traces.path}' holds no pictures; collect it with --pixels.")
    first = max(step - RECENT_FRAMES + 1, 0)
    return Moment(episode.frames[first : step + 1], episode.actions[first:step], step=step)


def _record(traces: Traces, episode: Episode, extractor: Extractor, view: str, stride: int) -> dict[str, Any]:
    steps = range(0, episode.num_rows, stride)
    graphs = {step: extractor.extract(moment_of(traces, episode, step, extractor)).data() for step in steps}
    transitions = [
        {"t": t, "before": graphs[t], "action": episode.actions[t : t + stride].tolist(), "after": graphs[t + stride]}
        for t in steps
        if t + stride < episode.num_rows
    ]
    return {"domain": traces.domain, "episode": episode.index, "view": view, "stride": stride, "transitions": transitions}
