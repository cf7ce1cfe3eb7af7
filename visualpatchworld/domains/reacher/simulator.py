"""The Reacher world: dm_control's two-link arm, driven by torques at its two joints."""

# MuJoCo's names come from compiled modules, which pyright can not look into.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import functools
import importlib.resources
import os
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, UInt8

from visualpatchworld.errors import BadConstant
from visualpatchworld.graphics import OffscreenCamera, mujoco
from visualpatchworld.scene.state import StateField, StateSpace
from visualpatchworld.simulator import FRAME_SIZE_PX, Constants, Simulator, constant

# Joint angles count full turns, as the engine and the success test do, so they have no period.
JOINTS = {
    2: {"shoulder": "upper_arm", "wrist": "forearm"},
    3: {"shoulder": "upper_arm", "elbow": "forearm", "wrist": "hand"},
}


def state_space(links: int) -> StateSpace:
    """The state of an arm of so many links: a joint turns the link that it is listed with."""
    angles = [StateField(joint, "rad", f"{link}.pose.angle") for joint, link in JOINTS[links].items()]
    speeds = [
        StateField(f"{joint}_velocity", "rad/s", f"{link}.velocity.spin") for joint, link in JOINTS[links].items()
    ]
    return StateSpace(
        (*angles, *speeds, StateField("finger_x", "m", "finger.pose.x"), StateField("finger_y", "m", "finger.pose.y"))
    )


STATE_SPACE = state_space(2)

LINK_RADIUS_M = 0.01
SUBSTEPS = 2
SUBSTEP_S = 0.02
STEP_S = SUBSTEPS * SUBSTEP_S
NUM_THREADS = len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class ReacherConstants(Constants):
    """The arm, its motors, and what kind of mechanics it follows."""

    link1: float = constant(0.12, "m", "length of the upper arm", low=0.04, high=0.25)
    link2: float = constant(
        0.12, "m", "length of the second link, to the fingertip where it is the last", low=0.04, high=0.25
    )
    links: int = constant(2, "", "links of the arm; the joint between two links is limited", low=2, high=3)
    link3: float = constant(0.08, "m", "length of a third link", low=0.04, high=0.25)
    density: float = constant(1000.0, "kg/m^3", "density of the links and the finger", low=10.0, high=1e5)
    damping: float = constant(0.01, "N m s/rad", "damping of the joints", low=1e-4, high=1.0)
    gear: float = constant(0.05, "N m", "torque at full action", low=1e-3, high=1.0)
    wrist_limit: float = constant(160.0, "deg", "how far the wrist bends either way", low=10.0, high=179.0)
    finger_speed: float = constant(
        0.5, "m/s", "speed of the fingertip at full action, in cartesian space only", low=0.01, high=5.0
    )
    space: Literal["joint", "cartesian"] = constant(
        "joint", "", "actions drive the joints, or the fingertip itself, without any memory"
    )
    order: Literal["second", "first"] = constant(
        "second", "", "actions set torques, or joint velocities without any memory"
    )
    limits: Literal["wrist", "none"] = constant("wrist", "", "the wrist is limited, or turns freely")


