"""The wall between knower and learner: a world that can be reset to a chosen start, stepped and looked at, and nothing more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from visualpatchworld.domain import Domain
from visualpatchworld.induce.windows import Recording
from visualpatchworld.scene.schema import SceneGraph
from visualpatchworld.simulator import Constants
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


def black_box(domain: Domain, constants: Constants) -> BlackBox:
    """A black box around a new simulator with these constants."""
    simulator = domain.simulator(constants)
    simulator.reset(seed=0)
    return BlackBox(
        reset=lambda state: simulator.reset(options={"state": state})[0],
        step=lambda action: simulator.step(action)[0],
        look=lambda: domain.scene.oracle(simulator.observe(), simulator.constants),
    )
