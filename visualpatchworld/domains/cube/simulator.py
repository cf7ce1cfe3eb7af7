"""The Cube world: ogbench's robot arm and gripper over a floor with one block or two."""

# MuJoCo's names come from compiled modules, which pyright can not look into.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float, UInt8

from visualpatchworld import engine_pool
from visualpatchworld.extras import need
from visualpatchworld.graphics import OffscreenCamera, mujoco
from visualpatchworld.scene.state import StateField, StateSpace
from visualpatchworld.simulator import FRAME_SIZE_PX, Constants, Simulator, constant

if TYPE_CHECKING:
    from ogbench.manipspace.envs.cube_env import CubeEnv

# Within the positions; the last are seven for each block, and of the velocities six.
ARM, GRIPPER, BLOCK_POSES, BLOCK_VELOCITIES = slice(0, 6), slice(6, 14), slice(14, None), slice(14, None)
SECOND_RGBA = (0.35, 0.55, 0.91, 1.0)
HOME_RAD = np.array([-np.pi / 2, -np.pi / 2, np.pi / 2, -np.pi / 2, -np.pi / 2, 0.0])
CLOSED_RAD = 0.8  # of the finger joint that drives the gripper
CLOSED_CONTROL = 255.0
# N s/m and N m s/rad: a floating block is at rest within a few steps.
FLOAT_DAMPING = np.array([1.0, 1.0, 1.0, 1e-3, 1e-3, 1e-3])
TURN = 2 * np.pi
HAND = (
    StateField("effector_x", "m", "gripper.pose.x"),
    StateField("effector_y", "m", "gripper.pose.y"),
    StateField("effector_z", "m", "gripper.pose.z"),
    StateField("effector_yaw", "rad", "gripper.pose.angle", period=TURN, low=-np.pi),
    StateField("gripper_opening", "0 open, 1 closed", "gripper.attributes.opening"),
    StateField("gripper_contact", "0 none, 1 firm", "gripper.attributes.contact", predicted=False),
)
BLOCK_NAMES = ("block", "block_2")


@dataclass(frozen=True)
class CubeConstants(Constants):
    """How far actions reach, the block, and what kind of world it is."""

    reach_scale: float = constant(0.05, "m", "distance to the effector's target at full action", low=0.005, high=0.2)
    yaw_scale: float = constant(0.3, "rad", "turn to the effector's target at full action", low=0.03, high=1.5)
    gripper_scale: float = constant(1.0, "opening", "change of the gripper's target at full action", low=0.05, high=2.0)
    cube_half_size: float = constant(0.02, "m", "half of the block's edge", low=0.01, high=0.035)
    object: Literal["gripped", "coupled", "free"] = constant(
        "gripped", "", "the block is gripped, always moves along, or never moves"
    )
    effector: Literal["servo", "direct"] = constant(
        "servo", "", "the arm lags behind its target, or is there at the end of each step"
    )
    release: Literal["falls", "floats"] = constant("falls", "", "a released block falls, or stays where it is")
    blocks: int = constant(1, "", "blocks on the table", low=1, high=2)


@functools.lru_cache(maxsize=8)
def build_env(constants: CubeConstants) -> CubeEnv:
    """ogbench's environment with these constants, compiled, as it looks in upstream's pictures."""
    need("mujoco")
    # Here, because it imports MuJoCo and must find its graphics chosen.
    from ogbench.manipspace.envs.cube_env import CubeEnv

    kind = "single" if constants.blocks == 1 else "double"
    env = CubeEnv(
        env_type=kind, mode="data_collection", ob_type="pixels", pixel_transparent_arm=False, visualize_info=False
    )
    scene: Any = env.build_mjcf_model()
    for number in range(constants.blocks):
        block = scene.find("geom", f"object_{number}")
        # Upstream keeps the size in single precision, and contact amplifies the difference of 4e-10 m to centimetres.
        block.size = np.full(3, np.float32(constants.cube_half_size))
        scene.find("geom", f"target_object_{number}").rgba = np.zeros(4)
        if number:
            block.rgba = SECOND_RGBA
        if constants.object != "gripped":
            block.contype = block.conaffinity = 0
        if constants.object != "gripped" or constants.release == "floats":
            scene.find("body", f"object_{number}").gravcomp = 1
    env._mjcf_model = scene
    env.compile_model_and_data()
    if constants.release == "floats":
        env.model.dof_damping[BLOCK_VELOCITIES] = np.tile(FLOAT_DAMPING, constants.blocks)
    env.action_high = np.array([*[constants.reach_scale] * 3, constants.yaw_scale, constants.gripper_scale])
    env.action_low = -env.action_high
    return env


