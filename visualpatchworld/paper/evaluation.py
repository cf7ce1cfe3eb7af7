"""One evaluation: what an agent sees and scores with, attempts at every task, floors beside them,
and the report of it all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from visualpatchworld.domain import PAPER, Cost, Domain, Metric
from visualpatchworld.errors import VpwError
from visualpatchworld.paper.cell import NO_PROGRAM, Cell, Observe, Outcome, Score, open_cell, outcome_of, versions
from visualpatchworld.paper.task import EpisodeStep, Goals, Summary, draw_far_tasks, draw_tasks, hash_tasks, summarize
from visualpatchworld.plan.control import Attempt, Observer, Oracle, Pixels, Task, control, follow
from visualpatchworld.plan.planner import Planner, Scorer
from visualpatchworld.plan.scorer import EngineScorer, HybridScorer, InducedScorer, RolloutScorer, SparingScorer
from visualpatchworld.program.program import Program
from visualpatchworld.scene.calibrate import extractor
from visualpatchworld.simulator import Constants, Simulator
from visualpatchworld.trace.episode import Episode, for_fitting, for_tasks

Agent = Callable[[Task, Simulator], Attempt]  # attempts a task in a world that stands at its start


def evaluate(
    folder: Path,
    cell: Cell,
    tasks: Sequence[Task],
    make_world: Callable[[], Simulator],
    make_agent: Callable[[], Agent],
    *,
    brief: bool = False,
) -> Iterator[Outcome]:
    """The outcome of each task, from the cell's file or computed now;
    an agent is only made when something is missing.
    """
    with open_cell(folder, cell, versions()) as file:
        missing = [task for task in tasks if task.number not in file.outcomes]
        yield from (file.outcomes[task.number] for task in tasks if task.number in file.outcomes)
        if not missing:
            return
        world, attempt = make_world(), make_agent()
        for task in missing:
            world.reset(seed=cell.seed, options={"engine_state": task.start_engine_state})
            outcome = outcome_of(task, attempt(task, world), brief=brief)
            file.add(outcome)
            yield outcome


def zero_actions(meets: Metric, budget: int) -> Agent:
    """The floor of zero actions."""
    return lambda task, world: follow(world, task.goal, meets, np.zeros((budget, world.action_dim)))


def random_actions(meets: Metric, budget: int, seed: int) -> Agent:
    """The floor of random actions; a task's actions depend on the seed and its number alone."""

    def attempt(task: Task, world: Simulator) -> Attempt:
        rng = np.random.default_rng([seed, task.number])
        return follow(world, task.goal, meets, rng.uniform(-1.0, 1.0, (budget, world.action_dim)))

    return attempt


def without_program(meets: Metric) -> Agent:
    """What a method achieves that has no program to plan with:
    it never acts, and fails even where nothing was left to do.
    """

    def attempt(task: Task, world: Simulator) -> Attempt:
        state = world.get_state()
        return Attempt(False, bool(meets(state, task.goal)), state[None], np.empty((0, world.action_dim)), ())

    return attempt


@dataclass(frozen=True, kw_only=True)
class Condition:
    """An observation path, a scoring model and a planner for one domain."""

    domain: Domain
    constants: Constants  # of the true world, and of the engine where that scores
    model: Scorer | None  # the program's; none is needed where the engine scores alone
    observe: Observe
    score: Score
    planner: Planner
    cost: Cost

    def observer(self) -> Observer:
        if self.observe == "oracle":
            return Oracle()
        rollouts = self.model.rollouts if isinstance(self.model, InducedScorer | RolloutScorer) else None
        return Pixels(extractor(self.domain, self.constants), self.domain.simulator(self.constants), rollouts)

    def scorer(self) -> Scorer:
        """An induced scorer holds no simulator; the others get an engine of their own, apart from the true world."""
        if self.score == "induced":
            assert self.model is not None
            return self.model
        engine = EngineScorer(self.domain.simulator(self.constants), self.cost)
        if self.score == "simulator":
            return engine
        assert self.model is not None
        if self.score == "sparing":
            if not isinstance(self.model, InducedScorer):
                raise VpwError(
                    "Sparing the engine needs a program whose errors can be read here; it does not go with --sandbox."
                )
            return SparingScorer(self.model, engine)
        return HybridScorer(self.model, engine)


