"""`vpw live`: a page to play with a program."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from visualpatchworld.cli._options import ActionColumns, AsJson, EpisodeColumn, Seed, StateColumns, StepSeconds
from visualpatchworld.cli._show import show, working
from visualpatchworld.errors import VpwError


def live(
    path: Annotated[
        Path, typer.Argument(metavar="DIR|PROGRAM.py", help="What `vpw induce --out DIR` filled, or a program: code, which runs here.")
    ],
    world: Annotated[
        str | None, typer.Option(metavar="WORLD", help="The program's world: a domain, a Gymnasium id, dmc:DOMAIN/TASK, or a log.")
    ] = None,
    domain: Annotated[str | None, typer.Option("--domain", metavar="DOMAIN", help="The same, for a domain.")] = None,
    traces: Annotated[Path | None, typer.Option(metavar="LOG", help="Recorded episodes, which are then the truth.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0 takes one that is free.")] = 8765,
    action: ActionColumns = None,
    state: StateColumns = None,
    episode: EpisodeColumn = None,
    dt: StepSeconds = None,
    horizon: Annotated[int | None, typer.Option(min=1, max=1000, help="Steps that are imagined at first.")] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Open a page on this machine: turn a program's constants, watch imagined and true motion, drag goals, plan. Ctrl-C closes it.

    The page is served to this machine alone, and takes nothing but numbers within bounds. Edits are saved as a new program.

    Example: vpw live runs/DOMAIN
    """
    if world is not None and domain is not None and world != domain:
        raise VpwError("--world and --domain say the same; give one of them.")
    from visualpatchworld.cli._any_world import columns_of
    from visualpatchworld.cli._compute import keep_compiled
    from visualpatchworld.extras import need

    need("live")
    from visualpatchworld.live.server import Saving, serve
    from visualpatchworld.live.start import find, start

    place = find(path)
    keep_compiled()
    with working("starting") as progress:
        columns = columns_of(action, state, episode, dt)
        session = start(place, world=world or domain, traces=traces, columns=columns, horizon=horizon, seed=seed, progress=progress)

    def ready(url: str) -> None:
        result = {"url": url, "program": str(place.program), "world": session.truth.name, "pid": os.getpid()}
        show(result, as_json, f"{session.truth.name}: open {url} in a browser; Ctrl-C closes it.")
        sys.stdout.flush()

    if not serve(session, Saving(place.program.parent, place.program.stem), port, ready):
        sys.stdout.flush()
        os._exit(0)  # a compilation that nobody waits for any more must not hold the command up
