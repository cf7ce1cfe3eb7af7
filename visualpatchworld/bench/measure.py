"""Measuring one cell: its tasks, its floors, its outcomes, and what is reported of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from visualpatchworld.bench.cell import NO_PROGRAM, Cell, Observe, Outcome, Score
from visualpatchworld.bench.condition import Condition, planning
from visualpatchworld.bench.evaluate import Try, acting_at_random, evaluate, resting, without_program
from visualpatchworld.bench.summary import Summary, summarize
from visualpatchworld.bench.task import draw_tasks, hash_tasks
from visualpatchworld.domain import Domain, Metric
from visualpatchworld.plan.planner import Scorer
from visualpatchworld.plan.scorer import InducedScorer
from visualpatchworld.plan.task import Task
from visualpatchworld.program.program import Program
from visualpatchworld.simulator import Constants
from visualpatchworld.trace.episode import Episode
from visualpatchworld.trace.split import for_fitting, for_tasks


@dataclass(frozen=True, kw_only=True)
class Request:
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
    scorer: Scorer | None = None  # of a program that must not run in this process; otherwise the program is compiled here
    written_by: str = ""  # model and budget, where a language model was to write the program

    @property
    def budget(self) -> int:
        return self.domain.budget_per_offset * self.offset

    @property
    def meets(self) -> Metric:
        return self.domain.metrics[self.metric]

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        return draw_tasks(for_tasks(self.episodes), count=self.count, offset=self.offset, seed=self.seed)

    @property
    def model(self) -> Scorer | None:
        if self.scorer is not None:
            return self.scorer
        return None if self.program is None else InducedScorer(self.program, self.domain.cost)

    @property
    def fingerprint(self) -> str:
        """Of the program that scores; the engine alone has none, and a method that should have one may have come away without."""
        if self.program is None:
            return "" if self.score == "simulator" else NO_PROGRAM
        return self.program.hash

    def cell(self, method: str, observe: Observe, score: Score) -> Cell:
        planned = score != "none"
        return Cell(
            domain=self.domain.name,
            method=method,
            observe=observe,
            score=score,
            metric=self.metric,
            offset=self.offset,
            budget=self.budget,
            seed=self.seed,
            source=self.source,
            planner=self.domain.planner.title if planned else "",
            vary=dict(self.vary),
            program=self.fingerprint if planned else "",
            tasks=hash_tasks(self.tasks),
            n=self.count,
            written_by=self.written_by if planned else "",
        )


def measure(folder: Path, request: Request) -> Iterator[Outcome]:
    """The outcomes of the planned attempts, those that were there already first."""
    cell = request.cell(request.method, request.observe, request.score)
    yield from evaluate(folder, cell, request.tasks, lambda: request.domain.simulator(request.constants), lambda: attempts(request))


def attempts(request: Request) -> Try:
    """The planned attempts that a request asks for, made ready."""
    if request.fingerprint == NO_PROGRAM:
        return without_program(request.meets)
    condition = Condition(
        domain=request.domain, constants=request.constants, model=request.model, observe=request.observe, score=request.score
    )
    library = [episode.actions[:-1] for episode in for_fitting(request.episodes)]
    return planning(condition, request.meets, request.budget, request.seed, library)


def measure_floors(folder: Path, request: Request) -> dict[str, Summary]:
    """What resting and acting at random achieve on the same tasks."""
    tries = {"zero": resting(request.meets, request.budget), "random": acting_at_random(request.meets, request.budget, request.seed)}
    floors = {}
    for name, attempt in tries.items():
        cell = request.cell(name, "oracle", "none")
        outcomes = evaluate(folder, cell, request.tasks, lambda: request.domain.simulator(request.constants), lambda a=attempt: a)
        floors[name] = summarize(list(outcomes))
    return floors


def report(request: Request, outcomes: Sequence[Outcome], floors: Mapping[str, Summary]) -> dict[str, Any]:
    """The fields of `vpw plan --json`."""
    summary = asdict(summarize(outcomes))
    return {
        "domain": request.domain.name,
        "method": request.method,
        "written_by": request.written_by,
        "observe": request.observe,
        "score": request.score,
        "metric": request.metric,
        "offset": request.offset,
        "budget": request.budget,
        "seed": request.seed,
        "source": request.source,
        "planner": request.domain.planner.title,
        **summary,
        "floor_zero": floors["zero"].success,
        "floor_random": floors["random"].success,
    }
