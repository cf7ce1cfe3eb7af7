"""`vpw rollout`, `vpw edit`, `vpw record` and `vpw live`: what can be done with a program besides planning with it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from visualpatchworld.cli._groups import LogColumns
from visualpatchworld.cli._options import Needs, Refused, Without
from visualpatchworld.cli._verb import (
    AsJson,
    InSandbox,
    NoSandbox,
    Seed,
    Unfiltered,
    errors_table,
    find_here,
    keep_compiled,
    show,
    stops_line,
    working,
)
from visualpatchworld.domain import load_domain
from visualpatchworld.errors import VpwError


def rollout(
    program: Annotated[
        Path,
        typer.Argument(
            metavar="PROGRAM.py",
            help="A world model, emitted or edited: code, which runs here unless --sandbox is given.",
        ),
    ],
    traces: Annotated[Path, typer.Option(metavar="LOG", help="Episodes to compare with: a trace file, or any log.")],
    domain: Annotated[
        str | None,
        typer.Option("--domain", metavar="DOMAIN", help="The domain of a trace file; any other log needs none."),
    ] = None,
    horizon: Annotated[int, typer.Option(min=1, help="Longest rollout, in steps.")] = 25,
    last: Annotated[int | None, typer.Option(min=1, metavar="N", help="Use only the last N episodes.")] = None,
    sandbox: InSandbox = False,
    unfiltered: Unfiltered = False,
    log: LogColumns = LogColumns(),
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Roll a program out along recorded actions and measure its error by horizon.

    A program is code. It runs in this process with all your rights, or with --sandbox in a locked process
    and nowhere else; give that for a program that you have not read.

    Example: vpw rollout world_model.py --domain DOMAIN --traces episodes.h5
    """
    from contextlib import nullcontext

    import numpy as np

    from visualpatchworld.cli import _any_world
    from visualpatchworld.induction.windows import predict, prediction_errors, trajectories_of
    from visualpatchworld.program.program import load_program, read_program
    from visualpatchworld.program.sandbox import sandboxed_rollouts
    from visualpatchworld.trace.file import read_traces

    if domain is None:
        opened = _any_world.opened(str(traces), log)
        return _any_world.rollout(program, opened, horizon, last, seed, as_json, sandbox=sandbox, unfiltered=unfiltered)
    world = load_domain(domain)
    seen = read_traces(traces, world)
    world = world.of(seen.constants)
    space, action_dim = world.scene.state_space, world.layout.action.width
    model = read_program(program) if sandbox else load_program(program, space, action_dim)
    recordings = trajectories_of(seen.episodes)[-last if last else None :]
    if max(len(recording.actions) for recording in recordings) < horizon:
        raise VpwError(f"No episode of '{traces}' has {horizon} steps; choose a shorter --horizon.")
    running = sandboxed_rollouts(model, space.names, action_dim, unfiltered=unfiltered) if sandbox else nullcontext()
    with running as rollouts, working("rolling out"):
        ask = (
            (lambda windows: predict(model, windows))
            if rollouts is None
            else lambda windows: rollouts.each(windows.starts, windows.actions)
        )
        errors = prediction_errors(ask, recordings, world, np.random.default_rng(seed), horizon)
    result = {
        "domain": world.name,
        "program": str(program),
        "program_hash": model.hash,
        "traces": str(traces),
        "rollout_error": errors,
    }
    stopped = "" if rollouts is None or not rollouts.stops else f"The program was stopped {stops_line(rollouts.told())}"
    if rollouts is not None:
        result["sandbox"] = rollouts.told()
    return show(result, as_json, errors_table(errors), stopped)


