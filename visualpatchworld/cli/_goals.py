"""Planning for the goals of a domain, as `vpw plan` and `vpw run` do it: from options to a cell that is measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visualpatchworld.cli._groups import Planning
from visualpatchworld.cli._verb import changes
from visualpatchworld.domain import Domain
from visualpatchworld.errors import UnknownName, VpwError
from visualpatchworld.simulator import Constants

if TYPE_CHECKING:
    from visualpatchworld.paper.evaluation import EvalConfig
    from visualpatchworld.program.program import Program
    from visualpatchworld.program.sandbox import SandboxedRollouts

SCORES = ("induced", "hybrid", "sparing", "simulator")
KINDS_OF_GOALS = ("same-episode", "other-episode")


def goal_config(
    domain: Domain, constants: Constants, vary: Sequence[str] | None, planning: Planning, goal: Path | None, **more: Any
) -> EvalConfig:
    """The cell that the options describe, without a program yet; a name that is unknown is told before any work."""
    from visualpatchworld.paper.evaluation import EvalConfig
    from visualpatchworld.paper.task import Goals, counted, read_goal

    domain.planner_named(planning.planner)
    metric = planning.metric or next(iter(domain.metrics))
    if planning.score not in SCORES:
        raise UnknownName("way to score", planning.score, SCORES)
    if metric not in domain.metrics:
        raise UnknownName("metric", metric, domain.metrics)
    if planning.goals not in (None, *KINDS_OF_GOALS):
        raise UnknownName("kind of goals", planning.goals, KINDS_OF_GOALS)
    fields = tuple(name for name in (planning.goal_fields or "").split(",") if name)
    counted(domain.scene.state_space, fields)
    domain.meets(metric, planning.tolerance)
    given = None if goal is None else read_goal(goal, domain, constants)
    kind = "given" if given else planning.goals or "same-episode"
    return EvalConfig(
        domain=domain,
        constants=constants,
        vary=changes(vary),
        program=None,
        observe=planning.observe,
        score=planning.score,  # type: ignore[arg-type]
        offset=planning.offset,
        metric=metric,
        planner_name=planning.planner,
        horizon=planning.horizon,
        goals=Goals(kind, planning.tolerance, fields, given),  # type: ignore[arg-type]
        steps_allowed=planning.budget,
        **more,
    )


@contextmanager
def sandboxed(domain: Domain, model: Program | None, unfiltered: bool) -> Iterator[SandboxedRollouts | None]:
    """Rollouts of a domain's program in the sandbox; none where there is no program."""
    from visualpatchworld.program.sandbox import sandboxed_rollouts

    if model is None:
        yield None
        return
    names, action_dim = domain.scene.state_space.names, domain.layout.action.width
    with sandboxed_rollouts(model, names, action_dim, unfiltered=unfiltered) as rollouts:
        yield rollouts


def need_program(planning: Planning, program: Path | None, world: str) -> None:
    """Refuse a way to score that needs a program where none is given."""
    if program is None and planning.score != "simulator":
        raise VpwError(f"Scoring '{planning.score}' needs --program FILE.py; `vpw induce {world}` makes one.")
