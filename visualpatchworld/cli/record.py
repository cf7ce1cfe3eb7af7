"""`vpw record`: a program's imagined motion beside the true one, as a recording for Rerun's viewer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualpatchworld.cli._options import AsJson, Seed
from visualpatchworld.cli._show import show, working


def record(
    program: Annotated[Path, typer.Argument(metavar="PROGRAM|DIR", help="A world model, or the folder of one: code, which runs here.")],
    rerun: Annotated[Path, typer.Option("--rerun", metavar="FILE.rrd", help="Where the recording goes; `rerun FILE.rrd` shows it.")],
    world: Annotated[
        str | None, typer.Option(metavar="WORLD", help="The true world; the one that the record beside the program names.")
    ] = None,
    traces: Annotated[Path | None, typer.Option(metavar="LOG", help="Episodes to compare with, in place of new ones.")] = None,
    episodes: Annotated[int, typer.Option(min=1, max=100, metavar="N", help="How many episodes.")] = 3,
    horizon: Annotated[int, typer.Option(min=1, max=100_000, metavar="H", help="Imagine so many steps, then begin anew.")] = 50,
    pictures: Annotated[bool, typer.Option("--pictures", help="Also pictures of both, where the world is a domain.")] = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Record true and imagined motion, errors, constants and the program's text, for any world that has a program.

    Example: vpw record runs/pendulum --rerun pendulum.rrd
    """
    from visualpatchworld.report.recording import find_program, read_for, truth_of, write_recording

    with working("recording") as progress:
        path, told = find_program(program)
        named = world or told
        model = read_for(path, named)
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
    }
    show(result, as_json)