def planning(
    condition: Condition, meets: Metric, budget: int, seed: int, training_actions: Sequence[Float[np.ndarray, "T A"]]
) -> Agent:
    """Attempts by receding-horizon control; a task's draws depend on the seed and its number alone."""
    planner = condition.planner
    search = planner.prepare(condition.scorer(), training_actions, np.random.default_rng(seed))
    observer = condition.observer()

    def attempt(task: Task, world: Simulator) -> Attempt:
        return control(world, task, meets, budget, observer, planner, search, seed=1000 * seed + task.number)

    return attempt


@dataclass(frozen=True, kw_only=True)
class EvalConfig:
    """What is to be measured: a method's model in a condition, on tasks drawn from episodes."""

    domain: Domain
    constants: Constants
    vary: Mapping[str, str]  # how the constants differ from the nominal ones
    method: str
    program: Program | None
    observe: Observe
    score: Score
    episodes: Sequence[Episode]
    source: str
    count: int
    offset: int
    seed: int
    metric: str
    # Of a program that must not run in this process; otherwise the program is compiled here.
    scorer: Scorer | None = None
    written_by: str = ""  # model and budget, where a language model was to write the program
    planner_name: str = PAPER
    # Steps that the planner predicts and executes at a time, where that is not its own business.
    horizon: int | None = None
    goals: Goals = field(default=Goals())
    steps_allowed: int | None = None  # where that is not what the protocol allows
    brief: bool = False  # the ways of attempts are not kept: of long ones there are too many

    @property
    def budget(self) -> int:
        if self.steps_allowed is not None:
            return self.steps_allowed
        return (
            self.domain.budget_per_offset * self.offset if self.goals.of == "same-episode" else self.domain.far_budget
        )

    @property
    def planner(self) -> Planner:
        planner = self.domain.planner_named(self.planner_name).within(self.goals.tolerance)
        return planner if self.horizon is None else planner.looking(self.horizon)

    @property
    def _frozen(self) -> bool:
        """Whether the planner is the protocol's, whose values never change."""
        return self.domain.planner_named(self.planner_name) == self.domain.planner

    @property
    def cost(self) -> Cost:
        return self.domain.cost_for(self.planner_name, self.metric)

    @property
    def meets(self) -> Metric:
        return self.domain.meets(self.metric, self.goals.tolerance)

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        episodes, space = for_tasks(self.episodes), self.domain.scene.state_space
        if self.goals.of == "same-episode":
            tasks = draw_tasks(episodes, count=self.count, offset=self.offset, seed=self.seed)
            return tuple(replace(task, goal=self.goals.masked(task.goal, space)) for task in tasks)

        def met(state: np.ndarray, goal: np.ndarray) -> np.ndarray:
            return self.meets(state, self.goals.masked(goal, space))

        tasks = draw_far_tasks(
            episodes, count=self.count, seed=self.seed, met=met, given=self._given, moves=self.goals.of == "moving"
        )
        return tuple(replace(task, goal=self.goals.masked(task.goal, space)) for task in tasks)

    @property
    def _given(self) -> EpisodeStep | None:
        """The goal that a person gave, as an episode of one moment;
        whatever does not matter there is as in the first test episode.
        """
        if self.goals.given is None:
            return None
        goal = np.array(self.goals.given)
        whole = np.where(np.isnan(goal), for_tasks(self.episodes)[0].observations[0], goal)
        world = self.make_world()
        world.reset(seed=0)
        world.set_state(whole)
        return EpisodeStep(
            Episode(
                index=-1,
                observations=goal[None],
                engine_states=world.get_engine_state()[None],
                actions=np.zeros((0, world.action_dim)),
            ),
            0,
        )

    @property
    def model(self) -> Scorer | None:
        if self.scorer is not None:
            return self.scorer
        return None if self.program is None else InducedScorer(self.program, self.cost)

    @property
    def fingerprint(self) -> str:
        """Of the program that scores; the engine alone has none, and a method that should
        have one may have come away without.
        """
        if self.program is None:
            return "" if self.score == "simulator" else NO_PROGRAM
        return self.program.hash

    def make_world(self) -> Simulator:
        """The true world."""
        return self.domain.simulator(self.constants)

    def cell(self, method: str, observe: Observe, score: Score) -> Cell:
        planned = score != "none"
        return Cell(
            domain=self.domain.name,
            method=method,
            observe=observe,
            score=score,
            metric=self.metric,
            offset=self.offset if self.goals.of == "same-episode" else 0,
            budget=self.budget,
            seed=self.seed,
            source=self.source,
            planner=self.planner.title if planned else "",
            vary=dict(self.vary),
            program=self.fingerprint if planned else "",
            tasks=hash_tasks(self.tasks),
            n=self.count,
            written_by=self.written_by if planned else "",
            goals=self.goals.of,
            goal_fields=",".join(self.goals.fields),
            tolerance=self.goals.tolerance,
            search="" if not planned or self._frozen else self.planner.values,
        )


