"""`vpw look`: what the fields of a world are."""

from __future__ import annotations

from typing import Annotated

import typer

from visualpatchworld.cli._options import AsJson, Seed

Corrected = Annotated[
    str | None, typer.Option("--fields", metavar="NAME=ROLE,...", help="Correct what a field is: theta=angle,w=velocity:theta.")
]
WorldName = Annotated[
    str,
    typer.Argument(
        metavar="WORLD", help="A domain, a Gymnasium id, dmc:DOMAIN/TASK, or a log (.npz, .csv, .parquet, .h5, minari:, lerobot:)."
    ),
]
ActionColumns = Annotated[str | None, typer.Option("--action", metavar="COL,COL", help="Columns of a table that are actions.")]
StateColumns = Annotated[str | None, typer.Option("--state", metavar="COL,COL", help="Columns of a table that are observed.")]
EpisodeColumn = Annotated[str | None, typer.Option("--episode", metavar="COL", help="Column of a table that tells episodes apart.")]
StepSeconds = Annotated[float | None, typer.Option("--dt", metavar="SECONDS", help="Seconds between two rows of a log.")]


def look(
    world: WorldName,
    fields: Corrected = None,
    action: ActionColumns = None,
    state: StateColumns = None,
    episode: EpisodeColumn = None,
    dt: StepSeconds = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Read a world's fields: angles, velocities, time step and integrator, what is derived, constant or noise; with the evidence.

    Example: vpw look Pendulum-v1
    """
    from visualpatchworld.cli import _any_world

    _any_world.look(_any_world.opened(world, action, state, episode, dt), fields, seed, as_json)
