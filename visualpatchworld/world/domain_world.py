"""A bundled domain's simulator as a world: its state is its observation, and it can be put into any state."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, UInt8

from visualpatchworld.simulator import Simulator
from visualpatchworld.world.live import LiveWorld, Power
from visualpatchworld.world.world import ActionSpace


class DomainWorld(LiveWorld):
    """A simulator without its goal: there is nothing to earn, and nothing ends."""

    def __init__(self, simulator: Simulator, name: str, time_limit: int | None = None):
        super().__init__()
        self.simulator = simulator
        self.name = name
        self.time_limit = time_limit
        self.field_names = simulator.state_space.names
        size = simulator.action_dim
        self.action_space = ActionSpace("continuous", (-1.0,) * size, (1.0,) * size, names=tuple(f"a{i}" for i in range(size)))

    def render(self) -> UInt8[np.ndarray, "H W 3"]:
        return self.simulator.draw()

    @property
    def powers(self) -> frozenset[Power]:
        return frozenset({"reset", "snapshot", "place", "render"})

    def _reset(self, seed: int) -> Float[np.ndarray, " O"]:
        return self.simulator.reset(seed=int(seed))[0]

    def _step(self, action: Float[np.ndarray, " A"]) -> tuple[Float[np.ndarray, " O"], float, bool, bool]:
        self.simulator.advance(np.clip(action, -self.simulator.action_limit, self.simulator.action_limit))
        return self.simulator.get_state(), 0.0, False, False

    def _save(self) -> Float[np.ndarray, " E"]:
        return np.array(self.simulator.get_engine_state())

    def _load(self, inside: Float[np.ndarray, " E"]) -> None:
        self.simulator.set_engine_state(inside)

    def _get_place(self) -> Float[np.ndarray, " S"]:
        return self.simulator.get_state()

    def _set_place(self, place: Float[np.ndarray, " S"]) -> Float[np.ndarray, " S"]:
        self.simulator.set_state(self.simulator.state_space.checked(place))
        return self.simulator.get_state()

    def _get_randomness(self) -> None:
        return None

    def _set_randomness(self, randomness: None) -> None:
        return None
