"""What is measured: what a program predicts, ours in this process and a model's in the sandbox,
and what the tool path sees in pictures.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from visualpatchworld.errors import UnknownName, VpwError
from visualpatchworld.induction.windows import Windows, cut_windows, predict
from visualpatchworld.paper.analysis import Analysis, Measurand, Picture, plain
from visualpatchworld.paper.cell import source_title, versions
from visualpatchworld.paper.results import OFFSET
from visualpatchworld.paper.suite import MAIN_SEED
from visualpatchworld.paper.task import draw_tasks
from visualpatchworld.plan.control import Task
from visualpatchworld.program.sandbox import sandboxed_rollouts
from visualpatchworld.scene.calibrate import RECENT, SEED, audit, extractor, read_moments, ways_in
from visualpatchworld.scene.extractor import Moment
from visualpatchworld.scene.picture import outlines
from visualpatchworld.simulator import Simulator
from visualpatchworld.task import ErrorMetric
from visualpatchworld.trace.episode import Episode


@dataclass(frozen=True)
class Measured:
    """What a kind of analysis found: JSON values, and pictures by name."""

    data: Mapping[str, Any]
    pictures: Mapping[str, Picture] = field(default_factory=dict)


MOST_AT_ONCE = 300  # sequences in one call of a sandboxed program, which has to end within its time limit

# From N windows of H steps to the states predicted in them; NaN where a sandboxed program failed.
Predict = Callable[[Windows], Float[np.ndarray, "N H S"]]


@contextmanager
def predictor(measurand: Measurand) -> Iterator[Predict]:
    """The program made ready to predict."""
    program, space = measurand.needed_program(), measurand.domain.scene.state_space
    action_dim = measurand.domain.layout.action.width
    if not measurand.sandboxed:
        checked = program.check(space, action_dim).check_tracing(space, action_dim)
        yield lambda windows: predict(checked, windows)
        return
    with sandboxed_rollouts(program, space.names, action_dim) as rollouts:
        yield lambda windows: np.concatenate(
            [rollouts(windows.starts[rows][0], windows.actions[rows]) for rows in _runs(windows)]
        )


def _runs(windows: Windows) -> list[slice]:
    """Stretches of windows that begin in the same state, none too long."""
    changes = np.flatnonzero((np.diff(windows.starts, axis=0) != 0).any(axis=1)) + 1
    bounds = [0, *changes.tolist(), len(windows)]
    return [
        slice(first, min(first + MOST_AT_ONCE, end))
        for begin, end in itertools.pairwise(bounds)
        for first in range(begin, end, MOST_AT_ONCE)
    ]


HORIZON = 25
NUM_WINDOWS = 1000


def measure_rollout(measurand: Measurand) -> Measured:
    """Mean, median and 90th percentile of every quantity after 1 to 25 steps;
    a rollout that is not finite counts as infinitely far off.
    """
    recordings = measurand.recordings
    if max(len(recording.actions) for recording in recordings) < HORIZON:
        raise VpwError(
            f"No test episode of '{measurand.source}' has {HORIZON} steps; give --traces FILE.h5 with longer ones."
        )
    windows = cut_windows(recordings, HORIZON, NUM_WINDOWS, np.random.default_rng(measurand.seed))
    with predictor(measurand) as predict_in:
        predicted = predict_in(windows)
    errors = {}
    for name, quantity in measurand.domain.error_metrics.items():
        by_step = quantity(predicted, windows.truths)
        by_step = np.where(np.isfinite(by_step), by_step, np.inf)
        with np.errstate(invalid="ignore"):  # between two infinite errors lies no number
            errors[name] = {
                "mean": plain(by_step.mean(axis=0)),
                "median": plain(np.median(by_step, axis=0)),
                "p90": plain(np.percentile(by_step, 90, axis=0)),
            }
    failed = int((~np.isfinite(predicted)).any(axis=(1, 2)).sum())
    return Measured({"horizon": HORIZON, "windows": len(windows), "not_finite": failed, "rollout_error": errors})


def measure_motion(measurand: Measurand) -> Measured:
    """For every quantity, one-step displacements in the test episode in which it moves most.

    What moves only when touched moves most where it is touched most, so this is a contact
    episode where there is contact at all.
    """
    with predictor(measurand) as predict_in:
        return Measured(
            {
                "motion": {
                    name: _motion(measurand, quantity, predict_in)
                    for name, quantity in measurand.domain.error_metrics.items()
                }
            }
        )


def _motion(measurand: Measurand, quantity: ErrorMetric, predict_in: Predict) -> dict[str, Any]:
    episode = max(measurand.held_out, key=lambda episode: _moved(quantity, episode).sum())
    states = episode.observations
    predicted = predict_in(Windows(states[:-1], episode.actions[:, None], states[1:, None]))[:, 0]
    true, moved = _moved(quantity, episode), quantity(predicted, states[:-1])
    finite = np.isfinite(moved)
    return {
        "episode": episode.index,
        "true": plain(true),
        "predicted": plain(moved),
        "true_sum": plain(true.sum()),
        "predicted_sum": plain(moved[finite].sum()),
        "not_finite": int((~finite).sum()),
    }


def _moved(quantity: ErrorMetric, episode: Episode) -> np.ndarray:
    return quantity(episode.observations[1:], episode.observations[:-1])


def measure_transition(measurand: Measurand) -> Measured:
    """The liveliest step of the first test episode."""
    domain, episode = measurand.domain, measurand.held_out[0]
    step = _liveliest(measurand, episode)
    before, after, action = episode.observations[step], episode.observations[step + 1], episode.actions[step]
    with predictor(measurand) as predict_in:
        predicted = predict_in(Windows(before[None], action[None, None], after[None, None]))[0, 0]
    world, pictures = domain.simulator(measurand.constants), {}
    for name, row in (("before", step), ("after", step + 1)):
        world.set_engine_state(episode.engine_states[row])
        pictures[name] = world.render()
    moments = {"before": before, "after": after, "predicted": predicted}
    ways = ways_in(domain)(np.stack(list(moments.values())))
    return Measured(
        {
            "episode": episode.index,
            "step": step,
            "fields": [{"name": field.name, "unit": field.unit} for field in domain.scene.state_space],
            **{name: plain(state) for name, state in moments.items()},
            "action": plain(action),
            "error": {name: plain(quantity(predicted, after)) for name, quantity in domain.error_metrics.items()},
            "pixels": {name: dict(zip(moments, plain(way), strict=True)) for name, way in ways.items()},
            "graph": domain.scene.oracle(before, measurand.constants, step=step).data(),
            "program_text": measurand.needed_program().text,
        },
        pictures,
    )


def _liveliest(measurand: Measurand, episode: Episode) -> int:
    """The step in which things move most, each measured by how much it moves on average:
    what seldom moves counts when it does.
    """
    moves = [
        quantity(episode.observations[1:], episode.observations[:-1])
        for quantity in measurand.domain.error_metrics.values()
    ]
    return int(np.argmax(sum(move / max(float(move.mean()), np.finfo(float).tiny) for move in moves)))


SIDE, COARSE_SIDE = 41, 9  # actions along each side of the grid, and of the one that a start is chosen with
MOST_AXES = 2  # numbers of the action that are varied; the others are 0
NUM_TASKS = 50
MOST_STARTS = 16  # that are looked at coarsely
FLAT = 1e-6  # of the engine's range: smaller differences of neighbours are none

Grid = Float[np.ndarray, "K H A"]


def measure_smoothness(measurand: Measurand) -> Measured:
    """Costs over a grid of actions, each held for a whole plan, from the task start whose
    engine landscape has the steepest step.
    """
    domain = measurand.domain
    axes, horizon = min(MOST_AXES, domain.layout.action.width), domain.planner.horizon
    world = domain.simulator(measurand.constants)
    grid = _grid(SIDE, axes, horizon, domain.layout.action.width)
    task = _roughest(measurand, world, _grid(COARSE_SIDE, axes, horizon, domain.layout.action.width))
    futures = world.rollout(task.start_engine_state, grid)
    with predictor(measurand) as predict_in:
        predicted = predict_in(Windows(np.repeat(task.start[None], len(grid), axis=0), grid, futures))
    shape = (SIDE,) * axes
    engine, program = (np.asarray(domain.cost(states, task.goal)).reshape(shape) for states in (futures, predicted))
    return Measured(
        {
            "episode": task.episode,
            "step": task.step,
            "start": plain(task.start),
            "goal": plain(task.goal),
            "beside": _beside(measurand, task),
            "horizon": horizon,
            "action": plain(np.linspace(-1, 1, SIDE)),
            "engine": plain(engine),
            "program": plain(program),
            "merit": compare(program, engine),
        }
    )


def compare(program: np.ndarray, engine: np.ndarray) -> dict[str, float | None]:
    """How well one landscape stands for another; all costs are taken in units of the engine's range.

    `agreement` is the share of neighbours whose order is the same in both, `gap` the mean distance of costs,
    `engine_step` and `program_step` the largest difference of neighbours,
    `regret` what the engine says that the program's best action lacks of the best.
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