def edit(
    program: Annotated[
        Path,
        typer.Argument(metavar="PROGRAM.py", help="A world model: code, which runs here unless --sandbox is given."),
    ],
    changes: Annotated[
        list[str],
        typer.Argument(metavar="NAME=VALUE", help="A constant of the program and its new value (repeatable)."),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE.py", help="Where the edited program goes.")],
    sandbox: InSandbox = False,
    unfiltered: Unfiltered = False,
    as_json: AsJson = False,
) -> None:
    """Change constants of a program, so that it describes a world that has changed; nothing is measured or fitted.

    A program is code. Two steps of it are run to check the new values: in this process with all your rights, or with
    --sandbox in a locked process and nowhere else.

    Example: vpw edit world_model.py AGENT_SPEED=2.5 --out slower.py

    Example: vpw edit world_model.py "HOUSE=(100.0, 112.0)" RADIUS=9 --out moved.py
    """
    from visualpatchworld.files import write_text
    from visualpatchworld.program.program import read_program
    from visualpatchworld.program.source import edit as edited
    from visualpatchworld.program.source import parse_changes

    before = read_program(program)
    asked = parse_changes(changes, before)
    after = edited(before, asked, sandbox=sandbox, unfiltered=unfiltered)
    write_text(out, after.text)
    rows = {name: {"before": before.constants[name], "after": after.constants[name]} for name in asked}
    table = Table("constant", "before", "after")
    for name, row in rows.items():
        table.add_row(name, repr(row["before"]), repr(row["after"]))
    show({"program": str(program), "out": str(out), "constants": rows}, as_json, table, str(out))


def record(
    program: Annotated[
        Path, typer.Argument(metavar="PROGRAM|DIR", help="A world model, or the folder of one: code, which runs here.")
    ],
    rerun: Annotated[
        Path | None,
        typer.Option("--rerun", metavar="FILE.rrd", help="Where the recording goes; `rerun FILE.rrd` shows it."),
    ] = None,
    film: Annotated[
        Path | None,
        typer.Option("--film", metavar="FILE.mp4", help="Where the film of a planned episode goes; .gif works, too."),
    ] = None,
    world: Annotated[
        str | None,
        typer.Option(
            metavar="WORLD",
            callback=find_here,
            help="The true world; the one that the record beside the program names.",
        ),
    ] = None,
    traces: Annotated[
        Path | None,
        typer.Option(metavar="LOG", help="Episodes to compare with, in place of new ones."),
        Needs("--rerun"),
        Without("--film", instead="a film needs a world that runs"),
    ] = None,
    episodes: Annotated[
        int, typer.Option(min=1, max=100, metavar="N", help="How many episodes."), Needs("--rerun")
    ] = 3,
    horizon: Annotated[
        int,
        typer.Option(min=1, max=100_000, metavar="H", help="Imagine so many steps, then begin again from the truth."),
        Needs("--rerun"),
    ] = 50,
    pictures: Annotated[
        bool,
        typer.Option("--pictures", help="Also pictures of both, where the world is a domain."),
        Needs("--rerun"),
        Needs("domain", instead="--film FILE.mp4 films it"),
    ] = False,
    sandbox: Annotated[
        NoSandbox,
        Refused(instead="a recording imagines with the compiled program: read it first, then leave out --sandbox"),
    ] = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Record true and imagined motion, errors, constants and the program's text, for any world that has a program;
    or film an episode.

    The film shows an episode planned for the reward that the program defines,
    or one of varied actions where it defines none.

    A program is code: it runs in this process with all your rights.

    Example: vpw record runs/pendulum --rerun pendulum.rrd

    Example: vpw record runs/pendulum --film pendulum.mp4
    """
    from visualpatchworld.paper.record import find_program
    from visualpatchworld.report.recording import read_for, truth_of, write_recording

    if rerun is None and film is None:
        raise VpwError("Say what to write: --rerun FILE.rrd, --film FILE.mp4, or both.")
    with working("recording") as progress:
        found = find_program(program)
        path, named = found.path, found.world_or(world, traces)
        model = read_for(path, named)
        filmed: dict[str, Any] = {}
        if film is not None:
            if named is None:
                raise VpwError("A film needs a world that runs; name it with --world WORLD.")
            from visualpatchworld.films import film_world

            filmed = film_world(film, named, model, seed, progress)
        if rerun is None:
            result = {"world": named, "program": str(path), "program_hash": model.hash, **filmed}
            return show(result, as_json)
        progress("collecting")
        truth = truth_of(named, traces, episodes=episodes, seed=seed, pictures=pictures)
        off = write_recording(rerun, model, truth, horizon=horizon, progress=progress)
    result = {
        "world": truth.world,
        "program": str(path),
        "program_hash": model.hash,
        "recording": str(rerun),
        "episodes": len(truth.episodes),
        "steps": sum(map(len, truth.episodes)),
        "horizon": horizon,
        "rms_error": off,
        **filmed,
    }
    return show(result, as_json)


def live(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="DIR|PROGRAM.py", help="What `vpw induce --out DIR` filled, or a program: code, which runs here."
        ),
    ],
    world: Annotated[
        str | None,
        typer.Option(
            metavar="WORLD",
            callback=find_here,
            help="The program's world: a domain, a Gymnasium id, dmc:DOMAIN/TASK, or a log.",
        ),
    ] = None,
    domain: Annotated[str | None, typer.Option("--domain", metavar="DOMAIN", help="The same, for a domain.")] = None,
    traces: Annotated[
        Path | None, typer.Option(metavar="LOG", help="Recorded episodes, which are then the truth.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0 takes one that is free.")] = 8765,
    log: LogColumns = LogColumns(),
    horizon: Annotated[int | None, typer.Option(min=1, max=1000, help="Steps that are imagined at first.")] = None,
    sandbox: Annotated[
        NoSandbox,
        Refused(
            instead="the page plans and imagines with the compiled program: read it first, then leave out --sandbox"
        ),
    ] = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Open a page on this machine: turn a program's constants, watch imagined and true motion, drag goals,
    plan. Ctrl-C closes it.

    A program is code: it runs in this process with all your rights.
    The page is served to this machine alone, and takes nothing but numbers within bounds.
    Edits are saved as a new program.

    Example: vpw live runs/DOMAIN
    """
    if world is not None and domain is not None and world != domain:
        raise VpwError("--world and --domain say the same; give one of them.")
    from visualpatchworld.cli._any_world import columns_of
    from visualpatchworld.extras import need

    need("live")
    from visualpatchworld.live.server import Saving, serve
    from visualpatchworld.live.start import start
    from visualpatchworld.paper.record import find_program

    found = find_program(path)
    keep_compiled()
    with working("starting") as progress:
        columns = columns_of(*log)
        session = start(
            found, world=world or domain, traces=traces, columns=columns, horizon=horizon, seed=seed, progress=progress
        )

    def ready(url: str) -> None:
        result = {"url": url, "program": str(found.path), "world": session.truth.name, "pid": os.getpid()}
        show(result, as_json, f"{session.truth.name}: open {url} in a browser; Ctrl-C closes it.")
        sys.stdout.flush()

    if not serve(session, Saving(found.path.parent, found.path.stem), port, ready):
        sys.stdout.flush()
        os._exit(0)  # a compilation that nobody waits for any more must not hold the command up
