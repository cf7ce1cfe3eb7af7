"""`vpw record`: a program's imagined motion beside the true one, as a recording for Rerun's viewer or as a film."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from visualpatchworld.cli._options import AsJson, Seed
from visualpatchworld.cli._show import show, working
from visualpatchworld.errors import VpwError


def record(
    program: Annotated[Path, typer.Argument(metavar="PROGRAM|DIR", help="A world model, or the folder of one: code, which runs here.")],
    rerun: Annotated[
        Path | None, typer.Option("--rerun", metavar="FILE.rrd", help="Where the recording goes; `rerun FILE.rrd` shows it.")
    ] = None,
    film: Annotated[
        Path | None, typer.Option("--film", metavar="FILE.mp4", help="Where the film of a planned episode goes; .gif works, too.")
    ] = None,
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
    """Record true and imagined motion, errors, constants and the program's text, for any world that has a program; or film an episode.

    The film shows an episode planned for the reward that the program defines, or one of varied actions where it defines none.

    Example: vpw record runs/pendulum --rerun pendulum.rrd

    Example: vpw record runs/pendulum --film pendulum.mp4
    """
    from visualpatchworld.report.recording import find_program, read_for, truth_of, write_recording

    if rerun is None and film is None:
        raise VpwError("Say what to write: --rerun FILE.rrd, --film FILE.mp4, or both.")
    with working("recording") as progress:
        path, told = find_program(program)
        named = world or told
        model = read_for(path, named)
        filmed: dict[str, Any] = {}
        if film is not None:
            if named is None or traces is not None:
                raise VpwError("A film needs a world that runs; name it with --world WORLD, and leave out --traces.")
            from visualpatchworld.report.film import film_world

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
