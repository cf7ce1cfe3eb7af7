"""Transition records: scene graph before, the raw actions in between, scene graph after; one episode per line of JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from visualpatchworld.domain import Domain
from visualpatchworld.errors import BadTrace, VpwError
from visualpatchworld.scene.schema import SceneGraph
from visualpatchworld.scene.tool.extractor import Extractor
from visualpatchworld.scene.vlm import VlmExtractor
from visualpatchworld.strict_json import to_json
from visualpatchworld.trace.episode import Episode, Traces

RECENT_FRAMES = 4  # from which velocities are read


def export(
    traces: Traces, domain: Domain, *, view: str, stride: int, vlm: VlmExtractor | None = None, tool: Extractor | None = None
) -> Iterator[str]:
    """One line per episode; a macro-action is exactly the `stride` raw actions between its two graphs."""
    for episode in traces.episodes:
        yield to_json(_record(traces, domain, episode, view, stride, vlm, tool)) + "\n"


def check_view(domain: Domain, view: str) -> None:
    """The path from observation to graph exists in this domain."""
    if view != "oracle":
        raise VpwError(f"The view '{view}' is not available for '{domain.name}'; available: oracle.")


def scene_graph(traces: Traces, domain: Domain, episode: Episode, step: int, *, view: str) -> SceneGraph:
    """The graph of one recorded moment, seen along one path."""
    check_view(domain, view)
    return domain.scene.oracle(episode.states[step], traces.constants, step=step)


def asked_graph(traces: Traces, episode: Episode, step: int, vlm: VlmExtractor) -> SceneGraph:
    """The graph of one recorded moment as a vision-language model sees its picture."""
    if episode.frames is None:
        raise BadTrace(f"'{traces.path}' holds no pictures; collect it with --pixels.")
    return vlm.read(episode.frames[step], step=step)


def seen_graph(traces: Traces, episode: Episode, step: int, tool: Extractor) -> SceneGraph:
    """The graph of one recorded moment as the tool path sees its picture and the few before it."""
    if episode.frames is None:
        raise BadTrace(f"'{traces.path}' holds no pictures; collect it with --pixels.")
    first = max(step - RECENT_FRAMES + 1, 0)
    return tool.read(list(episode.frames[first : step + 1]), episode.actions[first:step], step=step)


def _record(
    traces: Traces, domain: Domain, episode: Episode, view: str, stride: int, vlm: VlmExtractor | None, tool: Extractor | None
) -> dict[str, Any]:
    steps = range(0, len(episode), stride)
    if tool is not None:
        graphs = {step: seen_graph(traces, episode, step, tool).data() for step in steps}
    elif vlm is not None:
        graphs = {step: asked_graph(traces, episode, step, vlm).data() for step in steps}
    else:
        graphs = {step: scene_graph(traces, domain, episode, step, view=view).data() for step in steps}
    transitions = [
        {"t": t, "before": graphs[t], "action": episode.actions[t : t + stride].tolist(), "after": graphs[t + stride]}
        for t in steps
        if t + stride < len(episode)
    ]
    return {"domain": domain.name, "episode": episode.index, "view": view, "stride": stride, "transitions": transitions}
