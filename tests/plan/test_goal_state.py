"""Reaching a given state in a world that is no domain."""

import json
from pathlib import Path

import numpy as np
import pytest
from plan.truths import PENDULUM

import visualpatchworld as vpw
from visualpatchworld.plan.goal_state import BadGoal, Wanted, told_goal
from visualpatchworld.plan.return_search import ReturnPlanner

PLANNER = ReturnPlanner(horizon=50, samples=128, rounds=3, elites=12, execute=5)


def test_a_pendulum_is_put_upright_and_at_rest():
    program, planner = PENDULUM, PLANNER
    reached = vpw.evaluate_goal(
        "Pendulum-v1", program, {"theta": 0.0, "omega": (0.0, 0.5)}, planner, episodes=2, budget=100
    )
    print(reached.report["success"], reached.report["steps"], reached.report["floor_random"])
    assert reached.report["success"] == 100 > reached.report["floor_zero"]
    tolerances = {one.name: one.tolerance or 0.0 for one in reached.goal}
    assert tolerances["omega"] == 0.5
    assert 0.02 < tolerances["theta"] < 0.3  # a twentieth of its spread
    assert all(0 <= steps <= reached.budget for steps in reached.steps if steps is not None)


def test_goals_are_told_in_words_in_files_and_in_mappings(tmp_path: Path):
    goal = (Wanted("angle", 0.0), Wanted("speed", -1.5, 0.2))
    assert told_goal("angle=0, speed=-1.5+-0.2") == goal
    assert told_goal({"angle": 0, "speed": [-1.5, 0.2]}) == goal
    file = tmp_path / "state.json"
    file.write_text(json.dumps({"angle": 0.0, "speed": [-1.5, 0.2]}), encoding="utf-8")
    assert told_goal(file) == goal


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ("angle=up", "NAME=NUMBER"),
        ("nowhere.json", "no file"),
        ({"angle": "up"}, "must be a number"),
        ({"angle": [0.0, -1.0]}, "positive"),
        ({"angle": float("nan")}, "must be a number"),
        ({}, "no field"),
    ],
)
def test_what_is_no_goal_is_told_in_a_sentence(told, sentence: str):
    with pytest.raises(BadGoal, match=sentence):
        told_goal(told)


def test_a_field_that_is_not_there_is_named():
    with pytest.raises(vpw.VpwError, match="angel"):
        vpw.evaluate_goal("Pendulum-v1", PENDULUM, "angel=0")


def test_planning_is_a_verb_of_the_library():
    with pytest.raises(vpw.VpwError, match="angel"):
        vpw.plan("Pendulum-v1", PENDULUM, goal="angel=0")
    with pytest.raises(vpw.VpwError, match="one that runs"):
        vpw.plan((np.zeros((5, 3)), np.zeros((4, 1))), PENDULUM)
