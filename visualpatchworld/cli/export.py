"""`vpw export`: a trace file as transition records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualpatchworld.cli._options import MOST, AsJson, DomainOption, TraceFile, View
from visualpatchworld.cli._show import progress, show
from visualpatchworld.cli._vlm import CalibrationFile, Calls, EndpointUrl, ModelName, Record, Replay, vlm_extractor
from visualpatchworld.domain import load_domain
from visualpatchworld.output import write_lines


def export(
    traces: TraceFile,
    domain: DomainOption,
    view: View,
    out: Annotated[Path, typer.Option(metavar="FILE.jsonl", help="JSON lines to write, one episode per line.")],
    stride: Annotated[int, typer.Option(min=1, max=MOST, help="Steps between the two graphs, and raw actions in a macro-action.")] = 5,
    endpoint: EndpointUrl = None,
    model: ModelName = None,
    record: Record = None,
    replay: Replay = None,
    calls: Calls = 1000,
    calibration: CalibrationFile = None,
    as_json: AsJson = False,
) -> None:
    """Export episodes as transitions: scene graph, macro-action, scene graph.

    Example: vpw export episodes.h5 --domain DOMAIN --view oracle --out transitions.jsonl
    """
    from visualpatchworld.scene.calibrate import extractor
    from visualpatchworld.trace.export import export as exported
    from visualpatchworld.trace.read import read_traces

    world = load_domain(domain)
    recorded = read_traces(traces, world)
    asked = vlm_extractor(world, endpoint, model, record, replay, calls, calibration) if view == "vlm" else None
    seeing = extractor(world, recorded.constants) if view == "tool" else None
    with progress(
        exported(recorded, world, view=view, stride=stride, vlm=asked, tool=seeing), "exporting", len(recorded.episodes)
    ) as lines:
        write_lines(out, lines)
    transitions = sum((len(episode) - 1) // stride for episode in recorded.episodes)
    result = {"domain": world.name, "view": view, "stride": stride, "episodes": len(recorded.episodes), "transitions": transitions}
    show({**result, "out": str(out)}, as_json)
