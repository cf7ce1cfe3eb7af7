"""`vpw domains`, `look`, `collect`, `scene`, `export` and `audit`: which worlds come along and what their fields are,
episodes in a trace file, moments as scene graphs along any path, and how well pictures are read.
"""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.table import Table

from visualpatchworld.cli._groups import LogColumns
from visualpatchworld.cli._options import Needs, Without
from visualpatchworld.cli._verb import (
    MOST,
    AsJson,
    DomainName,
    DomainOption,
    Fields,
    Seed,
    TraceFile,
    Vary,
    Via,
    WorldName,
    changes,
    progress,
    show,
    varied_domain,
)
from visualpatchworld.domain import DEFAULT, Domain, find_domains, load_domain
from visualpatchworld.errors import VpwError
from visualpatchworld.files import from_json, read_bytes, to_json, write_lines
from visualpatchworld.simulator import Constants

if TYPE_CHECKING:
    from visualpatchworld.scene.calibrate import Audit
    from visualpatchworld.scene.extractor import Extractor

WITH_VLM = Needs("--via vlm", "--view vlm")
EndpointUrl = Annotated[
    str | None,
    typer.Option("--endpoint", metavar="URL", help="With vlm: OpenAI-compatible endpoint, up to /v1."),
    WITH_VLM,
]
ModelName = Annotated[
    str | None, typer.Option("--model", metavar="NAME", help="With vlm: the model to ask for."), WITH_VLM
]
Record = Annotated[
    Path | None,
    typer.Option("--record", metavar="FILE.jsonl", help="With vlm: recording to write or continue."),
    WITH_VLM,
    Without("--replay"),
]
Replay = Annotated[
    Path | None,
    typer.Option("--replay", metavar="FILE.jsonl", help="With vlm: recording that answers every call."),
    WITH_VLM,
]
Calls = Annotated[
    int, typer.Option("--calls", min=1, max=MOST, metavar="N", help="With vlm: calls that may be made."), WITH_VLM
]
CalibrationFile = Annotated[
    Path | None,
    typer.Option(
        "--calibration",
        metavar="FILE.json",
        help="With vlm: [[a, b, c], [d, e, f]] from the picture's pixels to the world.",
    ),
    WITH_VLM,
]


