"""Experiments that tell the slider's forms apart: push and coast."""

from __future__ import annotations

import numpy as np

from visualpatchworld.laws.probe import Probe
from visualpatchworld.scene.schema import SceneGraph

STEPS = 6


def probes(graph: SceneGraph, rng: np.random.Generator) -> tuple[Probe, ...]:
    """A steady push asks what it changes; coasting asks what holds the puck back."""
    pushes = [Probe(f"push {i}", "action", np.array([rng.uniform(-1, 1), 0.0]), np.full((STEPS, 1), rng.uniform(0.3, 1))) for i in range(3)]
    coasts = [Probe(f"coast {i}", "loss", rng.uniform([-1, 0.5], [1, 1.5]), np.zeros((STEPS, 1))) for i in range(3)]
    return (*pushes, *coasts)
