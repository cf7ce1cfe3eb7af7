"""Experiments that tell the puck's forms apart: push it from rest, and let it coast."""

from __future__ import annotations

import numpy as np

from visualpatchworld.laws.probe import Probe
from visualpatchworld.scene.schema import SceneGraph

STEPS = 10


def probes(graph: SceneGraph, rng: np.random.Generator) -> tuple[Probe, ...]:
    """A steady push asks what it changes; coasting, fast and slow, asks what holds the puck back."""
    found = []
    for i in range(3):
        push = np.tile(rng.uniform(0.3, 1.0, 2), (STEPS, 1))
        found.append(Probe(f"push {i}", "action", np.zeros(4), push))
        velocity = rng.uniform(0.2, 2.0) * np.array([1.0, rng.uniform(-1.0, 1.0)])
        found.append(Probe(f"coast {i}", "loss", np.concatenate([np.zeros(2), velocity]), np.zeros((STEPS, 2))))
    return tuple(found)
