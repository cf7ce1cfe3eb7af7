"""What a speed measurement needs, as plain data: a machine without
engines can read it and plan with the same program, cost and planner.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import inspect
import json
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
EPISODES, SEED, OFFSET = 12, 1, 25


@dataclasses.dataclass(frozen=True, kw_only=True)
class Workload:
    """One task of a domain, its frozen planner, a program, and where the cost is written."""

    domain: str
    program: str  # its text
    planner_kind: str
    planner: dict[str, Any]
    macros: list[list[list[float]]]  # of a planner that has a library
    state: list[float]
    goal: list[float]
    engine_state: list[float]
    action_dim: int
    planner_name: str = "paper"
    # Where the cost follows from the fields of the state: some of them, by number, and the success radius of each such
    # group.
    cost_terms: list[tuple[list[int], float]] = dataclasses.field(default_factory=list)
    cost_file: str = ""  # where it is a function of its own; relative to the repository, with no import but numpy
    cost_name: str = ""

    @property
    def key(self) -> str:
        """The domain, and the planner where that is not the frozen one."""
        return self.domain if self.planner_name == "paper" else f"{self.domain}:{self.planner_name}"

    def cost(self) -> Callable[[Any, Any], Any]:
        """The domain's cost, without the domain's engine."""
        if self.cost_terms:
            from visualpatchworld.task import FieldDistance, GoalCost

            return GoalCost(tuple((FieldDistance(tuple(fields)), radius) for fields, radius in self.cost_terms))
        spec = importlib.util.spec_from_file_location(f"{self.domain}_cost", ROOT / self.cost_file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return getattr(module, self.cost_name)


def make_workload(name: str, program: Path, planner_name: str = "paper") -> Workload:
    """The workload of a domain and one of its planners, from the first task of a few episodes of its own policy."""
    import numpy as np

    from visualpatchworld.domain import load_domain
    from visualpatchworld.paper.task import draw_tasks
    from visualpatchworld.plan.planner import Shooting, cut_macros
    from visualpatchworld.program.program import load_program
    from visualpatchworld.trace.episode import collect, for_fitting, for_tasks

    domain = load_domain(name)
    episodes = list(collect(domain, domain.constants, episodes=EPISODES, seed=SEED))
    task = draw_tasks(for_tasks(episodes), count=1, offset=OFFSET, seed=SEED)[0]
    planner, cost = domain.planner_named(planner_name), domain.cost_for(planner_name, next(iter(domain.metrics)))
    macros = []
    if isinstance(planner, Shooting):
        macros = cut_macros(
            [episode.actions for episode in for_fitting(episodes)], planner, np.random.default_rng(SEED)
        ).tolist()
    return Workload(
        domain=name,
        program=load_program(program, domain.scene.state_space, domain.layout.action.width).text,
        planner_kind=type(planner).__name__,
        planner=dataclasses.asdict(planner),
        macros=macros,
        state=task.start.tolist(),
        goal=task.goal.tolist(),
        engine_state=task.start_engine_state.tolist(),
        action_dim=domain.layout.action.width,
        planner_name=planner_name,
        **_written(cost),
    )


def _written(cost: Callable[[Any, Any], Any]) -> dict[str, Any]:
    """A cost as plain data: terms of fields that are no angles, or the place of a function."""
    from visualpatchworld.task import FieldDistance, GoalCost

    if isinstance(cost, GoalCost):
        named = [
            (metric, radius)
            for metric, radius in cost.terms
            if isinstance(metric, FieldDistance) and not any(metric.periods)
        ]
        assert len(named) == len(cost.terms)
        return {"cost_terms": [(list(metric.fields), radius) for metric, radius in named]}
    source = inspect.getsourcefile(cost)
    assert source is not None
    return {"cost_file": str(Path(source).resolve().relative_to(ROOT)), "cost_name": cost.__name__}


def write_workloads(path: Path, workloads: Sequence[Workload]) -> None:
    """All of them in one file."""
    path.write_text(json.dumps([dataclasses.asdict(workload) for workload in workloads]) + "\n", encoding="utf-8")


def read_workloads(path: Path) -> dict[str, Workload]:
    """By domain, and planner where that is not the frozen one."""
    workloads = [Workload(**row) for row in json.loads(path.read_text(encoding="utf-8"))]
    return {workload.key: workload for workload in workloads}


def without_engines() -> None:
    """Let the package's modules be imported without its start-up,
    which registers environments and so needs Gymnasium.
    """
    package = types.ModuleType("visualpatchworld")
    package.__path__ = [str(ROOT / "visualpatchworld")]
    start_up = (ROOT / "visualpatchworld" / "__init__.py").read_text(encoding="utf-8")
    vars(package)["__version__"] = start_up.split('__version__ = "')[1].split('"')[0]
    sys.modules["visualpatchworld"] = package
