"""A session without a browser: constants are turned, goals set, plans done, and the truth stays true."""

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from toy_program import RIGHT

from visualpatchworld.errors import VpwError
from visualpatchworld.live import session as sessions
from visualpatchworld.live.session import CannotAim, Session
from visualpatchworld.live.start import start
from visualpatchworld.live.worlds import LoggedTruth, RunningTruth
from visualpatchworld.paper.record import find_program
from visualpatchworld.program.program import Program
from visualpatchworld.world.open import open_world

PENDULUM = Path(__file__).parents[2] / "programs" / "worlds" / "Pendulum-v1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "world_model.py").write_text(RIGHT.text)
    return tmp_path


@pytest.fixture
def session(folder: Path) -> Session:
    return start(find_program(folder), world="slider", horizon=10)


@pytest.fixture(scope="module")
def pendulum() -> Session:
    return start(find_program(PENDULUM), horizon=25)


def test_the_right_program_imagines_the_truth(session: Session):
    assert session.true.shape == session.motion.observations.shape == (11, 2)
    assert session.errors.max() < 1e-9


def test_turning_a_constant_parts_imagined_from_true(session: Session):
    wrong = sessions.turned(session, 0, 4.0)
    assert np.array_equal(wrong.true, session.true)
    assert wrong.errors[-1].max() > 0.01
    assert wrong.errors[0].max() == 0
    assert [(dial.name, value) for dial, value in wrong.changed] == [("PUSH", 4.0)]
    assert sessions.turned_back(wrong, [0]).errors.max() < 1e-9
    # The session before is a value of its own, and is as it was.
    assert session.values[0] == 3.0


def test_a_turned_constant_is_imagined_as_an_edited_program_would(session: Session):
    wrong = sessions.turned(session, 1, 0.2)
    step, state = Program(RIGHT.text).edited({"DRAG": 0.2}).bind("numpy"), session.true[0]
    found = step.State(*state)
    for action in session.actions:
        found = step.step(found, action)
    assert wrong.motion.observations[-1] == pytest.approx(np.array(found))


def test_a_plan_is_done_in_the_true_world(session: Session):
    aimed = sessions.aimed(session, 0, float(session.true[0, 0] + 0.3))
    planned = sessions.planned(aimed, 0)
    assert planned.planned and len(planned.true) == 11
    assert planned.errors.max() < 1e-6
    away = [abs(one.true[:, 0] - aimed.goal.values[0]).min() for one in (session, planned)]
    assert away[1] < away[0]


def test_going_on_and_going_back(session: Session):
    later = sessions.stepped(session, 3)
    assert later.start == 3
    assert np.array_equal(later.true[:8], session.true[3:])
    elsewhere = sessions.perturbed(later, 2)
    assert elsewhere.start == 5
    assert not np.array_equal(elsewhere.true[0], session.true[5])
    assert elsewhere.errors.max() < 1e-9
    assert np.array_equal(sessions.begun(elsewhere, 0).true, session.true)
    assert not np.array_equal(sessions.begun(elsewhere, 1).true, session.true)


def test_goals_stay_within_their_bounds(session: Session):
    assert sessions.aimed(session, 0, 1e9).goal.values[0] == session.high[0]
    assert sessions.aimed(session, 0, np.nan) is session


def test_edits_are_saved_as_a_new_program(session: Session, folder: Path):
    with pytest.raises(CannotAim, match="nothing new"):
        sessions.saved(session, folder, "world_model")
    changed = sessions.turned(session, 0, 2.5)
    paths = [sessions.saved(changed, folder, "world_model") for _ in range(2)]
    assert [path.name for path in paths] == ["world_model_edited.py", "world_model_edited_2.py"]
    assert (folder / "world_model.py").read_text() == RIGHT.text
    again = start(find_program(paths[0]), world="slider", horizon=10)
    assert again.imagination.program.constants["PUSH"] == 2.5
    assert "PUSH 3.0 -> 2.5" in paths[0].read_text()
    assert again.motion.observations == pytest.approx(changed.motion.observations)


def test_any_world_without_a_scene(pendulum: Session):
    assert pendulum.drawing is None and pendulum.aim == "reward"
    assert (pendulum.errors / pendulum.spread).max() < 1e-3
    gravity = [dial.name for dial in pendulum.dials].index("ANGLE_PULL")
    assert (sessions.turned(pendulum, gravity, 25.0).errors / pendulum.spread).max() > 0.1


def test_a_log_plays_as_the_truth(pendulum: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    truth = pendulum.truth.seen
    log = tmp_path / "log.npz"
    np.savez(log, observations=truth.observations[None], actions=truth.actions[None])
    session = start(find_program(PENDULUM), traces=log, horizon=10)
    assert isinstance(session.truth, LoggedTruth)
    assert np.allclose(session.true, truth.observations[:11])
    assert (session.errors / session.spread).max() < 1e-3
    assert 0 <= sessions.perturbed(session, 0).start < len(truth)
    monkeypatch.setattr(sessions, "search", lambda session: np.zeros((session.horizon, 1)))
    imagined = sessions.planned(sessions.aimed(session, 0, 0.5), 0)
    assert len(imagined.true) == 1 and len(imagined.motion.observations) == 11


def test_a_world_that_cannot_be_copied_is_replayed():
    class Forgetful(RunningTruth):
        def __init__(self, *given):
            super().__init__(*given)
            self._copies = False
            self.begin(0)

    truth = Forgetful(open_world(gym.make("Pendulum-v1")))
    truth.reach(6)
    before = truth.seen
    truth.act(3, np.zeros((2, 1)))
    assert np.allclose(truth.seen.observations[:4], before.observations[:4])
    assert not truth.seen.actions[3:].any() and len(truth.seen) == 5


def test_what_is_missing_is_one_sentence(folder: Path, tmp_path: Path):
    with pytest.raises(VpwError, match="--world WORLD"):
        start(find_program(folder))
    with pytest.raises(VpwError, match="no program"):
        find_program(tmp_path / "nowhere")
    with pytest.raises(VpwError, match="No world 'nonsense'"):
        start(find_program(folder), world="nonsense")
    with pytest.raises(VpwError, match="shows 3 numbers, not 2"):
        start(find_program(PENDULUM), world="MountainCar-v0")