def fingers_at(model: mujoco.MjModel, opening: float) -> Float[np.ndarray, " 8"]:
    """The positions of the gripper's joints at an opening from 0, open, to 1, closed."""
    openings, fingers = _closing(model)
    return np.array([np.interp(opening, openings, finger) for finger in fingers.T])


@functools.lru_cache(maxsize=8)
def _closing(model: mujoco.MjModel) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, "N 8"]]:
    """The gripper's joints while it closes on nothing, slowly, and its opening at each moment."""
    data = mujoco.MjData(model)
    fingers = []
    for control in np.linspace(0.0, CLOSED_CONTROL, 52):
        for _ in range(50):
            step_with_held(model, data, np.array([*HOME_RAD, control]), data.qpos[BLOCK_POSES].copy())
        fingers.append(data.qpos[GRIPPER].copy())
    table = np.array(fingers)
    return table[:, 0] / CLOSED_RAD, table


def step_with_held(model: mujoco.MjModel, data: mujoco.MjData, control: np.ndarray, blocks: np.ndarray) -> None:
    """One physics step of the gripper alone: the arm is kept where its control wants it, the blocks at these poses."""
    data.ctrl = control
    data.qpos[ARM], data.qpos[BLOCK_POSES] = control[ARM], blocks
    data.qvel[ARM], data.qvel[BLOCK_VELOCITIES] = 0.0, 0.0
    mujoco.mj_step(model, data)


def state_space(blocks: int) -> StateSpace:
    """The state of a hand over so many blocks."""
    fields = [*HAND]
    for name in BLOCK_NAMES[:blocks]:
        fields += [StateField(f"{name}_{axis}", "m", f"{name}.pose.{axis}") for axis in "xyz"]
        fields.append(StateField(f"{name}_yaw", "rad", f"{name}.pose.angle", period=TURN, low=-np.pi))
    return StateSpace(tuple(fields))


STATE_SPACE = state_space(1)


# The engine state: positions, velocities, and what else the engine remembers: the finger's last force reading, what the
# contact solver starts from, and the arm's joints one physics step before. Zeros stand for a memory that is not known.
def engine_widths(blocks: int) -> tuple[int, ...]:
    """How many numbers each part of the engine state has."""
    positions, velocities = 14 + 7 * blocks, 14 + 6 * blocks
    return positions, velocities, 1, velocities, 6


SUBSTEPS = 25
SUBSTEP_S = 0.002
GRASP_SUBSTEPS = 100
FIRM_N = 50.0  # what the force sensor in the finger calls 1
ARM_AREA_M = np.array([[0.25, -0.35, 0.20], [0.6, 0.35, 0.35]])
APART_M = 0.1  # of two blocks at the start, and of a target from a block that it is not on
BLOCK_AREA_M = np.array([[0.3, -0.3], [0.55, 0.3]])


