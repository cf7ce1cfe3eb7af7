"""What counts as right, in every domain, and how transitions are shown."""

import numpy as np
from paper.baselines.conftest import StudyOf

from visualpatchworld.domain import Domain
from visualpatchworld.paper.baselines.answer import action_kind, example, judge, right, transitions_of
from visualpatchworld.paper.baselines.poe_world import field_tolerances
from visualpatchworld.world.trajectory import Trajectory


def test_every_quantity_has_a_tolerance_below_what_success_forgives(domain: Domain):
    assert set(domain.transition_tolerances) == set(domain.error_metrics)
    simulator = domain.make()
    simulator.reset(seed=0)
    state = simulator.get_state()
    metric = next(iter(domain.metrics.values()))
    for i, size in enumerate(
        field_tolerances(
            domain, transitions_of([Trajectory(np.stack([state, state]), np.zeros((1, simulator.action_dim)))])
        )
    ):
        moved = state.copy()
        moved[i] += size
        assert metric(moved, state), (
            f"{domain.name}: one step that counts as right would miss the goal by {domain.scene.state_space.names[i]}"
        )


def test_right_is_within_every_tolerance_and_finite(toy: Domain):
    truth = np.array([[1.0, 0.5]] * 4)
    predicted = truth + np.array([[0.0, 9.0], [0.0049, 0.0], [0.0051, 0.0], [np.nan, 0.0]])
    assert right(toy, predicted, truth).tolist() == [True, True, False, False]


def test_an_action_is_named_by_its_strongest_part():
    assert action_kind(np.array([0.3, -0.8])) == "-action[1]"
    assert action_kind(np.array([0.05, -0.02])) == "rest"


def test_an_example_shows_what_changed(study_of: StudyOf):
    study = study_of([])
    line = example(study.domain.scene.state_space, study.train, 0)
    assert line.startswith("State(puck_x=") and "action=[" in line and "-> puck_x=" in line


def test_prompts_keep_to_their_length(study_of: StudyOf):
    study = study_of([], prompt_tokens=400)
    rows = list(range(60))
    short = study.prompt("worldcoder_first", study.examples(rows))
    assert len(short) <= 400 * 2.2 + 200
    assert 1 <= short.count("State(puck_x=") < 60
    study.prompt_tokens = 100_000
    assert study.prompt("worldcoder_first", study.examples(rows)).count("State(puck_x=") == 60


def test_the_judge_says_which_way_it_ran(study_of: StudyOf):
    study = study_of([])
    head = "from typing import NamedTuple\nclass State(NamedTuple):\n    puck_x: float\n    puck_vx: float\n"
    verdict = judge(head + "def step(state, action):\n    return state\n", study.train, study.domain)
    assert (verdict.way, verdict.loads) == ("batched", True)
    assert 0 < verdict.score < 0.5
    refused = judge("import os\n" + head, study.train, study.domain)
    assert (refused.loads, refused.score) == (False, 0.0) and "not 'os'" in (refused.obstacle or "")
