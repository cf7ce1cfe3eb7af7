"""The scoring landscape beside a wall: what a planner's candidates cost under the program, and what they cost under the engine."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from visualpatchworld.induction.windows import Windows
from visualpatchworld.paper.exhibit import Measured, Subject, plain
from visualpatchworld.paper.exhibits.prediction import foresight
from visualpatchworld.paper.results import OFFSET
from visualpatchworld.paper.suite import MAIN_SEED
from visualpatchworld.paper.task import draw_tasks
from visualpatchworld.plan.observer import Task
from visualpatchworld.simulator import Simulator

SIDE, COARSE_SIDE = 41, 9  # actions along each side of the grid, and of the one that a start is chosen with
MOST_AXES = 2  # numbers of the action that are varied; the others are 0
NUM_TASKS = 50
MOST_STARTS = 16  # that are looked at coarsely
FLAT = 1e-6  # of the engine's range: smaller differences of neighbours are none

Grid = Float[np.ndarray, "K H A"]


def measure_smoothness(subject: Subject) -> Measured:
    """Costs over a grid of actions, each held for a whole plan, from the task start whose engine landscape has the steepest step."""
    domain = subject.domain
    axes, horizon = min(MOST_AXES, domain.layout.action.width), domain.planner.horizon
    world = domain.simulator(subject.constants)
    grid = _grid(SIDE, axes, horizon, domain.layout.action.width)
    task = _roughest(subject, world, _grid(COARSE_SIDE, axes, horizon, domain.layout.action.width))
    futures = world.rollout(task.start_engine_state, grid)
    with foresight(subject) as foresee:
        foreseen = foresee(Windows(np.repeat(task.start[None], len(grid), axis=0), grid, futures))
    shape = (SIDE,) * axes
    engine, program = (np.asarray(domain.cost(states, task.goal)).reshape(shape) for states in (futures, foreseen))
    return Measured(
        {
            "episode": task.episode,
            "step": task.step,
            "start": plain(task.start),
            "goal": plain(task.goal),
            "beside": _beside(subject, task),
            "horizon": horizon,
            "action": plain(np.linspace(-1, 1, SIDE)),
            "engine": plain(engine),
            "program": plain(program),
            "merit": compare(program, engine),
        }
    )


def compare(program: np.ndarray, engine: np.ndarray) -> dict[str, float | None]:
    """How well one landscape stands for another; all costs are taken in units of the engine's range.

    `agreement` is the share of neighbours whose order is the same in both, `gap` the mean distance of costs, `engine_step` and
    `program_step` the largest difference of neighbours, `regret` what the engine says that the program's best action lacks of the best.
    """
    low, size = float(engine.min()), float(np.ptp(engine)) or 1.0
    engine, program = (engine - low) / size, np.where(np.isfinite(program), (program - low) / size, np.inf)
    known = np.isfinite(program)
    orders = [np.where(np.abs(steps) < FLAT, 0, np.sign(steps)) for steps in (_steps(engine), _steps(program))]
    return {
        "agreement": plain((orders[0] == orders[1]).mean()),
        "gap": plain(np.abs(program - engine)[known].mean()) if known.any() else None,
        "engine_step": plain(np.abs(_steps(engine)).max()),
        "program_step": plain(np.abs(_steps(program)).max()),
        "regret": plain(engine.flat[int(np.argmin(program))]),
    }


def _steps(costs: np.ndarray) -> Float[np.ndarray, " N"]:
    """Differences of all neighbours along all axes; NaN between two that are infinite."""
    with np.errstate(invalid="ignore"):
        return np.concatenate([np.diff(costs, axis=axis).ravel() for axis in range(costs.ndim)])


def _grid(side: int, axes: int, horizon: int, action_dim: int) -> Grid:
    """Every action of a grid over the first numbers of an action, held for the whole horizon."""
    held = np.stack(np.meshgrid(*[np.linspace(-1, 1, side)] * axes, indexing="ij"), axis=-1).reshape(-1, axes)
    actions = np.concatenate([held, np.zeros((len(held), action_dim - axes))], axis=1)
    return np.repeat(actions[:, None], horizon, axis=1)


def _roughest(subject: Subject, world: Simulator, grid: Grid) -> Task:
    """Of the main benchmark's tasks, those that begin beside something fixed if there are any: the one with the steepest step."""
    places = sum(max(episode.num_rows - OFFSET, 0) for episode in subject.held_out)
    tasks = draw_tasks(subject.held_out, count=max(1, min(NUM_TASKS, places)), offset=OFFSET, seed=MAIN_SEED)
    near = [task for task in tasks if _beside(subject, task)] or tasks
    some = [near[i] for i in np.unique(np.linspace(0, len(near) - 1, min(MOST_STARTS, len(near))).astype(int))]
    return max(some, key=lambda task: _steepest(subject, world, task, grid))


def _steepest(subject: Subject, world: Simulator, task: Task, grid: Grid) -> float:
    """The largest difference of neighbours on a coarse grid, in units of the range."""
    costs = np.asarray(subject.domain.cost(world.rollout(task.start_engine_state, grid), task.goal))
    square = costs.reshape(-1, COARSE_SIDE) if len(costs) > COARSE_SIDE else costs
    return float(np.abs(_steps(square)).max() / (np.ptp(costs) or 1.0))


def _beside(subject: Subject, task: Task) -> list[str]:
    """The fixed things that something nearly touches at the start."""
    graph = subject.domain.scene.oracle(task.start, subject.constants)
    fixed = {item.name for item in graph.objects if item.fixed}
    return sorted({name for relation in graph.relations if relation.near_contact for name in (relation.subject, relation.object)} & fixed)
