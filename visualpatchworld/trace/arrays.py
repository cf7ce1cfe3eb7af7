"""Episodes from arrays that somebody has at hand, without a file in between."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from jaxtyping import Float

from visualpatchworld.domain import Domain
from visualpatchworld.errors import BadTrace
from visualpatchworld.simulator import Constants, Simulator
from visualpatchworld.trace.episode import Episode, Traces

Run = tuple[Float[np.ndarray, "T+1 S"], Float[np.ndarray, "T A"]]


def episodes_of_arrays(domain: Domain, constants: Constants, runs: Iterable[Run]) -> Traces:
    """Episodes of runs, each the states and the actions between them; engine states are those of a simulator placed in each state."""
    simulator = domain.simulator(constants)
    simulator.reset(seed=0)
    return Traces(None, domain.name, constants, tuple(_episode(domain, simulator, i, run) for i, run in enumerate(runs)))


def _episode(domain: Domain, simulator: Simulator, index: int, run: Run) -> Episode:
    states, actions = (np.asarray(values, dtype=np.float64) for values in run)
    wanted = (len(states), len(domain.scene.state_space)), (len(states) - 1, domain.layout.action.width)
    if (states.shape, actions.shape) != wanted:
        raise BadTrace(
            f"Run {index}: states of shape {states.shape} and actions of shape {actions.shape}; for {len(states)} states "
            f"'{domain.name}' takes {wanted[0]} and {wanted[1]}, an action between each two states."
        )
    if not (np.isfinite(states).all() and np.isfinite(actions).all()):
        raise BadTrace(f"Run {index} holds a value that is not finite.")
    engine_states = []
    for state in states:
        simulator.place(state)
        engine_states.append(simulator.get_state())
    # The last row's action has no recorded effect.
    return Episode(index, states, np.array(engine_states), np.vstack([actions, np.zeros(actions.shape[1])]))
