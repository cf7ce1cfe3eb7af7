"""Goals of other episodes, of files, of some fields and with a
scaled radius: which tasks they make, and what meets them.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from toy_program import RIGHT

from visualpatchworld.domain import DEFAULT, Domain
from visualpatchworld.errors import UnknownName, VpwError
from visualpatchworld.paper.evaluation import EvalConfig, measure, measure_floors
from visualpatchworld.paper.results import NoResults, read_results
from visualpatchworld.paper.tables import make_table
from visualpatchworld.paper.task import BadGoal, Goals, counted, draw_far_tasks, read_goal, summarize
from visualpatchworld.trace.episode import collect


def config(toy: Domain, **changes) -> EvalConfig:
    fields = {
        "domain": toy, "constants": toy.constants, "vary": {}, "method": "vpw", "program": RIGHT, "observe": "oracle", "score": "induced",
        "episodes": tuple(collect(toy, toy.constants, episodes=15, seed=3)), "source": "slider", "count": 4, "offset": 5, "seed": 0,
        "metric": "at_goal", "planner_name": DEFAULT, "brief": True,
    }  # fmt: skip
    return EvalConfig(**fields | changes)  # type: ignore[arg-type]


def test_starts_and_goals_are_of_different_episodes_and_apart(toy: Domain):
    episodes = tuple(collect(toy, toy.constants, episodes=6, seed=1))
    tasks = draw_far_tasks(episodes, count=20, seed=5, met=toy.metrics["at_goal"])
    assert [task.number for task in tasks] == list(range(20))
    owner = {episode.index: {tuple(row) for row in episode.observations} for episode in episodes}
    for task in tasks:
        assert tuple(task.start) in owner[task.episode]
        assert tuple(task.goal) not in owner[task.episode]
        assert not toy.metrics["at_goal"](task.start, task.goal)
    again = draw_far_tasks(episodes, count=20, seed=5, met=toy.metrics["at_goal"])
    assert [tuple(task.goal) for task in again] == [tuple(task.goal) for task in tasks]


def test_where_every_start_meets_the_goal_that_is_said(toy: Domain):
    with pytest.raises(VpwError, match="no start"):
        draw_far_tasks(
            tuple(collect(toy, toy.constants, episodes=3, seed=1)),
            count=1,
            seed=0,
            met=lambda state, goal: np.array(True),
        )


def test_the_success_radius_scales(toy: Domain):
    state, goal = np.array([0.05, 0.0]), np.zeros(2)
    assert toy.meets("at_goal")(state, goal)
    assert toy.meets("at_goal", 0.6)(state, goal)
    assert not toy.meets("at_goal", 0.4)(state, goal)


def test_fields_that_do_not_count_may_be_anything(toy: Domain):
    space = toy.scene.state_space
    goal = Goals(fields=(space.names[1],)).masked(np.array([9.0, 0.0]), space)
    assert math.isnan(goal[0]) and goal[1] == 0.0
    assert toy.meets("at_goal")(np.array([0.3, 0.0]), goal)
    assert counted(space, ()).all()
    owner = next(iter(space)).at.split(".")[0]
    assert counted(space, (owner,)).any()
    with pytest.raises(UnknownName):
        counted(space, ("moon",))


def test_a_goal_is_read_from_json(toy: Domain, tmp_path: Path):
    path = tmp_path / "goal.json"
    name = toy.scene.state_space.names[0]
    path.write_text(json.dumps({name: 0.4}))
    found = read_goal(path, toy, toy.constants)
    assert found[0] == 0.4 and math.isnan(found[1])
    for wrong in ("{}", '{"moon": 1}', f'{{"{name}": "far"}}', f'{{"{name}": null}}', "[1]", "7", "no json"):
        path.write_text(wrong)
        with pytest.raises((BadGoal, UnknownName)):
            read_goal(path, toy, toy.constants)


@pytest.mark.parametrize(
    "goals",
    [Goals("other-episode"), Goals("moving"), Goals("given", given=(0.3, math.nan)), Goals(tolerance=0.5)],
    ids=["other", "moving", "given", "precise"],
)
def test_goals_are_planned_for_kept_and_shown(toy: Domain, tmp_path: Path, goals: Goals):
    folder = tmp_path / "results" / "goals"
    folder.mkdir(parents=True)
    asked = config(toy, goals=goals, steps_allowed=40)
    outcomes = list(measure(folder, asked))
    measure_floors(folder, asked)
    assert summarize(outcomes).success >= 75
    assert all(outcome.states == () for outcome in outcomes)
    assert [outcome.success for outcome in measure(folder, asked)] == [outcome.success for outcome in outcomes]
    cell = asked.cell("vpw", "oracle", "induced")
    assert (cell.goals, cell.tolerance, cell.budget) == (goals.of, goals.tolerance, 40)
    assert read_results(folder).results[0].cell.goals == goals.of


def test_the_tables_of_goals_and_edits_ask_for_results(tmp_path: Path):
    (tmp_path / "results").mkdir()
    for name in ("goals", "edited"):
        with pytest.raises(NoResults, match=f"benchmarks/{name}.py"):
            make_table(name, read_results(tmp_path))


def test_every_goal_cost_is_at_least_the_distance(domain: Domain):
    rng = np.random.default_rng(0)
    size = len(domain.scene.state_space)
    states, goal = rng.uniform(-2, 2, (5, 7, size)), rng.uniform(-2, 2, size)
    for metric, distance in domain.goal_distances.items():
        cost = domain.cost_for("default", metric)
        assert (np.asarray(cost(states, goal)) >= distance(states, goal).min(axis=-1) - 1e-9).all()
        near = np.repeat(goal[None, None], 7, axis=1)
        assert bool(domain.metrics[metric](goal, goal)) and (distance(near, goal) == 0).all()
        assert np.asarray(domain.metrics[metric](states, goal)).tolist() == (distance(states, goal) < 1).tolist()


def test_every_domain_has_a_default_planner_beside_the_paper_s(domain: Domain):
    assert domain.planner_named("paper") is domain.planner
    assert domain.planner_named("default").horizon >= 1
    with pytest.raises(UnknownName):
        domain.planner_named("oracle")
