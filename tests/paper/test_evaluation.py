"""Cells measured on the toy domain: floors, conditions, repeatability, and going on after a stop."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from toy_program import BREAKS_LEFTWARDS, RIGHT

from visualpatchworld.domain import Domain
from visualpatchworld.paper.cell import Outcome
from visualpatchworld.paper.evaluation import Condition, EvalConfig, measure, measure_floors, report
from visualpatchworld.paper.task import summarize, wilson_percent
from visualpatchworld.plan.control import Oracle, Pixels
from visualpatchworld.plan.scorer import EngineScorer, HybridScorer, InducedScorer
from visualpatchworld.trace.episode import collect, for_tasks

COUNT = 6
Requests = Callable[..., EvalConfig]


@pytest.fixture
def asked(toy: Domain) -> Requests:
    episodes = tuple(collect(toy, toy.constants, episodes=5, seed=3))

    def of(**changes) -> EvalConfig:
        fields = {
            "domain": toy, "constants": toy.constants, "vary": {}, "method": "vpw", "program": RIGHT, "observe": "oracle",
            "score": "induced", "episodes": episodes, "source": "toy", "count": COUNT, "offset": 10, "seed": 4, "metric": "at_goal",
        }  # fmt: skip
        return EvalConfig(**(fields | changes))

    return of


def outcomes(folder: Path, config: EvalConfig) -> list[Outcome]:
    folder.mkdir(exist_ok=True)
    return list(measure(folder, config))


def without_times(folder: Path) -> list[dict]:
    rows = [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()]
    for row in rows:
        row["outcome"].pop("plan_seconds")
    return rows


def test_a_right_program_solves_the_tasks_without_an_engine(tmp_path: Path, asked: Requests):
    summary = summarize(outcomes(tmp_path, asked()))
    assert summary.success == 100
    assert (summary.n, summary.engine_rollouts_per_plan, summary.non_finite) == (COUNT, 0, 0)
    assert summary.ci95 == tuple(round(end, 1) for end in wilson_percent(COUNT, COUNT))


def test_a_wrong_program_does_worse(tmp_path: Path, asked: Requests):
    summary = summarize(outcomes(tmp_path, asked(program=BREAKS_LEFTWARDS)))
    assert summary.success < 100
    assert summary.non_finite > 0


def test_engine_rollouts_are_counted(tmp_path: Path, asked: Requests):
    hybrid = summarize(outcomes(tmp_path, asked(score="hybrid")))
    ceiling = summarize(outcomes(tmp_path, asked(score="simulator", program=None)))
    assert (hybrid.engine_rollouts_per_plan, ceiling.engine_rollouts_per_plan) == (4 * 15, 4 * 50)
    assert ceiling.success == 100


def test_conditions_put_observer_and_scorer_together(toy: Domain):
    model = InducedScorer(RIGHT, toy.cost)

    def condition(observe, score) -> Condition:
        return Condition(
            domain=toy,
            constants=toy.constants,
            model=model,
            observe=observe,
            score=score,
            planner=toy.planner,
            cost=toy.cost,
        )

    assert condition("oracle", "induced").scorer() is model
    hybrid, ceiling = condition("oracle", "hybrid").scorer(), condition("oracle", "simulator").scorer()
    assert isinstance(hybrid, HybridScorer) and hybrid.cheap is model and hybrid.share == 0.3
    assert isinstance(ceiling, EngineScorer)
    assert isinstance(condition("oracle", "induced").observer(), Oracle)
    assert isinstance(condition("tool", "induced").observer(), Pixels)


def test_same_seed_same_bytes_but_for_times(tmp_path: Path, asked: Requests):
    for folder in ("one", "two"):
        outcomes(tmp_path / folder, asked())
    assert without_times(tmp_path / "one") == without_times(tmp_path / "two")
    assert asked(seed=5).cell("vpw", "oracle", "induced").tasks != asked().cell("vpw", "oracle", "induced").tasks


def test_a_stopped_run_goes_on_and_ends_as_if_it_had_not(tmp_path: Path, asked: Requests):
    whole = outcomes(tmp_path / "whole", asked())
    (tmp_path / "stopped").mkdir()
    list(itertools.islice(measure(tmp_path / "stopped", asked()), 3))
    path = next((tmp_path / "stopped").glob("*.jsonl"))
    before = path.read_bytes()
    assert before.count(b"\n") == 3
    path.write_bytes(before[:-10])
    assert [row.task for row in outcomes(tmp_path / "stopped", asked())] == [row.task for row in whole]
    assert path.read_bytes().startswith(b"".join(before.splitlines(keepends=True)[:2]))
    assert without_times(tmp_path / "stopped") == without_times(tmp_path / "whole")


def test_a_finished_cell_is_read_not_computed(tmp_path: Path, asked: Requests, monkeypatch: pytest.MonkeyPatch):
    first = outcomes(tmp_path, asked())
    monkeypatch.setattr("visualpatchworld.paper.evaluation.planning", lambda *_: pytest.fail("planned again"))
    assert [row.success for row in outcomes(tmp_path, asked())] == [row.success for row in first]


def test_tasks_come_from_episodes_that_are_not_fitted_to(asked: Requests):
    config = asked()
    held_out = {episode.index for episode in for_tasks(config.episodes)}
    assert held_out == {4}
    assert {task.episode for task in config.tasks} <= held_out
    assert config.budget == 20


def test_floors_rest_and_act_at_random_on_the_same_tasks(tmp_path: Path, asked: Requests):
    config = asked()
    floors = measure_floors(tmp_path, config)
    assert set(floors) == {"zero", "random"}
    rows = without_times(tmp_path)
    rested = [np.array(row["outcome"]["actions"]) for row in rows if row["cell"]["method"] == "zero"]
    moved = [np.array(row["outcome"]["actions"]) for row in rows if row["cell"]["method"] == "random"]
    assert len(rested) == len(moved) == COUNT
    assert not any(actions.any() for actions in rested)
    assert all((np.abs(actions) <= 1).all() for actions in moved) and max(actions.std() for actions in moved) > 0.4
    assert {row["cell"]["tasks"] for row in rows} == {config.cell("vpw", "oracle", "induced").tasks}
    assert {row["cell"]["program"] for row in rows} == {""}
    told = report(config, outcomes(tmp_path, config), floors)
    assert (told["floor_zero"], told["floor_random"]) == (floors["zero"].success, floors["random"].success)
    wanted = (
        "domain observe score metric offset budget n seed success success_unsolved n_unsolved ci95 "
        "floor_zero floor_random"
    )
    assert {*wanted.split(), "engine_rollouts_per_plan", "plans", "seconds_per_plan_median"} <= set(told)


def test_tasks_solved_at_the_start_are_told_apart(tmp_path: Path, asked: Requests):
    rows = outcomes(tmp_path, asked(offset=1, count=20))
    summary = summarize(rows)
    assert 0 < sum(row.solved_at_start for row in rows) == summary.n - summary.n_unsolved
    unsolved = [row.success for row in rows if not row.solved_at_start]
    assert summary.success_unsolved == (100 * np.mean(unsolved) if unsolved else None)
    assert all(row.steps == row.plans == 0 for row in rows if row.solved_at_start)