class Reacher(Simulator):
    """The engine state is the joint angles and the joint velocities."""

    state_space = STATE_SPACE
    action_dim = 2
    constants: ReacherConstants

    def __init__(self, constants: ReacherConstants = ReacherConstants(), render_mode: str | None = "rgb_array"):
        if constants.links != 2 and constants.space == "cartesian":
            raise BadConstant("Only an arm of two links has its fingertip driven in cartesian space.")
        self.state_space, self.action_dim = state_space(constants.links), constants.links  # pyright: ignore[reportIncompatibleVariableOverride]
        super().__init__(constants, render_mode)
        self._model = build_model(constants)
        self._data = mujoco.MjData(self._model)

    @functools.cached_property
    def _data_of_threads(self) -> list[mujoco.MjData]:
        return [mujoco.MjData(self._model) for _ in range(NUM_THREADS)]

    @functools.cached_property
    def _camera(self) -> OffscreenCamera:
        return OffscreenCamera(self._model, "fixed", FRAME_SIZE_PX)

    def get_engine_state(self) -> Float[np.ndarray, " E"]:
        return np.concatenate([self._data.qpos, self._data.qvel])

    def set_engine_state(self, engine_state: Float[np.ndarray, " E"]) -> None:
        self._data.qpos, self._data.qvel = np.split(np.asarray(engine_state), 2)

    def get_state(self) -> Float[np.ndarray, " S"]:
        return with_finger(self.get_engine_state(), self.constants)

    def set_state(self, state: Float[np.ndarray, " S"]) -> None:
        self.set_engine_state(state[:-2])

    def sample_start(self, rng: np.random.Generator) -> None:
        bend = bend_limit(self.constants)
        bends = rng.uniform(-bend, bend, self.constants.links - 1)
        self.set_engine_state(np.array([rng.uniform(-np.pi, np.pi), *bends, *np.zeros(self.constants.links)]))

    def advance(self, action: Float[np.ndarray, " A"]) -> None:
        if self._has_torques:
            self._data.ctrl = action
            mujoco.mj_step(self._model, self._data, nstep=SUBSTEPS)
        else:
            self.set_engine_state(move(self.get_engine_state(), action, self.constants))

    def rollout(
        self, engine_state: Float[np.ndarray, " E"], actions: Float[np.ndarray, "K H A"]
    ) -> Float[np.ndarray, "K H S"]:
        actions = np.clip(np.asarray(actions, dtype=np.float64), -1.0, 1.0)
        if self._has_torques:
            started = np.concatenate([[0.0], engine_state])  # MuJoCo's own state begins with the time
            torques = np.repeat(actions, SUBSTEPS, axis=1)
            every_substep, _ = _threads().rollout(self._model, self._data_of_threads, started, torques)
            return with_finger(np.asarray(every_substep)[:, SUBSTEPS - 1 :: SUBSTEPS, 1:], self.constants)
        arm = np.tile(engine_state, (len(actions), 1))
        arms = []
        for action in actions.swapaxes(0, 1):
            arm = move(arm, action, self.constants)
            arms.append(arm)
        return with_finger(np.stack(arms, axis=1), self.constants)

    def draw(self) -> UInt8[np.ndarray, "224 224 3"]:
        mujoco.mj_forward(self._model, self._data)
        return self._camera.picture(self._data)

    @property
    def _has_torques(self) -> bool:
        return self.constants.space == "joint" and self.constants.order == "second"


@functools.cache
def _threads() -> mujoco.rollout.Rollout:
    """Threads that start at the first rollout and live on, for every Reacher of this process."""
    return mujoco.rollout.Rollout(nthread=NUM_THREADS)


def build_model(constants: ReacherConstants) -> mujoco.MjModel:
    """dm_control's arm with these constants, and without the target ball."""
    suite = importlib.resources.files("dm_control") / "suite"
    shared = {
        f"./common/{file.name}": file.read_bytes()
        for file in (suite / "common").iterdir()
        if file.name.endswith(".xml")
    }
    spec = mujoco.MjSpec.from_string((suite / "reacher.xml").read_text(), shared)
    spec.delete(spec.geom("target"))
    spec.geom("arm").fromto = [0, 0, 0, constants.link1, 0, 0]
    spec.body("hand").pos = [constants.link1, 0, 0]
    if constants.links == 3:
        _add_link(spec, constants)
    else:
        # The last link's round end leaves room for the finger's ball.
        spec.geom("hand").fromto = [0, 0, 0, constants.link2 - 2 * LINK_RADIUS_M, 0, 0]
        spec.body("finger").pos = [constants.link2, 0, 0]
    for geom in spec.geoms:
        if geom.name in ("arm", "hand", "third", "finger"):
            geom.density = constants.density
    for joint in spec.joints:
        if joint.name != "shoulder":
            joint.range = [-constants.wrist_limit, constants.wrist_limit]
            joint.limited = constants.limits == "wrist"
    # Without a warm start the next step depends on the engine state alone, so that a restored state goes on exactly.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_WARMSTART
    model = spec.compile()
    model.dof_damping[:] = constants.damping
    model.actuator_gear[:, 0] = constants.gear
    return model


