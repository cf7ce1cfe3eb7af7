"""`vpw audit`: what the tool path sees, against what is there."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from visualpatchworld.cli._options import MOST, AsJson, DomainName, Seed, Vary, varied_constants
from visualpatchworld.cli._show import progress, show
from visualpatchworld.domain import load_domain
from visualpatchworld.errors import VpwError


def audit(
    domain: DomainName,
    frames: Annotated[Path | None, typer.Option(metavar="FILE.npz", help="Pictures with known states, in place of new episodes.")] = None,
    episodes: Annotated[int, typer.Option(min=1, max=MOST, metavar="N", help="How many new episodes to look at.")] = 3,
    overlay: Annotated[Path | None, typer.Option(metavar="DIR", help="Write pictures with the graph drawn over them there.")] = None,
    overlays: Annotated[int, typer.Option(min=1, max=MOST, metavar="N", help="How many such pictures.")] = 8,
    seed: Seed = 1,
    vary: Vary = None,
    as_json: AsJson = False,
) -> None:
    """Measure the tool path against the oracle: precision, recall, errors, time per frame.

    Example: vpw audit DOMAIN --episodes 3
    """
    from visualpatchworld.output import make_folder
    from visualpatchworld.scene import audit as auditing
    from visualpatchworld.scene.calibrate import SEED, extractor
    from visualpatchworld.scene.overlay import overlay as drawn
    from visualpatchworld.scene.picture import write_picture

    world = load_domain(domain)
    if frames is None and seed == SEED:
        raise VpwError(f"Seed {SEED} made the episodes that the calibration was fitted to; choose another.")
    constants = varied_constants(world, vary)
    seeing = extractor(world, constants)
    if frames is not None:
        moments = auditing.moments_of_file(world, frames)
        total = len(moments)
    else:
        moments = auditing.moments_of_episodes(world, constants, episodes=episodes, seed=seed)
        total = episodes * world.episode_steps
    with progress(auditing.read_moments(seeing, moments), "looking", total) as readings:
        found = list(readings)
    if overlay is not None:
        make_folder(overlay)
        for i in range(0, len(found), max(len(found) // overlays, 1)):
            picture = drawn(found[i].moment.frames[-1], found[i].sighting, found[i].graph)
            write_picture(overlay / f"{world.name}_{i:04d}.png", picture)
    show({"domain": world.name, **dataclasses.asdict(auditing.audit(world, seeing, found))}, as_json)
