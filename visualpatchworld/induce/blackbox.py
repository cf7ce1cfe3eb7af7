"""The wall between knower and learner: a world that can be reset to a chosen start, stepped and looked at, and nothing more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from visualpatchworld.induce.windows import Recording
from visualpatchworld.scene.schema import SceneGraph
from visualpatchworld.sketch.probe import Probe


@dataclass(frozen=True)
class BlackBox:
    """Three functions. They hide the simulator behind closures: there is no attribute to reach it by."""

    reset: Callable[[Float[np.ndarray, " S"]], Float[np.ndarray, " S"]]
    step: Callable[[Float[np.ndarray, " A"]], Float[np.ndarray, " S"]]
    look: Callable[[], SceneGraph]

    def run(self, probe: Probe) -> Recording:
        """Carry out an experiment."""
        states = [self.reset(probe.start)]
        states += [self.step(action) for action in probe.actions]
        return Recording(np.stack(states), probe.actions)
