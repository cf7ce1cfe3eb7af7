"""`vpw scene`: one moment as a scene graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualpatchworld.cli._options import AsJson, DomainName, View
from visualpatchworld.cli._vlm import CalibrationFile, Calls, EndpointUrl, ModelName, Record, Replay, vlm_extractor
from visualpatchworld.domain import Domain, load_domain
from visualpatchworld.errors import VpwError
from visualpatchworld.scene.schema import SceneGraph
from visualpatchworld.strict_json import to_json


def scene(
    domain: DomainName,
    moment: Annotated[
        str, typer.Argument(metavar="FILE.h5:ROW|IMAGE.png", help="A row of a trace file, counted from 0; with tool or vlm also a picture.")
    ],
    via: View,
    endpoint: EndpointUrl = None,
    model: ModelName = None,
    record: Record = None,
    replay: Replay = None,
    calls: Calls = 3,
    calibration: CalibrationFile = None,
    overlay: Annotated[Path | None, typer.Option(metavar="FILE.png", help="With tool: the picture with the graph drawn over it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print the scene graph of one moment.

    Example: vpw scene DOMAIN episodes.h5:120 --via oracle

    Example: vpw scene DOMAIN frame.png --via tool --overlay seen.png

    Example: vpw scene DOMAIN frame.png --via vlm --endpoint URL --model NAME
    """
    from visualpatchworld.scene.picture import read_picture
    from visualpatchworld.trace.export import check_view, scene_graph
    from visualpatchworld.trace.read import read_traces

    world = load_domain(domain)
    if via == "vlm":
        extractor = vlm_extractor(world, endpoint, model, record, replay, calls, calibration)
        graph = extractor.read(read_picture(Path(moment)))
        print(to_json(graph.data()) if as_json else graph.text())
        return
    if via == "tool":
        graph = _seen(world, moment, overlay)
        print(to_json(graph.data()) if as_json else graph.text())
        return
    check_view(world, via)
    path, _, row = moment.rpartition(":")
    if not path or not row.isdecimal():
        raise VpwError(f"Say which row of which trace file, as FILE.h5:ROW, not '{moment}'.")
    traces = read_traces(Path(path), world)
    episode, step = traces.locate(int(row))
    graph = scene_graph(traces, world, episode, step, view=via)
    print(to_json(graph.data()) if as_json else graph.text())


def _seen(world: Domain, moment: str, overlay: Path | None) -> SceneGraph:
    """The graph of a picture, or of a row of a trace file with pictures, read with the rows before it."""
    from visualpatchworld.scene.calibrate import extractor
    from visualpatchworld.scene.picture import overlay as drawn
    from visualpatchworld.scene.picture import read_picture, write_picture
    from visualpatchworld.trace.export import seen_graph
    from visualpatchworld.trace.read import read_traces

    path, _, row = moment.rpartition(":")
    if path and row.isdecimal():
        traces = read_traces(Path(path), world)
        episode, step = traces.locate(int(row))
        seeing = extractor(world, traces.constants)
        graph = seen_graph(traces, episode, step, seeing)
        assert episode.frames is not None
        picture = episode.frames[step]
    else:
        picture = read_picture(Path(moment))
        seeing = extractor(world)
        graph = seeing.read([picture])
    if overlay is not None:
        write_picture(overlay, drawn(picture, seeing.see(picture), graph))
    return graph
