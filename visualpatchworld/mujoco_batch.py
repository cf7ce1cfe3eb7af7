"""Many MuJoCo rollouts at once: a pool of threads that starts once and lives on, one `MjData` per thread."""

from __future__ import annotations

import functools
import os

import numpy as np
from jaxtyping import Float
from mujoco import rollout as mujoco_rollout

from visualpatchworld.graphics import mujoco


def num_cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0))


@functools.cache
def _pool() -> mujoco_rollout.Rollout:
    return mujoco_rollout.Rollout(nthread=num_cores())


class BatchedEngine:
    """A model ready to be stepped with many sequences of controls from one state."""

    def __init__(self, model: mujoco.MjModel):
        self._model = model
        self._data = [mujoco.MjData(model) for _ in range(num_cores())]

    def rollout(self, engine_state: Float[np.ndarray, " E"], controls: Float[np.ndarray, "K T U"]) -> Float[np.ndarray, "K T E"]:
        """Positions and velocities after each physics step, for K sequences of controls; E is qpos and qvel."""
        initial = np.concatenate([[0.0], engine_state])  # the engine's own state begins with the time
        states, _ = _pool().rollout(self._model, self._data, initial, controls)
        return states[..., 1:]
