"""The package as a library: a dozen verbs that chain, from the name of a world to a program that plans in it.

Every verb takes the domain first. Traces know the constants of the world they came from; inducing from them experiments
in that world, and evaluating on them acts in it, so that a changed world need be named only where it is collected.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, get_args, overload

import jax
import numpy as np
from jaxtyping import Float

from visualpatchworld.domain import DEFAULT, PAPER, Domain
from visualpatchworld.errors import BadTrace, UnknownName, VpwError
from visualpatchworld.files import make_folder
from visualpatchworld.films import write_films
from visualpatchworld.grammar.productions import Grammar, as_grammar
from visualpatchworld.induction.blackbox import black_box
from visualpatchworld.induction.discover import BUDGET, Discovery, discover, given_names
from visualpatchworld.induction.fields import read_fields
from visualpatchworld.induction.induce import Induction, choose_form, induce_from
from visualpatchworld.induction.reading import Reading
from visualpatchworld.induction.select import Evidence
from visualpatchworld.induction.windows import (
    ErrorTable,
    Windows,
    errors_by_horizon,
    prediction_errors,
    trajectories_of,
)
from visualpatchworld.paper.cell import Observe, Score
from visualpatchworld.paper.evaluation import EvalConfig, Evaluation, measure, measure_floors
from visualpatchworld.paper.task import Goals
from visualpatchworld.plan.planner import Situation
from visualpatchworld.plan.scorer import InducedScorer, RolloutScorer
from visualpatchworld.program import program as programs
from visualpatchworld.program.program import Program
from visualpatchworld.program.sandbox import Sandbox, SandboxedRollouts, sandboxed_rollouts
from visualpatchworld.scene.schema import Source
from visualpatchworld.trace.episode import Traces, episodes_of_arrays, for_fitting, for_tasks
from visualpatchworld.trace.episode import collect as collected
from visualpatchworld.trace.file import read_traces, write_traces
from visualpatchworld.world.collect import collect as collect_steps
from visualpatchworld.world.log_table import Columns
from visualpatchworld.world.open import open_world

SCORES: tuple[Score, ...] = ("induced", "hybrid", "sparing", "simulator")
Plan = Callable[..., Float[np.ndarray, "H A"]]


def collect(
    domain: Domain, *, episodes: int = 50, seed: int = 0, vary: Mapping[str, object] | None = None, pixels: bool = False
) -> Traces:
    """Episodes of the domain's own policy, in a world with some constants changed where `vary` says so.

    Example: `traces = vpw.collect(world, episodes=50, vary={"speed": 8.0})`
    """
    constants = domain.constants.varied(vary or {})
    return Traces(
        None,
        domain.name,
        constants,
        tuple(collected(domain.of(constants), constants, episodes=episodes, seed=seed, pixels=pixels)),
        seed,
    )


def load_traces(domain: Domain, path: Path | str) -> Traces:
    """The episodes of a file in the LeWM layout, whoever wrote it; pictures stay there until someone asks.

    Example: `traces = vpw.load_traces(world, "episodes.h5")`
    """
    return read_traces(Path(path), domain)


def traces_from_arrays(
    domain: Domain, runs: Iterable[tuple[Any, Any]], *, vary: Mapping[str, object] | None = None
) -> Traces:
    """Episodes from arrays: for each run T + 1 states (in the
    order and units of the domain) and the T actions between them.

    Example: `traces = vpw.traces_from_arrays(world, [(states, actions), ...])`
    """
    return episodes_of_arrays(domain, domain.constants.varied(vary or {}), runs)


def save_traces(domain: Domain, traces: Traces, path: Path | str) -> Path:
    """Write episodes to a file in the LeWM layout, which appears whole or not at all.

    Example: `vpw.save_traces(world, traces, "episodes.h5")`
    """
    write_traces(
        Path(path),
        traces.episodes,
        domain.of(traces.constants).layout,
        domain=traces.domain,
        constants=traces.constants,
        seed=traces.seed,
    )
    return Path(path)


def probe(
    domain: Domain, *, vary: Mapping[str, object] | None = None, seed: int = 0, thorough: bool = False
) -> Evidence:
    """Level 1 alone: short experiments in the world, and which form of the domain's family explains them.

    Example: `print(vpw.probe(world))` shows every candidate and the experiment that refuted it.
    """
    constants = domain.constants.varied(vary or {})
    domain = domain.of(constants)
    return choose_form(domain, black_box(domain, constants), np.random.default_rng(seed), thorough=thorough)


def look(
    world: Any,
    *,
    steps: int = 1000,
    fields: Mapping[str, str] | None = None,
    columns: Columns = Columns(),
    seed: int = 0,
) -> Reading:
    """What the fields of a world are, from a few of its steps or from
    its log: angles, velocities, time step, what is derived or noise.

    Example: `print(vpw.look("Pendulum-v1"))`
    """
    opened = open_world(world, columns=columns)
    seen = collect_steps(opened, steps, np.random.default_rng(seed))
    return read_fields(seen, opened.action_space, given_names(opened), opened.dt, fields)


@overload
def induce(
    world: Domain,
    traces: Traces,
    *,
    view: Source = "oracle",
    sketch: str | None = None,
    seed: int = 0,
    thorough: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Induction: ...


@overload
def induce(
    world: Any,
    traces: None = None,
    *,
    seed: int = 0,
    steps: int = BUDGET,
    seconds: float = 60.0,
    episodes: int | None = None,
    fields: Mapping[str, str] | None = None,
    columns: Columns = Columns(),
    grammar: Grammar | ModuleType | None = None,
    max_complexity: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Discovery: ...


def induce(
    world: Any,
    traces: Traces | None = None,
    *,
    view: Source = "oracle",
    sketch: str | None = None,
    seed: int = 0,
    thorough: bool = False,
    steps: int = BUDGET,
    seconds: float = 60.0,
    episodes: int | None = None,
    fields: Mapping[str, str] | None = None,
    columns: Columns = Columns(),
    grammar: Grammar | ModuleType | None = None,
    max_complexity: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Induction | Discovery:
    """A program of a world. Of anything that can be reset and stepped, or of a log, it is found by a search that is
    told nothing else: an environment, its id, a task of dm_control, a file, arrays; at most `steps` of the world are
    taken, in about so many `seconds` of CPU time. Where the names in a table leave open what is what, `columns` says it.
    `grammar` adds terms of your own to those that are tried, and `max_complexity` is the most terms that the rate of a
    field may have; with either, only the search for sums and rules runs.

    Of a domain with its traces it is found on both levels: experiments choose the form, and all episodes but the last
    fifth fit its constants.

    The last fifth are the test episodes, of which nothing is seen here. A random fifth of the others are the validation
    episodes: not fitted to, they choose among the last trials, and the errors that come along are on them. With
    `view="tool"` only pictures are seen; with `sketch` the form is named instead of chosen; `progress=print` says what
    is being done.

    Example: `found = vpw.induce(gymnasium.make("Pendulum-v1")); print(found); print(found.program)`
    Example: `found = vpw.induce("machine.csv", columns=vpw.Columns(action="voltage", dt=0.01))`
    Example: `found = vpw.induce(env, grammar=vpw.grammar + ["x0 * exp(-free(1.0) * x1)"], max_complexity=4)`
    Example: `found = vpw.induce(world, traces); print(found); Path("world_model.py").write_text(found.program.text)`
    """
    if traces is None:
        if view != "oracle" or sketch is not None or thorough:
            raise VpwError("`view`, `sketch` and `thorough` are for a domain with its traces; leave them out.")
        opened = open_world(world, columns=columns)
        return discover(
            opened,
            budget=steps,
            seed=seed,
            seconds=seconds,
            episodes=episodes,
            fields=fields,
            grammar=as_grammar(grammar, max_complexity),
            progress=progress,
        )
    unused = (steps, seconds, episodes, fields, columns, grammar, max_complexity)
    if unused != (BUDGET, 60.0, None, None, Columns(), None, None):
        raise VpwError(
            "`steps`, `seconds`, `episodes`, `fields`, `columns`, `grammar` and `max_complexity` are for a world "
            "without traces; leave them out."
        )
    domain: Domain = world
    fitted = for_fitting(_of(domain, traces).episodes)
    return induce_from(
        domain.of(traces.constants),
        traces.constants,
        fitted,
        view=view,
        seed=seed,
        sketch=sketch,
        thorough=thorough,
        progress=progress,
    )


def load_program(domain: Domain, path: Path | str, *, sandbox: bool = False, unfiltered: bool = False) -> Program:
    """A program from a file, emitted or edited, checked against the domain's state.

    A program is code, and the check runs it: in this process with all your rights, or with `sandbox=True` in a locked
    process and nowhere else. Give `sandbox=True` to `rollout_errors`, `evaluate`, `evaluate_return` and `as_env` as
    well; what takes no such argument runs the program in this process. `unfiltered=True` goes on where the machine
    cannot keep a program from your files.

    Example: `program = vpw.load_program(world, "world_model.py")`
    """
    space, action_dim = domain.scene.state_space, domain.layout.action.width
    if not sandbox:
        return programs.load_program(Path(path), space, action_dim)
    program = programs.read_program(Path(path))
    with Sandbox(program, space.names, action_dim, unfiltered=unfiltered):
        return program


def rollout_errors(
    domain: Domain,
    program: Program,
    traces: Traces,
    *,
    horizon: int = 25,
    seed: int = 0,
    sandbox: bool = False,
    unfiltered: bool = False,
) -> ErrorTable:
    """How far open-loop rollouts stray on the test episodes: quantity -> steps -> mean, median and 90th percentile.

    The program runs in this process, or with `sandbox=True` in a locked process and nowhere else.

    Those are the last fifth, which `induce` never sees; the errors that `induce` itself reports are on its validation
    episodes.

    Example: `vpw.rollout_errors(world, program, traces)["agent_px"][25]["median"]`
    """
    recordings = trajectories_of(for_tasks(_of(domain, traces).episodes))
    world, rng = domain.of(traces.constants), np.random.default_rng(seed)
    if not sandbox:
        return errors_by_horizon(program, recordings, world, rng, horizon)
    with _locked(domain, program, unfiltered) as rollouts:

        def predicted(windows: Windows) -> np.ndarray:
            return rollouts.each(windows.starts, windows.actions)

        return prediction_errors(predicted, recordings, world, rng, horizon)


def _locked(domain: Domain, program: Program, unfiltered: bool) -> AbstractContextManager[SandboxedRollouts]:
    return sandboxed_rollouts(
        program, domain.scene.state_space.names, domain.layout.action.width, unfiltered=unfiltered
    )


def make_planner(
    domain: Domain,
    program: Program,
    traces: Traces | None = None,
    *,
    planner: str = DEFAULT,
    metric: str | None = None,
    tolerance: float = 1.0,
) -> Plan:
    """A planner of the domain under this program, compiled: a
    function from a state and a goal to the actions of a plan.

    A program is code: compiled, it runs in this process with all your rights.

    A planner that chooses from a library of macros cuts them from the traces; the others need none. What of a goal is
    NaN does not matter. A goal may move: with a row for each step ahead, the plan is to meet it where it is then.
    `start` is a plan to begin around.

    Example: `plan = vpw.make_planner(world, program); actions = plan(state, goal, seed=0)`
    """
    metric = metric or next(iter(domain.metrics))
    if metric not in domain.metrics:
        raise UnknownName("metric", metric, domain.metrics)
    library = [] if traces is None else [episode.actions for episode in for_fitting(_of(domain, traces).episodes)]
    chosen = domain.planner_named(planner).within(tolerance)
    search = chosen.prepare(InducedScorer(program, domain.cost_for(planner, metric)), library, np.random.default_rng(0))
    resting = np.zeros((chosen.horizon, domain.layout.action.width))
    space = domain.scene.state_space

    def plan(
        state: Float[np.ndarray, " S"],
        goal: Float[np.ndarray, "*H S"],
        *,
        seed: int = 0,
        steps_left: int | None = None,
        start: Float[np.ndarray, "H A"] | None = None,
    ) -> Float[np.ndarray, "H A"]:
        rows = np.asarray(goal, np.float64)
        for row in np.atleast_2d(rows):
            space.checked(np.where(np.isnan(row), 0.0, row))
        situation = Situation(space.checked(state), rows, steps_left=steps_left)
        return search(situation, resting if start is None else np.asarray(start), jax.random.key(seed)).actions

    return plan


def evaluate(
    domain: Domain,
    program: Program,
    traces: Traces,
    *,
    tasks: int = 50,
    offset: int = 25,
    seed: int = 42,
    observe: Observe = "oracle",
    score: Score = "induced",
    metric: str | None = None,
    planner: str = DEFAULT,
    goals: Goals = Goals(),
    results: Path | str | None = None,
    sandbox: bool = False,
    unfiltered: bool = False,
) -> Evaluation:
    """How often planning with the program reaches goals `offset`
    steps ahead, on tasks from the test episodes, the last fifth.

    `planner` names one of the domain's; "paper" is the frozen one of the tables. `goals` says whether goals are of
    other episodes, how closely they have to be met, and which fields count.

    A program is code. It runs in this process with all your rights, or with `sandbox=True` in a locked process and
    nowhere else; `unfiltered=True` goes on where the machine cannot keep it from your files.

    Acting is always in the true simulator. What resting and acting at random reach on the same tasks comes along. With
    `results`, outcomes are kept in that folder and not computed again.

    Example: `print(vpw.evaluate(world, found.program, traces, tasks=20))`
    """
    metric = metric or next(iter(domain.metrics))
    for kind, name, known in (
        ("metric", metric, domain.metrics),
        ("way to score", score, SCORES),
        ("way to observe", observe, get_args(Observe)),
        ("planner", planner, (PAPER, DEFAULT, *domain.planners)),
    ):
        if name not in known:
            raise UnknownName(kind, name, known)
    if tasks < 1 or offset < 1:
        raise VpwError(
            f"Ask for at least one task, with its goal at least one step ahead, not for {tasks} with "
            f"goals {offset} ahead."
        )
    config = EvalConfig(
        domain=domain.of(_of(domain, traces).constants),
        constants=traces.constants,
        vary=_changes(domain, traces),
        method="vpw",
        program=program,
        observe=observe,
        score=score,
        episodes=traces.episodes,
        source="collected" if traces.path is None else traces.path.stem,
        count=tasks,
        offset=offset,
        seed=seed,
        metric=metric,
        planner_name=planner,
        goals=goals,
    )
    running = _locked(domain, program, unfiltered) if sandbox else nullcontext()
    with TemporaryDirectory() as passing, running as rollouts:
        folder = make_folder(Path(passing if results is None else results))
        if rollouts is not None:
            config = dataclasses.replace(config, scorer=RolloutScorer(rollouts, config.cost))
        return Evaluation(config, tuple(measure(folder, config)), measure_floors(folder, config))


def film(evaluation: Evaluation, folder: Path | str, *, count: int = 3) -> list[Path]:
    """Films of the first tasks not solved at their start, as MP4 and GIF: what was imagined, over what happened.

    The program runs in this process for it, so that an evaluation in the sandbox is not filmed.

    Example: `vpw.film(vpw.evaluate(world, program, traces), "films")`
    """
    if evaluation.config.scorer is not None:
        raise VpwError(
            "A film imagines with the program in this process; read the program, then evaluate it without a sandbox."
        )
    return list(write_films(make_folder(Path(folder)), evaluation.config, count))


def _of(domain: Domain, traces: Traces) -> Traces:
    if traces.domain != domain.name:
        raise BadTrace(f"These episodes are of the domain '{traces.domain}', not of '{domain.name}'.")
    return traces


def _changes(domain: Domain, traces: Traces) -> dict[str, str]:
    """How the world of the traces differs from the nominal one."""
    nominal: dict[str, Any] = dataclasses.asdict(domain.constants)
    return {name: str(value) for name, value in dataclasses.asdict(traces.constants).items() if value != nominal[name]}
