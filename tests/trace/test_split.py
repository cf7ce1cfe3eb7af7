"""Test episodes are never fitted to, validation episodes are not
either, and where there are too few to keep them apart that is said.
"""

import re
from pathlib import Path

import numpy as np
import pytest
from toy_program import RIGHT

import visualpatchworld as vpw
from visualpatchworld.cli import main
from visualpatchworld.domain import Domain
from visualpatchworld.errors import BadTrace
from visualpatchworld.induction.windows import split_trajectories
from visualpatchworld.paper.evaluation import EvalConfig
from visualpatchworld.trace.episode import Episode, for_fitting, for_tasks
from visualpatchworld.world.trajectory import Trajectory

TOO_FEW = "cannot be split into some to fit to and others to test on; at least 3 are needed"


def episodes(count: int) -> list[Episode]:
    return [
        Episode(index=index, observations=np.zeros((2, 1)), engine_states=np.zeros((2, 1)), actions=np.zeros((1, 1)))
        for index in range(count)
    ]


@pytest.mark.parametrize(("count", "tested"), [(3, 1), (4, 1), (7, 1), (8, 2), (10, 2), (50, 10)])
def test_every_episode_is_on_one_side(count: int, tested: int):
    fitted, kept = for_fitting(episodes(count)), for_tasks(episodes(count))
    assert [episode.index for episode in (*fitted, *kept)] == list(range(count))
    assert len(kept) == tested and len(fitted) >= 2


@pytest.mark.parametrize("count", [0, 1, 2])
def test_too_few_are_refused(count: int):
    for side in (for_fitting, for_tasks):
        with pytest.raises(BadTrace, match=re.escape(TOO_FEW)):
            side(episodes(count))


@pytest.mark.parametrize("count", [2, 3, 10, 40])
def test_recordings_are_trained_on_or_validated_on(count: int):
    recordings = [Trajectory(np.full((2, 1), float(i)), np.zeros((1, 1))) for i in range(count)]
    train, validation = split_trajectories(recordings, 0.2, np.random.default_rng(0))
    assert sorted(recording.observations[0, 0] for recording in (*train, *validation)) == list(range(count))
    assert len(validation) == max(1, round(0.2 * count)) and train
    with pytest.raises(BadTrace, match="at least 2 are needed"):
        split_trajectories(recordings[:1], 0.2, np.random.default_rng(0))


@pytest.mark.parametrize("count", [1, 2])
def test_nothing_that_speaks_of_such_episodes_goes_on_without_them(
    toy: Domain, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    traces = vpw.collect(toy, episodes=count, seed=1)
    program = vpw.load_program(toy, _program(tmp_path))
    for verb in (
        lambda: vpw.induce(toy, traces, sketch="push+drag"),
        lambda: vpw.rollout_errors(toy, program, traces, horizon=5),
        lambda: vpw.evaluate(toy, program, traces, tasks=1, offset=5),
    ):
        with pytest.raises(vpw.VpwError, match=re.escape(TOO_FEW)):
            verb()
    path = vpw.save_traces(toy, traces, tmp_path / "few.h5")
    monkeypatch.chdir(tmp_path)
    for command in ("induce slider --sketch push+drag", "plan slider --program world_model.py --episodes 1 --offset 5"):
        monkeypatch.setattr("sys.argv", ["vpw", *command.split(), "--traces", str(path)])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == 2
        said = capsys.readouterr().err
        assert TOO_FEW in said and said.count("\n") == 1


def test_tasks_are_drawn_from_test_episodes_alone(toy: Domain, tmp_path: Path):
    traces = vpw.collect(toy, episodes=3, seed=1)
    config = EvalConfig(
        domain=toy, constants=toy.constants, vary={}, method="vpw", program=vpw.load_program(toy, _program(tmp_path)), observe="oracle",
        score="induced", episodes=traces.episodes, source="toy", count=4, offset=5, seed=0, metric="at_goal",
    )  # fmt: skip
    assert {task.episode for task in config.tasks} == {2}


def _program(folder: Path) -> Path:
    path = folder / "world_model.py"
    path.write_text(RIGHT.text)
    return path
