"""`vpw domains`, `vpw look` and `vpw collect`:
which worlds come along, what their fields are, and episodes in a trace file.
"""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from visualpatchworld.cli._verb import (
    MOST,
    AsJson,
    DomainName,
    Fields,
    LogColumns,
    Seed,
    Vary,
    WorldName,
    progress,
    reads_logs,
    show,
    varied_domain,
)
from visualpatchworld.domain import DEFAULT, Domain, find_domains, load_domain
from visualpatchworld.errors import VpwError


@reads_logs
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

    _any_world.look(_any_world.opened(world, *log), fields, seed, as_json)


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
