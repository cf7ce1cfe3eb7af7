"""Experiments that tell Reacher's forms apart: pushes in different poses, coasting after them, and a wrist bent all the way."""

from __future__ import annotations

import numpy as np

from visualpatchworld.scene.schema import SceneGraph
from visualpatchworld.sketch.probe import Probe

STEPS = 16


def probes(graph: SceneGraph, rng: np.random.Generator) -> tuple[Probe, ...]:
    """Pushes in many poses ask for the space, coasting for the order, and bending the wrist for its limits."""
    runs = [_push(rng, i) for i in range(6)]
    runs += [_coast(rng, joint, name) for joint, name in enumerate(("shoulder", "wrist"))]
    runs += [_bend(rng, side, name) for side, name in ((1.0, "left"), (-1.0, "right"), (1.0, "left again"), (-1.0, "right again"))]
    return tuple(runs)


def _push(rng: np.random.Generator, number: int) -> Probe:
    """A few changing pushes: a fingertip goes where it is pushed in every pose, a joint turns."""
    actions = np.repeat(rng.uniform(-1.0, 1.0, (STEPS // 2, 2)), 2, axis=0)
    return Probe(f"push {number + 1}", "space", _start(rng, rng.uniform(-1.0, 1.0)), actions)


def _coast(rng: np.random.Generator, joint: int, name: str) -> Probe:
    """One joint is pushed there and back, and left alone after each: does the arm go on, and does the other joint feel it?"""
    actions = np.zeros((STEPS, 2))
    strength = rng.choice([-1.0, 1.0]) * rng.uniform(0.7, 1.0)
    actions[:4, joint], actions[8:12, joint] = strength, -strength
    return Probe(f"push the {name} and coast", "order", _start(rng, rng.uniform(0.5, 1.0) * rng.choice([-1.0, 1.0])), actions)


def _bend(rng: np.random.Generator, side: float, name: str) -> Probe:
    """From a strong bend on and on the same way, harder and softer: where does it end?"""
    actions = np.stack([rng.uniform(-1.0, 1.0, STEPS), side * np.repeat([1.0, 0.5], [12, STEPS - 12])], axis=1)
    return Probe(f"bend the wrist to the {name}", "limits", _start(rng, side * rng.uniform(2.6, 2.8)), actions)


def _start(rng: np.random.Generator, wrist: float) -> np.ndarray:
    """At rest in any direction; where the fingertip is follows from the joints."""
    return np.array([rng.uniform(-np.pi, np.pi), wrist, 0.0, 0.0, 0.0, 0.0])