def _roughest(measurand: Measurand, world: Simulator, grid: Grid) -> Task:
    """Of the main benchmark's tasks, those that begin beside something fixed if there are any:
    the one with the steepest step.
    """
    places = sum(max(episode.num_rows - OFFSET, 0) for episode in measurand.held_out)
    tasks = draw_tasks(measurand.held_out, count=max(1, min(NUM_TASKS, places)), offset=OFFSET, seed=MAIN_SEED)
    near = [task for task in tasks if _beside(measurand, task)] or tasks
    some = [near[i] for i in np.unique(np.linspace(0, len(near) - 1, min(MOST_STARTS, len(near))).astype(int))]
    return max(some, key=lambda task: _steepest(measurand, world, task, grid))


def _steepest(measurand: Measurand, world: Simulator, task: Task, grid: Grid) -> float:
    """The largest difference of neighbours on a coarse grid, in units of the range."""
    costs = np.asarray(measurand.domain.cost(world.rollout(task.start_engine_state, grid), task.goal))
    square = costs.reshape(-1, COARSE_SIDE) if len(costs) > COARSE_SIDE else costs
    return float(np.abs(_steps(square)).max() / (np.ptp(costs) or 1.0))


def _beside(measurand: Measurand, task: Task) -> list[str]:
    """The fixed things that something nearly touches at the start."""
    graph = measurand.domain.scene.oracle(task.start, measurand.constants)
    fixed = {item.name for item in graph.objects if item.fixed}
    return sorted(
        {name for relation in graph.relations if relation.near_contact for name in (relation.subject, relation.object)}
        & fixed
    )


