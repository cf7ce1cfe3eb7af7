"""Living candidates through in the true world: one after the other, or side by side in copies that have processes of their own."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
from jaxtyping import Float

from visualpatchworld.world.open import open_world
from visualpatchworld.world.world import World

Live = Callable[[Any, Float[np.ndarray, "K H A"], int], Float[np.ndarray, " K"]]  # snapshot, candidates, steps that remain -> returns

_copy: World  # of a process that has one


def living_in(world: World) -> Live:
    """Candidates lived through in this very world."""
    return lambda here, actions, remaining: np.array([_lived(world, here, sequence, remaining) for sequence in actions])


@contextmanager
def living_in_copies(name: str, workers: int, settings: dict[str, Any] | None = None) -> Iterator[Live]:
    """The same in so many copies of the world of this name."""
    starting = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=starting, initializer=_open, initargs=(name, settings or {})) as pool:

        def live(here: Any, actions: Float[np.ndarray, "K H A"], remaining: int) -> Float[np.ndarray, " K"]:
            told, parts = pickle.dumps(here), np.array_split(actions, workers)
            return np.concatenate(list(pool.map(_lived_apart, [told] * len(parts), parts, [remaining] * len(parts))))

        yield live


def _open(name: str, settings: dict[str, Any]) -> None:
    global _copy
    _copy = open_world(name, **settings)
    _copy.reset(0)


def _lived_apart(told: bytes, actions: Float[np.ndarray, "K H A"], remaining: int) -> Float[np.ndarray, " K"]:
    here = pickle.loads(told)
    return np.array([_lived(_copy, here, sequence, remaining) for sequence in actions])


def _lived(world: World, here: Any, actions: Float[np.ndarray, "H A"], remaining: int) -> float:
    world.restore(here)
    earned = 0.0
    for action in actions[:remaining]:
        outcome = world.step(action)
        earned += outcome.reward
        if outcome.terminated or outcome.truncated:
            break
    return earned
