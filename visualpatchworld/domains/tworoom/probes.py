"""Experiments that tell Two-room's forms apart: walks in the open, against the border, against the wall and through the door."""

from __future__ import annotations

import numpy as np

from visualpatchworld.laws.probe import Probe
from visualpatchworld.scene.schema import SceneGraph

STEPS = 20


def probes(graph: SceneGraph, rng: np.random.Generator) -> tuple[Probe, ...]:
    """Open walks of all strengths ask for the transport; walks towards every side and across the middle ask for obstacles."""
    house, half = np.array([graph["house"].pose.x, graph["house"].pose.y]), np.array(graph["house"].geometry.half_sizes)
    runs = [_open_walk(house, half, rng, i) for i in range(3)]
    for name, heading in (("right", 0.0), ("down", 0.5), ("left", 1.0), ("up", 1.5)):
        runs.append(_straight(f"walk {name} to the border", house, half, heading * np.pi, rng))
    # The door, where there is one, may be anywhere along the middle: cross it at many heights, some of them right at its edges.
    heights = list(rng.uniform(-0.8, 0.8, 4) * half[1] + house[1])
    for item in graph.objects:
        if item.kind == "door":
            reach = (item.geometry.half_sizes or (0.0, 0.0))[1]
            heights += [(item.pose.y or 0.0) + side * reach + offset for side in (-1, 1) for offset in np.linspace(-0.3, 0.5, 8) * reach]
    for i, height in enumerate(heights):
        side = rng.choice([-1.0, 1.0])
        start = np.array([house[0] + side * 0.3 * half[0], height])
        actions = np.tile([-side, 0.0], (STEPS, 1)) * rng.uniform(0.6, 1.0, (STEPS, 1))
        runs.append(Probe(f"cross the middle {i + 1}", "obstacles", start, actions))
    return tuple(runs)


def _open_walk(house: np.ndarray, half: np.ndarray, rng: np.random.Generator, number: int) -> Probe:
    """Back and forth in one half of the house, with weak and strong actions."""
    start = house + half * np.array([rng.choice([-0.5, 0.5]), rng.uniform(-0.3, 0.3)])
    actions = rng.uniform(-1, 1, (STEPS // 2, 2))
    return Probe(f"walk in the open {number + 1}", "transport", start, np.concatenate([actions, -actions]))


def _straight(name: str, house: np.ndarray, half: np.ndarray, heading: float, rng: np.random.Generator) -> Probe:
    direction = np.round([np.cos(heading), np.sin(heading)])
    side = np.where(direction[0] == 0, rng.choice([-0.5, 0.5]), 0.0)
    start = house + half * (0.7 * direction + np.array([side, 0.0]) + rng.uniform(-0.05, 0.05, 2))
    return Probe(name, "obstacles", start, np.tile(direction, (STEPS, 1)))
