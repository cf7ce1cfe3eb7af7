"""`vpw scene`: one moment as a scene graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from visualpatchworld.cli._options import AsJson, DomainName, View
from visualpatchworld.cli._vlm import CalibrationFile, Calls, EndpointUrl, ModelName, Record, Replay, vlm_extractor
from visualpatchworld.domain import load_domain
from visualpatchworld.errors import VpwError


def scene(
    domain: DomainName,
    moment: Annotated[
        str, typer.Argument(metavar="FILE.h5:ROW|IMAGE.png", help="A row of a trace file, counted from 0; with vlm a picture.")
    ],
    via: View,
    endpoint: EndpointUrl = None,
    model: ModelName = None,
    record: Record = None,
    replay: Replay = None,
    calls: Calls = 3,
    calibration: CalibrationFile = None,
    as_json: AsJson = False,
) -> None:
    """Print the scene graph of one moment.

    Example: vpw scene DOMAIN episodes.h5:120 --via oracle

    Example: vpw scene DOMAIN frame.png --via vlm --endpoint URL --model NAME
    """
    from visualpatchworld.scene.picture import read_picture
    from visualpatchworld.trace.export import check_view, scene_graph
    from visualpatchworld.trace.read import read_traces

    world = load_domain(domain)
    if via == "vlm":
        extractor = vlm_extractor(world, endpoint, model, record, replay, calls, calibration)
        graph = extractor.read(read_picture(Path(moment)))
        print(json.dumps(graph.data()) if as_json else graph.text())
        return
    check_view(world, via)
    path, _, row = moment.rpartition(":")
    if not path or not row.isdecimal():
        raise VpwError(f"Say which row of which trace file, as FILE.h5:ROW, not '{moment}'.")
    traces = read_traces(Path(path), world)
    episode, step = traces.locate(int(row))
    graph = scene_graph(traces, world, episode, step, view=via)
    print(json.dumps(graph.data()) if as_json else graph.text())
