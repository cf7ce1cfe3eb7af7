"""Collecting episodes: a domain's own policy acts in its simulator."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from visualpatchworld.domain import Domain
from visualpatchworld.simulator import Constants, Simulator
from visualpatchworld.trace.episode import Episode


def collect(domain: Domain, constants: Constants, *, episodes: int, seed: int, pixels: bool = False) -> Iterator[Episode]:
    """Episodes one by one; each has a seed of its own, so that none depends on those before it."""
    simulator = domain.simulator(constants)
    seeds = np.random.SeedSequence(seed)
    for index in range(episodes):
        yield record(domain, simulator, index, seeds.spawn(1)[0], pixels=pixels)


def record(domain: Domain, simulator: Simulator, index: int, seed: np.random.SeedSequence, *, pixels: bool) -> Episode:
    """One episode from a random start until the policy is done or the domain's step limit is reached."""
    start_seed, policy_seed = seed.generate_state(2)
    simulator.reset(seed=int(start_seed))
    act = domain.policy(simulator, np.random.default_rng(policy_seed))
    states, engine_states, actions, frames = [], [], [], []
    for _ in range(domain.episode_steps):
        states.append(simulator.observe())
        engine_states.append(simulator.get_state())
        if pixels:
            frames.append(simulator.render())
        chosen = act()
        # Rounded as the file keeps it before it acts, so that a replay of the file repeats the episode.
        action = np.clip(np.zeros(simulator.action_dim) if chosen is None else chosen, -1, 1).astype(domain.layout.action.dtype)
        actions.append(action)
        if chosen is None:
            break
        simulator.step(action)
    return Episode(
        index, np.array(states), np.array(engine_states), np.array(actions, dtype=np.float64), np.array(frames) if pixels else None
    )
