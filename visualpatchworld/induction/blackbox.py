"""The wall between knower and learner: a world that can be reset
to a chosen start, stepped and looked at, and nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from visualpatchworld.domain import Domain
from visualpatchworld.laws.form import Probe
from visualpatchworld.scene.extractor import ToolExtractor
from visualpatchworld.scene.schema import SceneGraph
from visualpatchworld.simulator import Constants
from visualpatchworld.world.trajectory import Trajectory


def states_given(observations: Sequence[np.ndarray], probe: Probe) -> Float[np.ndarray, "T+1 S"]:
    """What is observed are the states themselves."""
    return np.stack(observations)


@dataclass(frozen=True)
class BlackBox:
    """A few functions. They hide the simulator behind closures: there is no attribute to reach it by."""

    reset: Callable[[Float[np.ndarray, " S"]], np.ndarray]  # to a chosen state; what is then observed
    step: Callable[[Float[np.ndarray, " A"]], np.ndarray]  # what is observed afterwards
    look: Callable[[], SceneGraph]
    # An experiment's observations as states.
    read: Callable[[Sequence[np.ndarray], Probe], Float[np.ndarray, "T+1 S"]] = states_given

    def run(self, probe: Probe) -> Trajectory:
        """Carry out an experiment."""
        observations = [self.reset(probe.start)]
        observations += [self.step(action) for action in probe.actions]
        return Trajectory(self.read(observations, probe), probe.actions)


def black_box(domain: Domain, constants: Constants) -> BlackBox:
    """A black box around a new simulator with these constants, which tells its states."""
    simulator = domain.simulator(constants)
    simulator.reset(seed=0)
    return BlackBox(
        reset=lambda state: simulator.reset(options={"state": state})[0],
        step=lambda action: simulator.step(action)[0],
        look=lambda: domain.scene.oracle(simulator.get_state(), simulator.constants),
    )


def pixel_box(domain: Domain, constants: Constants, tool: ToolExtractor) -> BlackBox:
    """A black box of which only pictures are seen; states and shapes are read off them."""
    simulator = domain.simulator(constants)
    simulator.reset(seed=0)
    velocities = [i for i, field in enumerate(domain.scene.state_space) if ".velocity." in field.at]

    def reset(state: Float[np.ndarray, " S"]) -> np.ndarray:
        simulator.reset(options={"state": state})
        return simulator.render()

    def step(action: Float[np.ndarray, " A"]) -> np.ndarray:
        simulator.step(action)
        return simulator.render()

    def read(frames: Sequence[np.ndarray], probe: Probe) -> Float[np.ndarray, "T+1 S"]:
        states = tool.read_episode(frames, probe.actions)
        states[0, velocities] = probe.start[velocities]  # no picture shows them, but the experimenter chose them
        return states

    return BlackBox(reset, step, look=lambda: tool.read([simulator.render()]), read=read)
