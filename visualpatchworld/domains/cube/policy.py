"""Data for Cube: ogbench's oracle carries the block to one random place after the other, with noise."""

from __future__ import annotations

import numpy as np

from visualpatchworld.domain import Policy
from visualpatchworld.domains.cube.simulator import ARM_AREA_M, BLOCK_AREA_M, Cube

NOISE = 0.1


def noisy_oracle(simulator: Cube, rng: np.random.Generator) -> Policy:
    """Fetches the block, carries it to its target, lets go and retires; then there is a new target."""
    from ogbench.manipspace.oracles.markov.cube_markov import CubeMarkovOracle  # here, because it imports MuJoCo

    oracle = CubeMarkovOracle(env=None)
    target = np.empty(4)

    def renew_target() -> None:
        target[:] = *rng.uniform(*BLOCK_AREA_M), simulator.constants.cube_half_size, rng.uniform(-np.pi, np.pi)
        # Its own reset draws these from numpy's global generator.
        oracle._final_pos, oracle._final_yaw = rng.uniform(*ARM_AREA_M), rng.uniform(-np.pi, np.pi)
        oracle._step, oracle._done = 0, False

    def act() -> np.ndarray:
        action = oracle.select_action(None, _info(simulator.observe(), target))
        if oracle.done:
            renew_target()
        return np.clip(action + rng.normal(0.0, NOISE, simulator.action_dim), -1.0, 1.0)

    renew_target()
    return act


def _info(state: np.ndarray, target: np.ndarray) -> dict[str, object]:
    """The state and the block's target under the names that the oracle knows."""
    return {
        "proprio/effector_pos": state[:3],
        "proprio/effector_yaw": state[3:4],
        "proprio/gripper_opening": state[4:5],
        "proprio/gripper_contact": state[5:6],
        "privileged/block_0_pos": state[6:9],
        "privileged/block_0_yaw": state[9:10],
        "privileged/target_block": 0,
        "privileged/target_block_pos": target[:3],
        "privileged/target_block_yaw": target[3:],
    }
