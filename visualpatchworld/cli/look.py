"""`vpw look`: what the fields of a world are."""

from __future__ import annotations

from visualpatchworld.cli._options import ActionColumns, AsJson, EpisodeColumn, Fields, Seed, StateColumns, StepSeconds, WorldName, finite


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
