"""The MuJoCo model of Cube: ogbench's scene with varied constants, and how its gripper closes."""

# MuJoCo's names come from compiled modules, which pyright can not look into.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float

from visualpatchworld.extras import need
from visualpatchworld.graphics import mujoco
from visualpatchworld.simulator import Constants, constant

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