NUM_PICTURES = 3


def measure_audit(measurand: Measurand) -> Measured:
    """Precision, recall and errors as `vpw audit` measures them;
    outlines of both graphs, in pixels, for a few moments.
    """
    if measurand.episodes_seed == SEED:
        raise VpwError(
            f"The episodes of '{measurand.source}' have the seed {SEED}, as those that the calibration "
            "was fitted to; give others."
        )
    domain, seeing = measurand.domain, extractor(measurand.domain, measurand.constants)
    readings = list(read_moments(seeing, _moments(measurand)))
    chosen = {f"{i}": readings[i] for i in np.linspace(0, len(readings) - 1, NUM_PICTURES + 2).astype(int)[1:-1]}
    looks = {}
    for name, reading in chosen.items():
        oracle = domain.scene.oracle(reading.moment.state, measurand.constants)
        looks[name] = {
            "tool": {item: [plain(line) for line in lines] for item, lines in reading.sighting.outlines.items()},
            "oracle": {
                item: [plain(line) for line in lines]
                for item, lines in outlines(oracle, seeing.calibration.camera).items()
            },
        }
    data = {**dataclasses.asdict(audit(domain, seeing, readings)), "looks": looks}
    return Measured(data, {name: np.asarray(reading.moment.frames[-1]) for name, reading in chosen.items()})


def _moments(measurand: Measurand) -> Iterator[Moment]:
    """Moments spread evenly over the test episodes, with the frames before each;
    drawn anew where the file has no pictures.
    """
    world = measurand.domain.simulator(measurand.constants)
    places = [(episode, step) for episode in measurand.held_out for step in range(episode.num_rows)]
    for i in np.linspace(0, len(places) - 1, min(measurand.frames, len(places))).astype(int):
        episode, step = places[i]
        first = max(step - RECENT + 1, 0)
        if episode.frames is not None:
            frames = np.asarray(episode.frames[first : step + 1])
        else:
            frames = []
            for engine_state in episode.engine_states[first : step + 1]:
                world.set_engine_state(engine_state)
                frames.append(world.render())
        yield Moment(np.asarray(frames), episode.actions[first:step], episode.observations[step])


KINDS: Mapping[str, Callable[[Measurand], Measured]] = {
    "audit": measure_audit,
    "motion": measure_motion,
    "rollout": measure_rollout,
    "smoothness": measure_smoothness,
    "transition": measure_transition,
}


def measure_analysis(kind: str, measurand: Measurand) -> Analysis:
    """Measure one analysis; nothing is written."""
    if kind not in KINDS:
        raise UnknownName("analysis", kind, KINDS)
    measured = KINDS[kind](measurand)
    return Analysis(
        kind=kind,
        domain=measurand.domain.name,
        title=source_title(measurand.domain, measurand.source),
        source=measurand.source,
        method=measurand.method,
        program="" if measurand.program is None else measurand.program.hash,
        written_by=measurand.written_by,
        seed=measurand.seed,
        episodes=measurand.fingerprint,
        versions=versions(),
        data=measured.data,
        pictures=measured.pictures,
    )
