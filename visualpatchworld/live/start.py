"""Starting a session: from a folder or a program's file to a program, its world or log, and how that is drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from jaxtyping import Float

from visualpatchworld.domain import Domain, find_domains, load_domain
from visualpatchworld.errors import BadTrace, VpwError
from visualpatchworld.live.drawing import Drawing, drawing_of
from visualpatchworld.live.session import HORIZONS, Goal, Session, begun
from visualpatchworld.live.worlds import Imagination, LoggedTruth, RunningTruth, Truth
from visualpatchworld.paper.record import FoundProgram
from visualpatchworld.program.dial import dials_of
from visualpatchworld.program.program import load_program, read_program
from visualpatchworld.trace.file import read_traces
from visualpatchworld.world.live import DomainWorld
from visualpatchworld.world.log import LogWorld
from visualpatchworld.world.log_table import Columns
from visualpatchworld.world.open import open_world
from visualpatchworld.world.trajectory import Trajectory

LOOK_STEPS = 200  # of the first episode, to see how far each field spreads
SHARE_OF_SPREAD = 1.2  # that a field has to change within the steps ahead, so that there is something to see
LEAST_STEPS = 50  # ahead, where the world says nothing about it
ROOM = 0.5  # of what was seen, that goals may lie beyond it
DOMAIN_STEPS = 25


class NoWorld(VpwError):
    """A program of which nothing says what its world is."""


def start(
    found: FoundProgram,
    *,
    world: str | None = None,
    traces: Path | None = None,
    columns: Columns = Columns(),
    horizon: int | None = None,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> Session:
    """The session of a program in a world, or along a log, of whose table `columns` tells what the names leave open."""
    name = found.world_or(world, traces)
    if name is None and traces is None:
        raise NoWorld(f"Nothing says which world '{found.path}' is of; name it with --world WORLD or --traces LOG.")
    progress("opening the world")
    if name in find_domains():
        return _of_domain(found, load_domain(str(name)), traces, horizon, seed, progress)
    program = read_program(found.path)
    source = str(traces or name)
    opened = open_world(source, columns=columns)
    if isinstance(opened, LogWorld):
        truth: Truth = LoggedTruth(opened, [*opened.logged(), *opened.held_out()])
    else:
        truth = RunningTruth(opened, seed=seed)
    imagination = Imagination(program, dials_of(program), truth.action_space)
    seen = _look(truth)
    plain = (None,) * len(truth.field_names)
    return _begun(
        imagination,
        truth,
        None,
        plain,
        ("",) * len(plain),
        seen,
        _goal(seen[0], False),
        horizon or _steps(seen),
        progress,
    )


def _of_domain(
    found: FoundProgram,
    domain: Domain,
    traces: Path | None,
    horizon: int | None,
    seed: int,
    progress: Callable[[str], None],
) -> Session:
    constants, episodes = domain.constants, None
    if traces is not None:
        recorded = read_traces(traces, domain)
        constants = recorded.constants
        episodes = [Trajectory(episode.observations, episode.actions) for episode in recorded.episodes if len(episode)]
        if not episodes:
            raise BadTrace(f"'{traces}' holds no two rows that follow each other.")
    domain = domain.of(constants)
    space = domain.scene.state_space
    program = load_program(found.path, space, domain.layout.action.width)
    world = DomainWorld(domain.simulator(constants), domain.title)
    if episodes is not None:
        truth: Truth = LoggedTruth(world, episodes)
    else:
        truth = RunningTruth(world, lambda rng: domain.policy(world.simulator, rng), seed)
    seen = _look(truth)
    periods = tuple(field.period for field in space)
    imagination = Imagination(program, dials_of(program), truth.action_space, domain.cost)
    drawing = drawing_of(domain.scene, constants, seen)
    goal = _goal(seen[-1], True)
    units = tuple(field.unit for field in space)
    return _begun(
        imagination, truth, drawing, periods, units, seen, goal, horizon or max(DOMAIN_STEPS, domain.horizon), progress
    )


def _begun(
    imagination: Imagination,
    truth: Truth,
    drawing: Drawing | None,
    periods: tuple[float | None, ...],
    units: tuple[str, ...],
    seen: Float[np.ndarray, "T O"],
    goal: Goal,
    horizon: int,
    progress: Callable[[str], None],
) -> Session:
    spread = seen.std(axis=0)
    low, high = seen.min(axis=0), seen.max(axis=0)
    room = ROOM * np.maximum(high - low, 1e-3)
    low, high = low - room, high + room
    for field, lowest, highest in _drawn_bounds(drawing, periods):
        low[field], high[field] = min(low[field], lowest), max(high[field], highest)
    session = Session(
        imagination=imagination,
        truth=truth,
        drawing=drawing,
        periods=periods,
        units=units,
        spread=np.where(spread > 0, spread, 1.0),
        low=low,
        high=high,
        hidden=imagination.hides(seen[0]),
        values=tuple(dial.value for dial in imagination.dials),
        goal=goal,
        horizon=min(HORIZONS, key=lambda steps: abs(steps - horizon)),
    )
    progress("compiling the program")
    return begun(session, 0)


def _look(truth: Truth) -> Float[np.ndarray, "T O"]:
    """Observations that tell how far fields spread; the truth is back at its beginning afterwards."""
    truth.reach(LOOK_STEPS)
    seen = truth.seen.observations
    truth.begin(0)
    return seen


def _goal(values: Float[np.ndarray, " O"], chosen: bool) -> Goal:
    return Goal(values.copy(), np.full(len(values), chosen))


def _steps(seen: Float[np.ndarray, "T O"]) -> int:
    """Steps ahead within which most fields change by most of their spread."""
    live = seen[:, seen.std(axis=0) > 0]
    for steps in HORIZONS:
        if LEAST_STEPS <= steps < len(live) and live.shape[1]:
            change = np.std(live[steps:] - live[:-steps], axis=0) / live.std(axis=0)
            if np.median(change) >= SHARE_OF_SPREAD:
                return steps
    return LEAST_STEPS if len(seen) <= LOOK_STEPS + 1 else HORIZONS[-1]


def _drawn_bounds(drawing: Drawing | None, periods: tuple[float | None, ...]) -> list[tuple[int, float, float]]:
    """Goals may lie wherever the drawing reaches, and be turned all the way round."""
    if drawing is None:
        return []
    bounds = [
        (column, drawing.low[axis], drawing.high[axis])
        for columns in drawing.columns
        for axis, column in enumerate(columns[:3])
        if column >= 0
    ]
    turns = [(i, -np.pi, period) for i, period in enumerate(periods) if period is not None]
    return bounds + turns