def measure(folder: Path, config: EvalConfig) -> Iterator[Outcome]:
    """The outcomes of the planned attempts, those that were there already first."""
    cell = config.cell(config.method, config.observe, config.score)
    yield from evaluate(folder, cell, config.tasks, config.make_world, lambda: agent(config), brief=config.brief)


def agent(config: EvalConfig) -> Agent:
    """What plans as the configuration asks, made ready."""
    if config.fingerprint == NO_PROGRAM:
        return without_program(config.meets)
    condition = Condition(
        domain=config.domain,
        constants=config.constants,
        model=config.model,
        observe=config.observe,
        score=config.score,
        planner=config.planner,
        cost=config.cost,
    )
    library = [episode.actions for episode in for_fitting(config.episodes)]
    return planning(condition, config.meets, config.budget, config.seed, library)


def measure_floors(folder: Path, config: EvalConfig) -> dict[str, Summary]:
    """What zero and random actions achieve on the same tasks."""
    agents = {
        "zero": zero_actions(config.meets, config.budget),
        "random": random_actions(config.meets, config.budget, config.seed),
    }
    floors = {}
    for name, floor in agents.items():
        cell = config.cell(name, "oracle", "none")
        outcomes = evaluate(
            folder, cell, config.tasks, config.make_world, lambda floor=floor: floor, brief=config.brief
        )
        floors[name] = summarize(list(outcomes))
    return floors


def report(config: EvalConfig, outcomes: Sequence[Outcome], floors: Mapping[str, Summary]) -> dict[str, Any]:
    """The fields of `vpw plan --json`."""
    summary = asdict(summarize(outcomes))
    return {
        "domain": config.domain.name,
        "method": config.method,
        "written_by": config.written_by,
        "observe": config.observe,
        "score": config.score,
        "metric": config.metric,
        "offset": config.offset if config.goals.of == "same-episode" else 0,
        "goals": config.goals.of,
        "goal_fields": list(config.goals.fields),
        "tolerance": config.goals.tolerance,
        "budget": config.budget,
        "seed": config.seed,
        "source": config.source,
        "planner": config.planner.title,
        "planner_name": config.planner_name,
        **summary,
        "floor_zero": floors["zero"].success,
        "floor_random": floors["random"].success,
    }


@dataclass(frozen=True)
class Evaluation:
    """What was asked, what came of each task, and the floors."""

    config: EvalConfig
    outcomes: tuple[Outcome, ...]
    floors: Mapping[str, Summary]

    @property
    def summary(self) -> Summary:
        return summarize(self.outcomes)

    @property
    def success(self) -> float:
        """In percent of all tasks."""
        return self.summary.success

    @property
    def report(self) -> dict[str, Any]:
        """The fields of `vpw plan --json`."""
        return report(self.config, self.outcomes, self.floors)

    def __repr__(self) -> str:
        return (
            f"<Evaluation in {self.config.domain.name}: {self.success:.0f} % of {len(self.outcomes)} "
            "tasks; print it for the floors>"
        )

    def __str__(self) -> str:
        """The score with all that is needed to judge it."""
        summary, config = self.summary, self.config
        low, high = summary.ci95
        lines = [
            f"success {summary.success:.1f} % of {summary.n} tasks, 95 % interval {low:.1f} to {high:.1f}",
            f"  {config.metric} within {config.budget} steps, {config.goals.told(config.offset)}, seed {config.seed}",
            "  floors on the same tasks: "
            + ", ".join(f"{name} actions {self.floors[name].success:.1f} %" for name in ("zero", "random")),
        ]
        if summary.success_unsolved is not None:
            lines.append(f"  of the {summary.n_unsolved} not solved at their start: {summary.success_unsolved:.1f} %")
        return "\n".join(lines)
