"""`vpw audit`: what the tool path sees, against what is there."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from visualpatchworld.cli._options import MOST, AsJson, DomainName, Seed, Vary, varied_constants
from visualpatchworld.cli._show import progress, show
from visualpatchworld.domain import load_domain
from visualpatchworld.errors import VpwError

if TYPE_CHECKING:
    from visualpatchworld.scene.audit import Audit


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
    """Measure the tool path against the oracle: precision, recall, errors and the worst of them, time per frame.

    Example: vpw audit DOMAIN --episodes 3
    """
    from visualpatchworld.output import make_folder
    from visualpatchworld.scene import audit as auditing
    from visualpatchworld.scene.calibrate import SEED, extractor
    from visualpatchworld.scene.picture import overlay as drawn
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
