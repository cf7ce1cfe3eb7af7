"""Experiments that tell Reacher's forms apart: pushes in different poses, coasting after them, and a wrist bent all the way."""

from __future__ import annotations

import numpy as np

from visualpatchworld.laws.kinematics import fingertip
from visualpatchworld.laws.probe import Probe
from visualpatchworld.scene.schema import SceneGraph

STEPS = 16


def probes(graph: SceneGraph, rng: np.random.Generator) -> tuple[Probe, ...]:
    """Pushes in many poses ask for the space, coasting for the order, and bending the wrist for its limits."""
    runs = [_push(rng, i) for i in range(8)]
    runs += [_coast(rng, joint, f"{name} {i + 1}") for joint, name in enumerate(("shoulder", "wrist")) for i in range(2)]
    runs += [_bend(graph, rng, side, name) for side, name in ((1.0, "left"), (-1.0, "right"))]
    return tuple(runs)


def _push(rng: np.random.Generator, number: int) -> Probe:
    """Changing pushes: a fingertip goes where it is pushed in every pose, a joint turns."""
    actions = np.repeat(rng.uniform(-1.0, 1.0, (STEPS // 2, 2)), 2, axis=0)
    return Probe(f"push {number + 1}", "space", _at_rest(rng.uniform(-np.pi, np.pi), rng.uniform(-1.0, 1.0)), actions)


def _coast(rng: np.random.Generator, joint: int, name: str) -> Probe:
    """One joint is pushed there and back, and left alone after each: does it go on, and does the other feel it?"""
    strength = rng.choice([-1.0, 1.0]) * rng.uniform(0.7, 1.0)
    actions = np.zeros((STEPS, 2))
    actions[:, joint] = np.repeat([strength, 0.0, -strength, 0.0], STEPS // 4)
    start = _at_rest(rng.uniform(-np.pi, np.pi), rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 1.0))
    return Probe(f"push the {name} and coast", "order", start, actions)


def _bend(graph: SceneGraph, rng: np.random.Generator, side: float, name: str) -> Probe:
    """From a strong bend on and on the same way, harder and softer: where does it end?

    The fingertip starts where the same push drives it across the base, in case it is the fingertip that is pushed.
    """
    actions = np.stack([rng.uniform(-1.0, 1.0, STEPS), side * rng.uniform(0.4, 1.0, STEPS)], axis=1)
    upper, forearm = (graph[link].geometry.length or 1.0 for link in ("upper_arm", "forearm"))
    wrist = side * rng.uniform(2.6, 2.8)
    x, y = fingertip(0.0, wrist, upper, forearm)
    shoulder = -side * np.pi / 2 - np.arctan2(y, x)
    return Probe(f"bend the wrist to the {name}", "limits", _at_rest(shoulder, wrist), actions)


def _at_rest(shoulder: float, wrist: float) -> np.ndarray:
    """Where the fingertip is follows from the joints."""
    return np.array([shoulder, wrist, 0.0, 0.0, 0.0, 0.0])