def look(
    world: WorldName,
    fields: Fields = None,
    log: LogColumns = LogColumns(),
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Read a world's fields: angles, velocities, time step and integrator, what is derived, constant or noise;
    with the evidence.

    Example: vpw look DOMAIN
    """
    from visualpatchworld.cli import _any_world

    _any_world.look(_any_world.opened(world, log), fields, seed, as_json)


def collect(
    domain: DomainName,
    episodes: Annotated[int, typer.Option(min=1, max=MOST, metavar="N", help="How many episodes.")],
    out: Annotated[Path, typer.Option(metavar="FILE.h5", help="Trace file to write, in the LeWM layout.")],
    pixels: Annotated[bool, typer.Option("--pixels", help="Keep a 224 x 224 picture of every step.")] = False,
    seed: Seed = 0,
    vary: Vary = None,
    as_json: AsJson = False,
) -> None:
    """Collect episodes into a trace file.

    Example: vpw collect DOMAIN --episodes 100 --out episodes.h5
    """
    from visualpatchworld.trace.episode import collect as collected
    from visualpatchworld.trace.file import write_traces

    world, constants = varied_domain(domain, vary)
    began = time.perf_counter()
    with progress(
        collected(world, constants, episodes=episodes, seed=seed, pixels=pixels), "collecting", episodes
    ) as recorded:
        num_rows = write_traces(out, recorded, world.layout, domain=world.name, constants=constants, seed=seed)
    result = {
        "domain": world.name,
        "episodes": episodes,
        "rows": num_rows,
        "pixels": pixels,
        "seed": seed,
        "constants": dataclasses.asdict(constants),
        "out": str(out),
        "seconds": round(time.perf_counter() - began, 2),
    }
    show(result, as_json)


def domains(as_json: AsJson = False) -> None:
    """List the domains: engine, action, state and the constants that `--vary` can change.

    Example: vpw domains --json
    """
    rows, broken = [], {}
    for name in find_domains():
        try:
            rows.append(_row(load_domain(name)))
        except VpwError as error:  # one that does not load hides none of the others
            broken[name] = str(error)
        except Exception as error:  # nor does one that loads and then fails
            broken[name] = f"The domain '{name}' does not work ({type(error).__name__}: {error})."
    table = Table("domain", "engine", "action", "state", "varies")
    for row in rows:
        state = ", ".join(f"{field['name']} ({field['unit']})" for field in row["state"])
        table.add_row(
            row["name"], row["engine"], str(row["action_dim"]), state, ", ".join(item["name"] for item in row["varies"])
        )
    show({"domains": rows, "broken": broken}, as_json, table, *broken.values())


def _row(domain: Domain) -> dict[str, Any]:
    family = domain.family()
    return {
        "name": domain.name,
        "title": domain.title,
        "engine": domain.engine,
        "challenge": domain.challenge,
        "gym_id": f"vpw/{domain.gym_id}",
        "action_dim": domain.layout.action.width,
        "state": [{"name": field.name, "unit": field.unit} for field in domain.scene.state_space],
        "metrics": list(domain.metrics),
        "sketches": [form.name for form in (*family.forms(), *family.extra)],
        "planner": domain.planner.title,
        "planners": {name: domain.planner_named(name).title for name in (DEFAULT, *domain.planners)},
        "varies": domain.constants.table(),
    }


@dataclasses.dataclass(frozen=True)
class Asked:
    """Who answers for the vlm path, what is recorded, and how its coordinates are read."""

    endpoint: str | None
    model: str | None
    record: Path | None
    replay: Path | None
    calls: int
    calibration: Path | None


def scene(
    domain: DomainName,
    moment: Annotated[
        str,
        typer.Argument(
            metavar="FILE.h5:ROW|IMAGE.png",
            help="A row of a trace file, counted from 0; with tool or vlm also a picture.",
        ),
    ],
    via: Via,
    endpoint: EndpointUrl = None,
    model: ModelName = None,
    record: Record = None,
    replay: Replay = None,
    calls: Calls = 3,
    calibration: CalibrationFile = None,
    overlay: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="With tool: the picture with the graph drawn over it."),
        Needs("--via tool", instead="it draws what the tool path has seen"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the scene graph of one moment.

    Example: vpw scene DOMAIN episodes.h5:120 --via oracle

    Example: vpw scene DOMAIN frame.png --via tool --overlay seen.png

    Example: vpw scene DOMAIN episodes.h5:120 --via vlm --endpoint URL --model NAME
    """
    from visualpatchworld.scene.extractor import Moment, ToolExtractor
    from visualpatchworld.scene.picture import overlay as drawn
    from visualpatchworld.scene.picture import read_picture, write_picture
    from visualpatchworld.trace.episode import moment_of
    from visualpatchworld.trace.file import read_traces

    world, asked = load_domain(domain), Asked(endpoint, model, record, replay, calls, calibration)
    path, _, row = moment.rpartition(":")
    if path and row.isdecimal():
        traces = read_traces(Path(path), world)
        episode, step = traces.locate(int(row))
        extractor = _extractor(world.of(traces.constants), traces.constants, via, asked)
        seen = moment_of(traces, episode, step, extractor)
    elif via == "oracle":
        raise VpwError(f"Say which row of which trace file, as FILE.h5:ROW, not '{moment}'.")
    else:
        extractor = _extractor(world, world.constants, via, asked)
        seen = Moment([read_picture(Path(moment))])
    graph = extractor.extract(seen)
    if overlay is not None:
        assert isinstance(extractor, ToolExtractor)
        write_picture(overlay, drawn(seen.frames[-1], extractor.see(seen.frames[-1]), graph))
    print(to_json(graph.data()) if as_json else graph.text())


def export(
    traces: TraceFile,
    domain: DomainOption,
    view: Via,
    out: Annotated[Path, typer.Option(metavar="FILE.jsonl", help="JSON lines to write, one episode per line.")],
    stride: Annotated[
        int, typer.Option(min=1, max=MOST, help="Steps between the two graphs, and raw actions in a macro-action.")
    ] = 5,
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
    from visualpatchworld.trace.episode import export as exported
    from visualpatchworld.trace.file import read_traces

    world = load_domain(domain)
    recorded = read_traces(traces, world)
    asked = Asked(endpoint, model, record, replay, calls, calibration)
    extractor = _extractor(world.of(recorded.constants), recorded.constants, view, asked)
    with progress(
        exported(recorded, extractor, view=view, stride=stride), "exporting", len(recorded.episodes)
    ) as lines:
        write_lines(out, lines)
    transitions = sum(len(episode) // stride for episode in recorded.episodes)
    result = {
        "domain": world.name,
        "view": view,
        "stride": stride,
        "episodes": len(recorded.episodes),
        "transitions": transitions,
    }
    show({**result, "out": str(out)}, as_json)


def audit(
    domain: DomainName,
    frames: Annotated[
        Path | None, typer.Option(metavar="FILE.npz", help="Pictures with known states, in place of new episodes.")
    ] = None,
    episodes: Annotated[
        int, typer.Option(min=1, max=MOST, metavar="N", help="How many new episodes to look at."), Without("--frames")
    ] = 3,
    overlay: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write pictures with the graph drawn over them there.")
    ] = None,
    overlays: Annotated[
        int, typer.Option(min=1, max=MOST, metavar="N", help="How many such pictures."), Needs("--overlay")
    ] = 8,
    seed: Annotated[Seed, Without("--frames")] = 1,
    vary: Vary = None,
    as_json: AsJson = False,
) -> None:
    """Measure the tool path against the oracle: precision, recall, errors and the worst of them, time per frame.

    Example: vpw audit DOMAIN --episodes 3
    """
    from visualpatchworld.files import make_folder
    from visualpatchworld.scene import calibrate as auditing
    from visualpatchworld.scene.calibrate import SEED, extractor
    from visualpatchworld.scene.picture import overlay as drawn
    from visualpatchworld.scene.picture import write_picture

    world = load_domain(domain)
    if frames is None and seed == SEED:
        raise VpwError(f"Seed {SEED} made the episodes that the calibration was fitted to; choose another.")
    constants = world.constants.varied(changes(vary))
    seeing = extractor(world, constants)
    if frames is not None:
        moments = auditing.moments_of_file(world, frames)
        total = len(moments)
    else:
        moments = auditing.moments_of_episodes(world, constants, episodes=episodes, seed=seed)
        total = episodes * world.episode_steps
    with progress(auditing.read_moments(seeing, moments), "looking", total) as readings:
        found = list(readings)
    if overlay is not None and found:
        make_folder(overlay)
        for i in np.unique(np.linspace(0, len(found) - 1, overlays).astype(int)):
            picture = drawn(found[i].moment.frames[-1], found[i].sighting, found[i].graph)
            write_picture(overlay / f"{world.name}_{i:04d}.png", picture)
    measured = auditing.audit(world, seeing, found)
    show({"domain": world.name, **dataclasses.asdict(measured)}, as_json, *_tables(world.name, measured))


def _tables(domain: str, measured: Audit) -> tuple[Table, Table]:
    """What was seen at all, and how far off each quantity was read."""
    whole, errors = Table(), Table()
    for name in ("domain", "precision", "recall", "frames", "ms / frame"):
        whole.add_column(name)
    shares = (f"{measured.precision:.4g}", f"{measured.recall:.4g}")
    whole.add_row(domain, *shares, str(measured.frames), f"{1000 * measured.seconds_per_frame:.1f}")
    for name in ("error", "rmse", "p99", "worst"):
        errors.add_column(name)
    for name in measured.rmse:
        errors.add_row(name, *(f"{values[name]:.3g}" for values in (measured.rmse, measured.p99, measured.worst)))
    return whole, errors


def _extractor(world: Domain, constants: Constants, via: str, asked: Asked) -> Extractor:
    """The path from observation to scene graph that a user asks for."""
    from visualpatchworld.scene.calibrate import extractor
    from visualpatchworld.scene.extractor import OracleExtractor

    if via == "oracle":
        return OracleExtractor(world.scene, constants)
    return extractor(world, constants) if via == "tool" else _vlm(world, asked)


def _vlm(world: Domain, asked: Asked) -> Extractor:
    """An extractor that asks this model, or a recording of it."""
    from visualpatchworld.llm import Budget, Client, Endpoint, Sampling, Tape
    from visualpatchworld.scene.vlm import VlmExtractor

    if asked.model is None or (asked.endpoint is None) == (asked.replay is None):
        raise VpwError(
            "For vlm say who answers: --model NAME with --endpoint URL, or with --replay FILE.jsonl, and not both."
        )
    tape = Tape(asked.replay, "replay") if asked.replay else Tape(asked.record, "record") if asked.record else None
    client = Client(
        model=asked.model,
        endpoint=None if asked.endpoint is None else Endpoint(asked.endpoint),
        tape=tape,
        budget=Budget(asked.calls),
        sampling=Sampling(temperature=0.0),
    )
    known = world.scene.objects(world.constants)
    return VlmExtractor(world.scene, known, client, None if asked.calibration is None else _affine(asked.calibration))


def _affine(path: Path) -> np.ndarray:
    try:
        found = np.array(from_json(read_bytes(path, "calibration", VpwError)), dtype=np.float64)
    except (ValueError, TypeError):
        raise VpwError(f"'{path}' is not a calibration; it holds [[a, b, c], [d, e, f]].") from None
    if found.shape != (2, 3) or not np.isfinite(found).all():
        raise VpwError(f"'{path}' is not a calibration; it holds [[a, b, c], [d, e, f]], two rows of three numbers.")
    return found
