"""Reacher against upstream's recordings, its constants and its other kinds of mechanics."""

# MuJoCo's names come from compiled modules, which pyright can not look into.
# pyright: reportAttributeAccessIssue=false

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from visualpatchworld.domain import load_domain
from visualpatchworld.domains.reacher import DOMAIN
from visualpatchworld.domains.reacher.simulator import STEP_S, ReacherConstants, build_model
from visualpatchworld.graphics import mujoco
from visualpatchworld.trace.file import read_traces

REACHER = load_domain("reacher")
START = np.array([0.4, -1.0, 0.0, 0.0])
PUSH = np.array([0.5, -0.3])


def after(vary: dict[str, object], steps: int = 5) -> np.ndarray:
    simulator = REACHER.make(vary)
    simulator.set_engine_state(START)
    return [simulator.step(PUSH)[0] for _ in range(steps)][-1]


def test_episodes_replay_upstream(reference: Path):
    simulator = REACHER.make()
    for episode in read_traces(reference / "reacher.h5", REACHER).episodes[:20]:
        simulator.reset(options={"engine_state": episode.engine_states[0]})
        replayed = [simulator.step(action)[0] for action in episode.actions]
        np.testing.assert_allclose(
            replayed, episode.observations[1:], atol=1e-6
        )  # what another processor rounds differently grows to 1e-11


def test_pictures_look_as_upstream(reference: Path):
    recorded = np.load(reference / "frames_reacher.npz")
    simulator = REACHER.make()
    for i in range(0, 60, 6):
        simulator.set_engine_state(np.concatenate([recorded["qpos"][i], recorded["qvel"][i]]))
        assert np.abs(simulator.render().astype(float) - recorded["frames"][i]).mean() < 4


def test_pictures_survive_another_simulator():
    simulator = REACHER.make()
    before = simulator.render()
    other = REACHER.make({"link1": 0.2})
    other.render()
    del other
    np.testing.assert_array_equal(simulator.render(), before)


@pytest.mark.parametrize(("name", "value"), [("link1", 0.16), ("link2", 0.08)])
def test_links_carry_the_finger_and_weigh_more(name: str, value: float):
    simulator = REACHER.make({name: value})
    simulator.set_engine_state(START)
    lengths = {"link1": 0.12, "link2": 0.12, name: value}
    shoulder, wrist = START[:2]
    x = lengths["link1"] * np.cos(shoulder) + lengths["link2"] * np.cos(shoulder + wrist)
    assert simulator.get_state()[4] == pytest.approx(x)
    model, nominal = (build_model(replace(ReacherConstants(), **changes)) for changes in ({name: value}, {}))
    assert (model.body_subtreemass[0] > nominal.body_subtreemass[0]) == (value > 0.12)
    # The engine's own finger agrees with the kinematics that observers read.
    data = mujoco.MjData(model)
    data.qpos = START[:2]
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.body("finger").xpos[:2], simulator.get_state()[4:], atol=1e-12)


@pytest.mark.parametrize(("heavier", "sign"), [({"density": 3000}, -1), ({"damping": 0.05}, -1), ({"gear": 0.1}, 1)])
def test_dynamics_follow_their_constants(heavier: dict[str, object], sign: int):
    speed, nominal = (np.abs(after(vary)[2:4]).sum() for vary in (heavier, {}))
    assert np.sign(speed - nominal) == sign


def test_wrist_stops_at_its_limit_unless_there_is_none():
    def bend(vary: dict[str, object]) -> float:
        simulator = REACHER.make(vary)
        simulator.set_engine_state(np.array([0.0, 1.0, 0.0, 0.0]))
        return max(simulator.step(np.array([0.0, 1.0]))[0][1] for _ in range(60))

    assert bend({}) < np.radians(185)
    assert bend({"wrist_limit": 90}) < np.radians(115)
    assert bend({"limits": "none"}) > np.radians(200)


def test_first_order_has_no_memory():
    simulator = REACHER.make({"order": "first"})
    simulator.set_engine_state(START)
    moved = simulator.step(PUSH)[0]
    np.testing.assert_allclose(moved[:2] - START[:2], 0.05 / 0.01 * STEP_S * PUSH)
    np.testing.assert_allclose(moved[2:4], 5 * PUSH)
    still = simulator.step(np.zeros(2))[0]
    np.testing.assert_array_equal(still[:2], moved[:2])


def test_cartesian_finger_moves_with_the_action_inside_its_reach():
    simulator = REACHER.make({"space": "cartesian", "finger_speed": 0.25})
    simulator.set_engine_state(START)
    start = simulator.get_state()
    moved = simulator.step(PUSH)[0]
    np.testing.assert_allclose(moved[4:] - start[4:], 0.25 * STEP_S * PUSH, atol=1e-12)
    for _ in range(100):
        moved = simulator.step(np.array([1.0, 1.0]))[0]
    assert np.linalg.norm(moved[4:]) == pytest.approx(0.24)
    assert np.isfinite(moved).all()


@pytest.mark.parametrize("vary", [{"order": "first"}, {"space": "cartesian"}])
def test_other_mechanics_roll_out_as_they_step(vary: dict[str, object]):
    simulator = REACHER.make(vary)
    simulator.set_engine_state(START)
    actions = np.random.default_rng(0).uniform(-1, 1, (3, 6, 2))
    rolled = simulator.rollout(START, actions)
    for sequence, states in zip(actions, rolled, strict=True):
        simulator.set_engine_state(START)
        np.testing.assert_allclose([simulator.step(action)[0] for action in sequence], states, atol=1e-12)


def test_full_turns_count_for_the_joints_but_not_for_the_finger():
    simulator = REACHER.make()
    simulator.set_engine_state(START)
    state = simulator.get_state()
    turned = state + np.array([2 * np.pi, 0, 0, 0, 0, 0])
    assert DOMAIN.metrics["finger_match"](turned, state)
    assert not DOMAIN.metrics["qpos_match"](turned, state)