def _add_link(spec: mujoco.MjSpec, constants: ReacherConstants) -> None:
    """A third link beyond the second one, with the finger at its end."""
    spec.geom("hand").fromto = [0, 0, 0, constants.link2, 0, 0]
    spec.delete(spec.body("finger"))
    body = spec.body("hand").add_body(name="third", pos=[constants.link2, 0, 0])
    kind, size = mujoco.mjtGeom, [LINK_RADIUS_M, 0, 0]
    end = [0, 0, 0, constants.link3 - 2 * LINK_RADIUS_M, 0, 0]
    body.add_geom(name="third", type=kind.mjGEOM_CAPSULE, fromto=end, size=size, material="self")
    body.add_joint(name="third", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 0, 1])
    finger = body.add_body(name="finger", pos=[constants.link3, 0, 0])
    finger.add_geom(name="finger", type=kind.mjGEOM_SPHERE, size=size, material="effector")
    motor = spec.add_actuator(name="third", target="third", trntype=mujoco.mjtTrn.mjTRN_JOINT)
    motor.set_to_motor()
    motor.ctrlrange, motor.ctrllimited = [-1, 1], True


def lengths(constants: ReacherConstants) -> tuple[float, ...]:
    """Of the links, from the base on."""
    return (constants.link1, constants.link2, constants.link3)[: constants.links]


def bend_limit(constants: ReacherConstants) -> float:
    """How far the wrist bends either way, in radians."""
    return np.radians(constants.wrist_limit) if constants.limits == "wrist" else np.pi


def finger_position(joints: Float[np.ndarray, "*B J"], constants: ReacherConstants) -> Float[np.ndarray, "*B 2"]:
    """Forward kinematics."""
    angles = np.cumsum(joints, axis=-1)
    x, y = (
        sum(length * turn(angles[..., i]) for i, length in enumerate(lengths(constants))) for turn in (np.cos, np.sin)
    )
    return np.stack([x, y], axis=-1)


def with_finger(arm: Float[np.ndarray, "*B E"], constants: ReacherConstants) -> Float[np.ndarray, "*B S"]:
    """Joint angles and velocities, followed by where the finger is."""
    return np.concatenate([arm, finger_position(arm[..., : constants.links], constants)], axis=-1)


def move(
    arm: Float[np.ndarray, "*B E"], action: Float[np.ndarray, "*B A"], constants: ReacherConstants
) -> Float[np.ndarray, "*B E"]:
    """One step of the mechanics that no torque drives: velocities follow the action at once."""
    joints = arm[..., : constants.links]
    if constants.space == "cartesian":
        finger = finger_position(joints, constants) + constants.finger_speed * STEP_S * action
        moved = reach(finger, joints, constants)
    else:
        # The speed at which damping balances the motor.
        moved = joints + constants.gear / constants.damping * STEP_S * action
        if constants.limits == "wrist":
            bend = bend_limit(constants)
            moved[..., 1:] = np.clip(moved[..., 1:], -bend, bend)
    return np.concatenate([moved, (moved - joints) / STEP_S], axis=-1)


def reach(
    finger: Float[np.ndarray, "*B 2"], joints: Float[np.ndarray, "*B 2"], constants: ReacherConstants
) -> Float[np.ndarray, "*B 2"]:
    """Inverse kinematics: the joint angles next to the present
    ones that bring the finger there, or as near as it can get.
    """
    a, b = constants.link1, constants.link2
    squared = (finger**2).sum(axis=-1)
    side = np.where(joints[..., 1] < 0, -1.0, 1.0)
    wrist = np.arccos(np.clip((squared - a**2 - b**2) / (2 * a * b), np.cos(bend_limit(constants)), 1.0)) * side
    shoulder = np.arctan2(finger[..., 1], finger[..., 0]) - np.arctan2(b * np.sin(wrist), a + b * np.cos(wrist))
    turns = np.round((joints[..., 0] - shoulder) / (2 * np.pi))
    return np.stack([shoulder + 2 * np.pi * turns, wrist], axis=-1)
