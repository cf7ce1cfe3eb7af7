"""`vpw look` and `vpw collect`: what the fields of a world are, and episodes of a domain's own policy in a trace file."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Annotated

import typer

from visualpatchworld.cli._options import (
    MOST,
    ActionColumns,
    AsJson,
    DomainName,
    EpisodeColumn,
    Fields,
    Seed,
    StateColumns,
    StepSeconds,
    Vary,
    WorldName,
    finite,
    varied_constants,
)
from visualpatchworld.cli._show import progress, show
from visualpatchworld.domain import load_domain


def look(
    world: WorldName,
    fields: Fields = None,
    action: ActionColumns = None,
    state: StateColumns = None,
    episode: EpisodeColumn = None,
    dt: StepSeconds = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Read a world's fields: angles, velocities, time step and integrator, what is derived, constant or noise; with the evidence.

    Example: vpw look DOMAIN
    """
    from visualpatchworld.cli import _any_world

    finite(dt)
    _any_world.look(_any_world.opened(world, action, state, episode, dt), fields, seed, as_json)


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
    from visualpatchworld.trace.write import write_traces

    world = load_domain(domain)
    constants = varied_constants(world, vary)
    world = world.of(constants)
    began = time.perf_counter()
    with progress(collected(world, constants, episodes=episodes, seed=seed, pixels=pixels), "collecting", episodes) as recorded:
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