class Cube(Simulator):
    """ogbench's scene and controller, without the reading of sensors that nobody asks for."""

    state_space = STATE_SPACE
    action_dim = 5
    constants: CubeConstants

    def __init__(self, constants: CubeConstants = CubeConstants(), render_mode: str | None = "rgb_array"):
        self.state_space = state_space(constants.blocks)  # pyright: ignore[reportIncompatibleVariableOverride]
        super().__init__(constants, render_mode)
        self._env = copy.copy(build_env(constants))
        self._model = self._env.model
        self._data = self._env._data = mujoco.MjData(self._model)
        self._pinch = self._model.site("ur5e/robotiq/pinch").id
        self._pad = self._model.body("ur5e/robotiq/right_pad").id
        self.set_engine_state(self._model.qpos0)

    @functools.cached_property
    def _camera(self) -> OffscreenCamera:
        return OffscreenCamera(self._model, "front_pixels", FRAME_SIZE_PX)

    def get_engine_state(self) -> Float[np.ndarray, " E"]:
        memory = [[self._contact], self._data.qacc_warmstart, self._earlier_arm]
        return np.concatenate([self._data.qpos, self._data.qvel, *memory])

    def set_engine_state(self, engine_state: Float[np.ndarray, " E"]) -> None:
        widths = engine_widths(self.constants.blocks)
        state = np.concatenate([engine_state, np.zeros(sum(widths) - len(engine_state))])
        qpos, qvel, contact, warm_start, earlier_arm = np.split(state, np.cumsum(widths)[:-1])
        # The engine moves a joint by its new velocity, so this is where it was, but for rounding.
        self._earlier_arm = earlier_arm if earlier_arm.any() else qpos[ARM] - SUBSTEP_S * qvel[ARM]
        # The hand is seen, and steered, where it was before the last physics step.
        self._data.qpos[ARM] = self._earlier_arm
        mujoco.mj_kinematics(self._model, self._data)
        self._data.qpos, self._data.qvel, self._data.qacc_warmstart = qpos, qvel, warm_start
        self._contact = float(contact[0])

    def get_state(self) -> Float[np.ndarray, " S"]:
        qpos, facing = self._data.qpos, self._data.site_xmat[self._pinch]
        effector_yaw = np.arctan2(facing[3], facing[0])
        opening = np.clip(qpos[GRIPPER][0] / CLOSED_RAD, 0.0, 1.0)
        numbers = [*self._data.site_xpos[self._pinch], effector_yaw, opening, self._contact]
        for *place, w, x, y, z in qpos[BLOCK_POSES].reshape(-1, 7):
            numbers += [*place, np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))]
        return np.array(numbers)

    def set_state(self, state: Float[np.ndarray, " S"]) -> None:
        effector, (effector_yaw, opening, contact), blocks = np.split(state, [3, 6])
        joints = self._reach(effector, effector_yaw)
        poses = [[x, y, z, np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2)] for x, y, z, yaw in blocks.reshape(-1, 4)]
        self.set_engine_state(np.concatenate([joints, fingers_at(self._model, opening), *poses]))
        if contact > 0.5:
            self._grasp()

    def sample_start(self, rng: np.random.Generator) -> None:
        effector, yaw = rng.uniform(*ARM_AREA_M), rng.uniform(-np.pi, np.pi)
        numbers, taken = [*effector, yaw, 0.0, 0.0], []
        for _ in range(self.constants.blocks):
            taken.append(free_place(rng, taken))
            numbers += [*taken[-1], self.constants.cube_half_size, rng.uniform(-np.pi, np.pi)]
        self.set_state(np.array(numbers))

    def advance(self, action: Float[np.ndarray, " A"]) -> None:
        before, blocks = self.get_state(), self._data.qpos[BLOCK_POSES].copy()
        # In single precision, as upstream: contact amplifies any difference.
        self._env.set_control(np.asarray(action, dtype=np.float32))
        if self.constants.effector == "servo":
            mujoco.mj_step(self._model, self._data, nstep=SUBSTEPS - 1)
            self._earlier_arm = self._data.qpos[ARM].copy()
            mujoco.mj_step(self._model, self._data)
        else:
            self._glide()
        self._feel()
        if self.constants.object != "gripped":
            self._carry(blocks, self.get_state() - before)

    def rollout(
        self, engine_state: Float[np.ndarray, " E"], actions: Float[np.ndarray, "K H A"]
    ) -> Float[np.ndarray, "K H S"]:
        return engine_pool.rollout(Cube, self.constants, engine_state, actions)

    def draw(self) -> UInt8[np.ndarray, "224 224 3"]:
        data = mujoco.MjData(self._model)
        data.qpos = self._data.qpos
        mujoco.mj_forward(self._model, data)
        return self._camera.picture(data)

    def _feel(self) -> None:
        """Read the force sensor in the finger."""
        mujoco.mj_rnePostConstraint(self._model, self._data)
        self._contact = min(float(np.linalg.norm(self._data.cfrc_ext[self._pad])) / FIRM_N, 1.0)

    def _glide(self) -> None:
        """Simulate one step in which the arm moves smoothly to its target, whatever stands against it."""
        start, target = self._data.qpos[ARM].copy(), self._data.ctrl[ARM].copy()
        gain, damping = self._model.actuator_gainprm[ARM, 0], -self._model.actuator_biasprm[ARM, 2]
        for part in np.arange(1, SUBSTEPS + 1) / SUBSTEPS:
            # The motors bear the arm's weight and their own damping: a hand that sinks in every physics step lets the
            # block slip.
            self._data.ctrl[ARM] = (
                self._data.qpos[ARM] + (self._data.qfrc_bias[ARM] + damping * self._data.qvel[ARM]) / gain
            )
            mujoco.mj_step(self._model, self._data)
            self._data.qpos[ARM] = start + (target - start) * part**2 * (3 - 2 * part)
            self._data.qvel[ARM] = (target - start) * 6 * part * (1 - part) / (SUBSTEPS * SUBSTEP_S)
        self._earlier_arm = target
        mujoco.mj_kinematics(self._model, self._data)

    def _carry(self, blocks: Float[np.ndarray, " P"], moved: Float[np.ndarray, " S"]) -> None:
        """Put blocks back where they were, or, where they are coupled,
        as far on as the effector is, but not into the floor.
        """
        poses = blocks.reshape(-1, 7).copy()
        if self.constants.object == "coupled":
            poses[:, :3] += moved[:3]
            poses[:, 2] = np.maximum(poses[:, 2], self.constants.cube_half_size)
        self._data.qpos[BLOCK_POSES], self._data.qvel[BLOCK_VELOCITIES] = poses.ravel(), 0.0

    def _reach(self, effector: Float[np.ndarray, " 3"], yaw: float) -> Float[np.ndarray, " 6"]:
        """Joint angles of an arm whose hand is there and points down."""
        from ogbench.manipspace.lie import SE3, SO3

        facing = SO3.from_z_radians(yaw) @ self._env._effector_down_rotation
        flange = SE3.from_rotation_and_translation(facing, effector) @ self._env._T_pa
        exact = {"max_iters": 200, "pos_thresh": 1e-9, "ori_thresh": 1e-9}
        return self._env._ik.solve(pos=flange.translation(), quat=flange.rotation().wxyz, curr_qpos=HOME_RAD, **exact)

    def _grasp(self) -> None:
        """Close the fingers while arm and block stay in place;
        where no block is between them, leave them as they are.
        """
        placed, placed_blocks = self.get_engine_state(), self._data.qpos[BLOCK_POSES].copy()
        for _ in range(GRASP_SUBSTEPS):
            step_with_held(self._model, self._data, np.array([*placed[ARM], CLOSED_CONTROL]), placed_blocks)
        self._feel()
        if self._contact == 0.0:
            return self.set_engine_state(placed)
        widths = np.cumsum(engine_widths(self.constants.blocks))
        qpos, qvel, *_, earlier_arm = parts = np.split(self.get_engine_state(), widths[:-1])
        qpos[ARM], earlier_arm[:], qpos[BLOCK_POSES], qvel[:] = placed[ARM], placed[ARM], placed_blocks, 0.0
        return self.set_engine_state(np.concatenate(parts))


def free_place(rng: np.random.Generator, taken: Sequence[np.ndarray]) -> Float[np.ndarray, " 2"]:
    """A place on the table that is apart from those that are taken."""
    while True:
        place = rng.uniform(*BLOCK_AREA_M)
        if all(np.linalg.norm(place - other) > APART_M for other in taken):
            return place
