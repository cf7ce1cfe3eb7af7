"""Data for Cube: ogbench's oracle carries the block to one random place after the other, with noise."""

from __future__ import annotations

import numpy as np

from visualpatchworld.domain import Policy
from visualpatchworld.domains.cube.simulator import ARM_AREA_M, BLOCK_AREA_M, Cube, free_place
from visualpatchworld.domains.cube.task import block_poses

NOISE = 0.1
STACK_PROBABILITY = 0.3  # where there is another block to put one on


def noisy_oracle(simulator: Cube, rng: np.random.Generator) -> Policy:
    """Fetches a block, carries it to its target, lets go and retires; then there is a new target."""
    from ogbench.manipspace.oracles.markov.cube_markov import CubeMarkovOracle  # here, because it imports MuJoCo

    oracle = CubeMarkovOracle(env=None)
    half, target, which = simulator.constants.cube_half_size, np.empty(4), 0

    def renew_target() -> None:
        nonlocal which
        if simulator.constants.blocks == 1:
            target[:] = *rng.uniform(*BLOCK_AREA_M), half, rng.uniform(-np.pi, np.pi)
        else:
            poses = block_poses(simulator.observe())
            which = int(rng.integers(len(poses)))
            if any(_is_on(pose, poses[which], half) for pose in poses):
                which = 1 - which
            other = poses[1 - which]
            stacks = rng.random() < STACK_PROBABILITY and not _is_on(poses[which], other, half)
            place = (*other[:2], other[2] + 2 * half) if stacks else (*free_place(rng, [other[:2]]), half)
            target[:] = *place, rng.uniform(-np.pi, np.pi)
        # Its own reset draws these from numpy's global generator.
        oracle._final_pos, oracle._final_yaw = rng.uniform(*ARM_AREA_M), rng.uniform(-np.pi, np.pi)
        oracle._step, oracle._done = 0, False

    def act() -> np.ndarray:
        action = oracle.select_action(None, _info(simulator.observe(), which, target))
        if oracle.done:
            renew_target()
        return np.clip(action + rng.normal(0.0, NOISE, simulator.action_dim), -1.0, 1.0)

    renew_target()
    return act


def _is_on(pose: np.ndarray, other: np.ndarray, half: float) -> bool:
    """Whether a block lies on another one."""
    return bool(pose[2] > other[2] + half and np.linalg.norm(pose[:2] - other[:2]) < 2 * half)


def _info(state: np.ndarray, which: int, target: np.ndarray) -> dict[str, object]:
    """The state and the block's target under the names that the oracle knows."""
    block = block_poses(state)[which]
    return {
        "proprio/effector_pos": state[:3],
        "proprio/effector_yaw": state[3:4],
        "proprio/gripper_opening": state[4:5],
        "proprio/gripper_contact": state[5:6],
        "privileged/block_0_pos": block[:3],
        "privileged/block_0_yaw": block[3:],
        "privileged/target_block": 0,
        "privileged/target_block_pos": target[:3],
        "privileged/target_block_yaw": target[3:],
    }
